//! CUPTI's clock as CLOCK_MONOTONIC, by the brackets that the injection recorded.

/// A reading of CUPTI's clock between two of CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bracket {
    time: u64,
    before: u64,
    after: u64,
}

impl Bracket {
    /// How far CLOCK_MONOTONIC is ahead, in the middle of the bracket.
    fn offset(&self) -> i128 {
        (i128::from(self.before) + i128::from(self.after)) / 2 - i128::from(self.time)
    }

    fn width(&self) -> u64 {
        self.after.saturating_sub(self.before)
    }
}

/// The clock of a process.
#[derive(Debug, Clone, Default)]
pub struct CuptiClock {
    /// By CUPTI's time.
    brackets: Vec<Bracket>,
}

impl CuptiClock {
    /// Takes a reading.
    pub fn add(&mut self, time: u64, before: u64, after: u64) {
        self.brackets.push(Bracket { time, before, after });
    }

    /// To be called when all readings were taken.
    pub fn sort(&mut self) {
        self.brackets.sort_by_key(|bracket| bracket.time);
    }

    /// Nanoseconds of CLOCK_MONOTONIC; none without a reading. Between two readings the offset changes evenly.
    pub fn monotonic(&self, time: u64) -> Option<u64> {
        let next = self.brackets.partition_point(|bracket| bracket.time <= time);
        let offset = match (next.checked_sub(1).and_then(|n| self.brackets.get(n)), self.brackets.get(next)) {
            (Some(one), Some(two)) => {
                let (part, whole) = (i128::from(time - one.time), i128::from(two.time - one.time).max(1));
                one.offset() + (two.offset() - one.offset()) * part / whole
            }
            (Some(one), None) | (None, Some(one)) => one.offset(),
            (None, None) => return None,
        };
        u64::try_from(i128::from(time) + offset).ok()
    }

    /// The widest bracket: times are no more exact than that.
    pub fn width(&self) -> u64 {
        self.brackets.iter().map(Bracket::width).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_between_readings() {
        let mut clock = CuptiClock::default();
        assert_eq!(clock.monotonic(5), None);
        clock.add(2_000, 1_110, 1_130);
        clock.add(1_000, 100, 104);
        clock.sort();
        // Ahead by -898 and -880.
        let at = [500, 1_000, 1_500, 2_000, 3_000].map(|time| clock.monotonic(time).unwrap_or(0));
        assert_eq!(at, [0, 102, 611, 1_120, 2_120]);
        assert_eq!(clock.width(), 20);
    }
}
