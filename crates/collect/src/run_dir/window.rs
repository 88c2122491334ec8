//! `--delay` and `--duration`: a part of the run, by time. Recording begins off, is switched on when the delay is
//! over, and off again when the duration is. The program runs on.

use crate::base::error::print_notice;
use crate::run_dir::control::Page;
use crate::run_dir::switching::{each_page, put_state};
use cutap_wire::control::{COUNT, RECORDING_COUNT, RECORDING_OFF, RECORDING_ON};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The part of the run that is recorded.
#[derive(Debug, Clone, Copy, Default)]
pub struct Window {
    /// After the start.
    pub delay: Duration,
    /// How long; none: to the end.
    pub duration: Option<Duration>,
}

/// The switches that are still to come.
#[derive(Debug)]
pub(crate) struct Schedule {
    run: PathBuf,
    start: Instant,
    /// When, and whether to switch on.
    next: Vec<(Duration, bool)>,
}

impl Schedule {
    /// Begins now.
    pub fn new(run: &Path, window: Window) -> Schedule {
        let off = window.duration.map(|duration| (window.delay.saturating_add(duration), false));
        let on = Some((window.delay, true)).filter(|(delay, _)| !delay.is_zero());
        let next = off.into_iter().chain(on).collect();
        Schedule { run: run.to_owned(), start: Instant::now(), next }
    }

    /// The delay, if recording was never switched on.
    pub fn never_on(&self) -> Option<Duration> {
        self.next.iter().find(|(_, on)| *on).map(|(delay, _)| *delay)
    }

    /// Makes the switches that are due; how long until the next one.
    pub fn round(&mut self) -> Option<Duration> {
        let now = self.start.elapsed();
        while let Some((at, on)) = self.next.pop_if(|(at, _)| *at <= now) {
            switch(&self.run, on);
            // The recorded part is as long as was asked for, however late it begins.
            let late = self.start.elapsed().saturating_sub(at);
            self.next.iter_mut().for_each(|(at, _)| *at = at.saturating_add(late));
        }
        self.next.last().map(|(at, _)| at.saturating_sub(now))
    }
}

/// Switches a whole run. Where that fails the trace has too much or too little, and a sentence says so.
fn switch(run: &Path, on: bool) {
    let switched = Page::open(run).and_then(|page| {
        let state = match (on, page.flags() & COUNT) {
            (false, _) => RECORDING_OFF,
            (true, 0) => RECORDING_ON,
            (true, _) => RECORDING_COUNT,
        };
        let pages = Page::open(run)?;
        let pages = std::iter::once(pages).chain(page.own_pages()).collect();
        put_state(each_page(pages, None, &page), state, &page, (0, 0))
    });
    if let Err(e) = switched {
        print_notice(&format!("recording could not be switched {}: {e}", if on { "on" } else { "off" }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_come() {
        let of = |delay: u64, duration: Option<u64>| {
            let window = Window { delay: Duration::from_secs(delay), duration: duration.map(Duration::from_secs) };
            Schedule::new(Path::new("/nowhere"), window).next
        };
        let seconds = Duration::from_secs;
        assert_eq!(of(0, None), []);
        assert_eq!(of(2, None), [(seconds(2), true)]);
        assert_eq!(of(0, Some(3)), [(seconds(3), false)]);
        assert_eq!(of(2, Some(3)), [(seconds(5), false), (seconds(2), true)]);
    }

    #[test]
    fn a_late_start_does_not_shorten_the_part() {
        let window = Window { delay: Duration::from_secs(1), duration: Some(Duration::from_secs(2)) };
        let mut schedule = Schedule::new(Path::new("/nowhere"), window);
        // Nobody looked for ten seconds.
        schedule.start -= Duration::from_secs(10);
        let left = schedule.round().unwrap();
        assert!(left > Duration::from_secs(1), "{left:?}");
    }

    #[test]
    fn time_until_the_next() {
        let window = Window { delay: Duration::from_secs(100), duration: None };
        let left = Schedule::new(Path::new("/nowhere"), window).round().unwrap();
        assert!(left > Duration::from_secs(90) && left <= Duration::from_secs(100), "{left:?}");
        assert_eq!(Schedule::new(Path::new("/nowhere"), Window::default()).round(), None);
        let of = |window| Schedule::new(Path::new("/nowhere"), window).never_on();
        assert_eq!((of(window), of(Window::default())), (Some(Duration::from_secs(100)), None));
    }
}
