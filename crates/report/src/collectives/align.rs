//! Numbers of calls of a recording that begins late: where its calls fit those of another rank. If they fit at several
//! places, the times decide. No rank completes a call before all have begun it, and ranks begin it at about the same
//! time.

/// Calls that are compared, the last ones.
const MOST: usize = 2048;
/// Calls that must fit.
const FEWEST: usize = 3;

/// A call of a rank.
#[derive(Debug, Clone, Copy, Default)]
pub struct TimedCall {
    /// The same number for calls that agree.
    pub class: u32,
    pub start_ns: u64,
    /// When it was known complete; 0: it is not.
    pub complete_ns: u64,
    /// It is complete only when all ranks have begun it.
    pub needs_all_ranks: bool,
}

/// The calls of a rank.
#[derive(Debug, Clone, Default)]
pub struct Sequence {
    /// Number of the first one.
    pub first: u64,
    pub calls: Vec<TimedCall>,
}

impl Sequence {
    fn tail(&self) -> (i64, &[TimedCall]) {
        let dropped = self.calls.len().saturating_sub(MOST);
        (self.first as i64 + dropped as i64, &self.calls[dropped..])
    }
}

impl TimedCall {
    /// Whether another rank may have completed this very call then.
    fn is_before_end(&self, other: &TimedCall) -> bool {
        other.complete_ns == 0 || !other.needs_all_ranks || self.start_ns <= other.complete_ns
    }
}

/// A place at which the calls fit.
struct Fit {
    place: i64,
    fitting: usize,
    apart_ns: u128,
    is_possible: bool,
}

/// What to add to the numbers of `late` so that its calls are those of `reference`, and how that is known. None if they
/// fit nowhere. `has_one_clock`: the times of both can be compared.
pub fn shift(reference: &Sequence, late: &Sequence, has_one_clock: bool) -> Option<(i64, &'static str)> {
    let ((reference_first, reference), (late_first, late)) = (reference.tail(), late.tail());
    if late.is_empty() || reference.is_empty() {
        return None;
    }
    let mut fits: Vec<Fit> = Vec::new();
    // `place`: where the first late call would be among those of the reference.
    for place in 1 - late.len() as i64..reference.len() as i64 {
        let skipped = usize::try_from(-place).unwrap_or(0);
        let from = usize::try_from(place).unwrap_or(0);
        let both = || reference.iter().skip(from).zip(late.iter().skip(skipped));
        let (fitting, compared) = (both().filter(|(a, b)| a.class == b.class).count(), both().count());
        // The last ones may differ: that is what is looked for.
        if fitting < FEWEST.min(late.len()) || compared - fitting > compared / 8 + 1 {
            continue;
        }
        let apart_ns = both().map(|(a, b)| u128::from(a.start_ns.abs_diff(b.start_ns))).sum::<u128>();
        let is_possible =
            both().filter(|(a, b)| a.class == b.class).all(|(a, b)| a.is_before_end(b) && b.is_before_end(a));
        fits.push(Fit { place, fitting, apart_ns: apart_ns / compared.max(1) as u128, is_possible });
    }
    let most = fits.iter().map(|fit| fit.fitting).max()?;
    // Calls that repeat fit at other places nearly as well.
    let is_close = |fit: &&Fit| fit.fitting + fit.fitting / 4 + 2 >= most;
    let is_only = fits.iter().filter(is_close).count() == 1;
    let by_time = |fit: &&Fit| (std::cmp::Reverse(fit.fitting), fit.apart_ns);
    let (fit, by) = match (is_only, has_one_clock) {
        (true, _) => (fits.iter().find(is_close)?, "by signatures"),
        (false, true) => {
            let mut possible: Vec<&Fit> = fits.iter().filter(is_close).filter(|fit| fit.is_possible).collect();
            possible.sort_by_key(by_time);
            // Two that fit equally well tell nothing.
            let is_clear = |next: &&&Fit, best: &&&Fit| {
                next.fitting < best.fitting || next.apart_ns >= best.apart_ns.saturating_mul(2)
            };
            let best = possible.first().filter(|best| possible.get(1).is_none_or(|next| is_clear(&next, best)))?;
            (*best, "by signatures and times")
        }
        (false, false) => return None,
    };
    Some((reference_first + fit.place - late_first, by))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(calls: &[u32], from_ns: u64) -> Sequence {
        let call = |(n, class): (usize, &u32)| {
            let start_ns = from_ns + 1000 * n as u64;
            TimedCall { class: *class, start_ns, complete_ns: start_ns + 100, needs_all_ranks: true }
        };
        Sequence { first: 1, calls: calls.iter().enumerate().map(call).collect() }
    }

    #[test]
    fn a_late_beginning() {
        let reference = sequence(&[1, 2, 3, 4, 5, 6, 7, 8], 0);
        let late = sequence(&[4, 5, 6, 7, 9], 50);
        assert_eq!(shift(&reference, &late, false), Some((3, "by signatures")));
        assert_eq!(shift(&reference, &sequence(&[9, 9, 9, 9], 0), true), None);
    }

    #[test]
    fn no_calls_fit_nowhere() {
        let (some, none) = (sequence(&[1, 2], 0), sequence(&[], 0));
        for (reference, late) in [(&some, &none), (&none, &some), (&none, &none)] {
            assert_eq!(shift(reference, late, false), None);
            assert_eq!(shift(reference, late, true), None);
        }
    }

    #[test]
    fn repeated_calls_need_times() {
        let reference = sequence(&[1; 20], 0);
        let late = sequence(&[1; 10], 10_010);
        assert_eq!(shift(&reference, &late, true), Some((10, "by signatures and times")));
        assert_eq!(shift(&reference, &late, false), None);
    }
}
