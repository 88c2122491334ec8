//! A part of the time of a run: `--from`, `--to`.

/// Calls that overlap it are wanted. Times are nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeWindow {
    /// Since the start of the first process.
    pub from_ns: u64,
    /// The same, not included.
    pub to_ns: u64,
    /// That start on the clock of the run. Whoever opens the runs fills it in.
    pub origin_ns: u64,
}

/// The place of a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    Before,
    Inside,
    After,
}

impl TimeWindow {
    /// Whether a moment on the clock of the run is before it.
    #[must_use]
    pub fn is_after(&self, ns: u64) -> bool {
        self.place(ns) == Moment::Before
    }

    /// Whether a moment is after it.
    #[must_use]
    pub fn is_before(&self, ns: u64) -> bool {
        self.place(ns) == Moment::After
    }

    /// Where a moment on the clock of the run is.
    pub(crate) fn place(&self, ns: u64) -> Moment {
        match ns.saturating_sub(self.origin_ns) {
            ns if ns >= self.to_ns => Moment::After,
            ns if ns < self.from_ns => Moment::Before,
            _ => Moment::Inside,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        let window = TimeWindow { from_ns: 10, to_ns: 20, origin_ns: 100 };
        assert_eq!([109, 110, 119, 120].map(|ns| window.place(ns)), {
            [Moment::Before, Moment::Inside, Moment::Inside, Moment::After]
        });
    }
}
