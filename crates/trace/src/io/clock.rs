//! Ticks to nanoseconds of CLOCK_MONOTONIC. All processes of a run share the machine's time stamp counter. So the pairs
//! of both clocks from every process and chunk give one rate, from the two pairs furthest apart. A pair that no clock
//! could give is ignored.
//!
//! A rate measured over a run, however short, moves no moment of it by more than the 50 ns between the two reads. So
//! there is no need to wait for a longer one. For longer spans the rate is measured again.

use std::sync::OnceLock;

/// The same moment on both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockPair {
    /// Time stamp counter.
    pub ticks: u64,
    /// CLOCK_MONOTONIC nanoseconds.
    pub monotonic: u64,
}

/// Pairs nearer than this say less about the rate than the processor does.
const FAR_ENOUGH_NS: u64 = 10_000_000;
/// A rate measured over less than this is no rate: a thousandth of it is lost in reading the clocks.
const SOON_NS: u64 = 1_000_000;
/// Counters run at 10 MHz to 20 GHz.
const POSSIBLE: std::ops::Range<f64> = 0.05..100.0;

/// The time stamp counter of a run.
#[derive(Debug, Default)]
pub struct Clock {
    first: Option<ClockPair>,
    last: Option<ClockPair>,
    stated: u64,
    rate: f64,
    /// Added to each moment: another clock counts.
    shift_ns: i64,
    /// Where measuring began, of a run that is followed live.
    live_rate: Option<Rate>,
    /// When it is to be measured again.
    remeasure_at: u64,
}

impl Clock {
    /// A clock whose rate somebody measured where the run was made; 0 for nobody.
    pub fn measured(ticks_per_second: u64) -> Clock {
        Clock::of(ticks_per_second, false)
    }

    /// The same; of a run that is followed live, where nobody has measured it, that is done beside, from now on, and
    /// again as more time has passed, until what the run itself tells is better.
    pub fn of(ticks_per_second: u64, live: bool) -> Clock {
        let mut clock = Clock { live_rate: live.then(Rate::begin), ..Clock::default() };
        clock.stated(ticks_per_second);
        clock
    }

    /// Its moments are to be those of another clock, which is so far ahead.
    pub fn shifted(self, shift_ns: i64) -> Clock {
        Clock { shift_ns, ..self }
    }

    /// A moment of the run's CLOCK_MONOTONIC, which is not 0, on the clock that is wanted.
    pub fn moment(&self, monotonic: u64) -> u64 {
        monotonic.saturating_add_signed(self.shift_ns)
    }

    /// Measures again when twice the time has passed. To be called between events.
    pub fn refine(&mut self) {
        if self.remeasure_at != 0 && monotonic() >= self.remeasure_at {
            self.settle();
        }
    }

    /// What a processor states about itself; 0 for nothing.
    pub fn stated(&mut self, ticks_per_second: u64) {
        if ticks_per_second != 0 {
            self.stated = ticks_per_second;
            self.settle();
        }
    }

    /// Takes a pair into account.
    pub fn pair(&mut self, pair: ClockPair) {
        if pair.ticks == 0 || pair.monotonic == 0 {
            return;
        }
        let pair = ClockPair { monotonic: self.moment(pair.monotonic), ..pair };
        let (Some(first), Some(last)) = (self.first, self.last) else {
            (self.first, self.last) = (Some(pair), Some(pair));
            return self.settle();
        };
        let (from, to) = if pair.ticks < first.ticks { (pair, last) } else { (first, pair) };
        if to.ticks <= last.ticks && from.ticks >= first.ticks {
            return;
        }
        let Some(rate) = rate_between(from, to) else { return };
        if self.stated != 0 && !(0.5..2.0).contains(&(rate * self.stated as f64 / 1e9)) {
            return;
        }
        (self.first, self.last) = (Some(from), Some(to));
        self.settle();
    }

    /// Nanoseconds of CLOCK_MONOTONIC at `ticks`.
    pub fn ns(&self, ticks: u64) -> u64 {
        let Some(first) = self.first else { return ticks };
        let delta = ticks.wrapping_sub(first.ticks) as i64;
        first.monotonic.saturating_add_signed((delta as f64 * self.rate) as i64)
    }

    /// Length of `ticks` ticks in nanoseconds.
    pub fn span(&self, ticks: u64) -> u64 {
        (ticks as f64 * self.rate) as u64
    }

    fn settle(&mut self) {
        let pairs = self.first.zip(self.last).and_then(|(a, b)| rate_between(a, b));
        let stated = || (self.stated != 0).then(|| 1e9 / self.stated as f64).filter(|r| POSSIBLE.contains(r));
        self.remeasure_at = 0;
        self.rate = match (pairs.or_else(stated), &self.live_rate) {
            (Some(rate), _) => rate,
            (None, Some(begun)) => {
                let ticks = begun.per_second();
                self.remeasure_at = monotonic() + begun.elapsed_ns();
                if ticks == 0 { 1.0 } else { 1e9 / ticks as f64 }
            }
            (None, None) => measure(),
        };
    }
}

/// Nanoseconds a tick; `None` when they are too near to tell, or when no counter runs like that.
fn rate_between(a: ClockPair, b: ClockPair) -> Option<f64> {
    rate_over(FAR_ENOUGH_NS, a, b)
}

/// The same of pairs that are so far apart at least.
fn rate_over(least: u64, a: ClockPair, b: ClockPair) -> Option<f64> {
    let ns = b.monotonic.checked_sub(a.monotonic).filter(|ns| *ns >= least)?;
    let rate = ns as f64 / b.ticks.checked_sub(a.ticks)? as f64;
    POSSIBLE.contains(&rate).then_some(rate)
}

/// Measures the rate of this machine's counter for as long as it is kept, so that it need not be measured by whoever
/// reads later, perhaps on another machine.
#[derive(Debug)]
pub struct Rate(ClockPair);

impl Rate {
    /// Begins to measure.
    pub fn begin() -> Rate {
        Rate(closest_pair())
    }

    /// Long enough has passed for a rate that holds for longer than that.
    pub fn is_measured(&self) -> bool {
        self.elapsed_ns() >= FAR_ENOUGH_NS
    }

    /// Ticks a second over the time since it began, which is at least a millisecond: what is missing of that is waited
    /// for. 0 if no counter runs like that.
    pub fn per_second(&self) -> u64 {
        self.per_second_over(SOON_NS)
    }

    /// The same over at least ten milliseconds, for a run that is longer than the time since it began.
    pub fn per_second_of_longer(&self) -> u64 {
        self.per_second_over(FAR_ENOUGH_NS)
    }

    fn per_second_over(&self, least: u64) -> u64 {
        while self.elapsed_ns() < least {
            std::thread::sleep(std::time::Duration::from_nanos(least / 4));
        }
        rate_over(least, self.0, closest_pair()).map_or(0, |rate| (1e9 / rate).round() as u64)
    }

    /// Nanoseconds since it began.
    fn elapsed_ns(&self) -> u64 {
        monotonic().saturating_sub(self.0.monotonic)
    }
}

/// Both clocks; of a few tries the one that was interrupted least.
fn closest_pair() -> ClockPair {
    let tries = (0..8).map(|_| {
        let (before, monotonic) = now();
        let width = now().0.wrapping_sub(before);
        (width, ClockPair { ticks: before, monotonic })
    });
    tries.min_by_key(|(width, _)| *width).map_or(ClockPair { ticks: 0, monotonic: 0 }, |(_, pair)| pair)
}

/// Measures the counter of this machine, once: the last resort, right when the run was made here.
fn measure() -> f64 {
    static RATE: OnceLock<f64> = OnceLock::new();
    *RATE.get_or_init(|| {
        let (t0, n0) = now();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let (t1, n1) = now();
        let rate = (n1 - n0) as f64 / t1.wrapping_sub(t0).max(1) as f64;
        if POSSIBLE.contains(&rate) { rate } else { 1.0 }
    })
}

#[cfg(target_arch = "x86_64")]
fn now() -> (u64, u64) {
    // SAFETY: every x86-64 processor has the instruction.
    (unsafe { core::arch::x86_64::_rdtsc() }, monotonic())
}

#[cfg(not(target_arch = "x86_64"))]
fn now() -> (u64, u64) {
    (monotonic(), monotonic())
}

/// CLOCK_MONOTONIC now.
pub fn monotonic() -> u64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(ticks: u64, monotonic: u64) -> ClockPair {
        ClockPair { ticks, monotonic }
    }

    #[test]
    fn the_furthest_pairs_give_the_rate() {
        let mut clock = Clock::default();
        clock.stated(1_000_000_000);
        clock.pair(pair(1_000, 5_000));
        assert_eq!(clock.ns(1_500), 5_500, "by what the processor states");
        clock.pair(pair(1_000 + 2_000_000, 5_000 + 1_000_000));
        assert_eq!(clock.ns(1_500), 5_500, "1 ms is too near");
        clock.pair(pair(1_000 + 200_000_000, 5_000 + 100_000_000 + 1));
        assert_eq!(clock.ns(1_000 + 400_000_000), 5_000 + 200_000_002);
        assert_eq!(clock.span(2_000), 1_000);
        assert_eq!(clock.ns(0), 4_500, "before the first pair");
    }

    #[test]
    fn impossible_pairs_are_not_believed() {
        let mut clock = Clock::default();
        clock.stated(1_000_000_000);
        clock.pair(pair(1_000, 5_000));
        for bad in [pair(2_000, u64::MAX), pair(u64::MAX, 5_001), pair(3_000, 10), pair(0, 0)] {
            clock.pair(bad);
        }
        clock.pair(pair(1_000_001_000, 1_000_005_000));
        assert_eq!(clock.ns(2_000), 6_000);
    }

    #[test]
    fn a_rate_is_that_of_this_machine() {
        let begun = Rate::begin();
        let (one, (ticks, ns)) = (begun.per_second(), now());
        std::thread::sleep(std::time::Duration::from_millis(30));
        let (later, at) = now();
        let two = (later - ticks) as f64 * 1e9 / (at - ns) as f64;
        assert!((one as f64 / two - 1.0).abs() < 0.01, "{one} {two}");
    }

    /// A rate of a short time is right for that time: at its end the two clocks agree as they do when they are read.
    #[test]
    fn a_short_run_is_measured_over_itself() {
        // A machine that is busy may stop us between the two readings of a pair.
        let off = (0..20).map(|_| {
            let mut clock = Clock::of(0, true);
            let (begun, since) = (closest_pair(), monotonic());
            clock.pair(begun);
            assert!(monotonic() - since < 2_000_000 || clock.remeasure_at != 0, "measured at once");
            std::thread::sleep(std::time::Duration::from_millis(4));
            clock.refine();
            let now = closest_pair();
            clock.ns(now.ticks).abs_diff(now.monotonic)
        });
        let least = off.min().unwrap_or(u64::MAX);
        assert!(least < 2_000, "{least} ns off after 4 ms");
    }

    #[test]
    fn without_any_statement_the_own_counter_is_measured() {
        let mut clock = Clock::default();
        let (ticks, monotonic) = now();
        clock.pair(pair(ticks, monotonic));
        std::thread::sleep(std::time::Duration::from_millis(5));
        let (ticks, monotonic) = now();
        let error = clock.ns(ticks).abs_diff(monotonic);
        assert!(error < 2_000_000, "{error} ns off");
    }
}
