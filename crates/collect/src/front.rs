//! `cutap` in front of the program, for the shell: it belongs to the shell's group, stops when the
//! program is stopped, hands on what was sent to it, and ends as the program ended. It reads no
//! event and prints none; it must never end before the program, nor outlive it by more than the
//! collector's last round.

use crate::signals::{self, Change};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// How the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// With an exit code.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

impl Ended {
    /// Ends this process the same way.
    pub fn mirror(self) -> ! {
        match self {
            Ended::Code(code) => std::process::exit(code),
            Ended::Signal(signal) => signals::die_as(signal),
        }
    }
}

/// The collector as the front sees it.
#[derive(Debug)]
pub struct Collector {
    /// The process.
    pub process: Child,
    /// Our end of the line to it.
    pub line: UnixStream,
    /// How it ended, once it has.
    pub ended: Option<ExitStatus>,
}

impl Collector {
    /// Looks whether it has ended; how, the first time that it has.
    fn look(&mut self) -> Option<ExitStatus> {
        if self.ended.is_some() {
            return None;
        }
        self.ended = self.process.try_wait().ok().flatten();
        self.ended
    }
    /// Ends it at once: there is nothing to drain.
    pub fn discard(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
    /// Tells it something; a collector that is gone hears nothing.
    pub fn tell(&mut self, text: &str) {
        let _ = self.line.write_all(text.as_bytes());
    }
}

/// So long after the program's end, a signal may still be the one that ended it.
const SAME_SIGNAL: Duration = Duration::from_millis(500);

/// Stands in front of `child` until it has ended and the collector has printed all. `gone` is called
/// when the collector ends by itself.
pub fn stand(child: i32, collector: &mut Collector, mut gone: impl FnMut(ExitStatus)) -> Ended {
    let ended = loop {
        let taken = signals::take();
        match taken.signal {
            libc::SIGCHLD => {
                collector.look().into_iter().for_each(&mut gone);
                match signals::change(child) {
                    Some(Change::Exited(code)) => break Ended::Code(code),
                    Some(Change::Killed(signal)) => break Ended::Signal(signal),
                    Some(Change::Stopped(signal)) => stopped(child, signal),
                    None => {}
                }
            }
            // The terminal tells its whole group, so the program has heard it too; and what the
            // program sends to its own group reaches us.
            signal if taken.by_process && taken.sender != child => signals::send(child, signal),
            _ => {}
        }
    };
    collector.tell("x");
    let over = Instant::now();
    loop {
        collector.look().into_iter().for_each(&mut gone);
        if collector.ended.is_some() {
            return ended;
        }
        // The program is gone: a person who presses Ctrl-C now does not want to read the rest.
        let impatient = matches!(signals::take().signal, libc::SIGINT | libc::SIGQUIT | libc::SIGTERM | libc::SIGHUP);
        if impatient && over.elapsed() > SAME_SIGNAL {
            collector.discard();
            return ended;
        }
    }
}

/// The program was stopped: the shell must see its job stopped.
fn stopped(child: i32, signal: i32) {
    let mirror = match (signal, signals::in_foreground()) {
        (_, None) => false,
        // Somebody stopped the program alone, by its number, and will continue it so.
        (libc::SIGSTOP, Some(foreground)) => foreground,
        (_, Some(_)) => true,
    };
    if mirror {
        signals::stop_as(signal);
        signals::send(child, libc::SIGCONT);
    }
}
