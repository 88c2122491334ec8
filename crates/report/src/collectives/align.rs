//! Numbers of calls of a recording that begins late: where its calls fit those of another rank. If they fit at several
//! places, the times decide: ranks call the same collective at about the same time.

/// Calls that are compared, the last ones.
const MOST: usize = 2048;
/// Calls that must fit.
const FEWEST: usize = 3;

/// The calls of a rank: what each is, and when it was.
#[derive(Debug, Clone, Default)]
pub struct Sequence {
    /// Number of the first one.
    pub first: u64,
    pub calls: Vec<(u32, u64)>,
}

impl Sequence {
    fn tail(&self) -> (i64, &[(u32, u64)]) {
        let dropped = self.calls.len().saturating_sub(MOST);
        (self.first as i64 + dropped as i64, &self.calls[dropped..])
    }
}

/// What to add to the numbers of `late` so that its calls are those of `reference`, and how that is known. None if they
/// fit nowhere. `has_one_clock`: the times of both can be compared.
pub fn shift(reference: &Sequence, late: &Sequence, has_one_clock: bool) -> Option<(i64, &'static str)> {
    let ((reference_first, reference), (late_first, late)) = (reference.tail(), late.tail());
    let mut best: Vec<(usize, i64, u128)> = Vec::new();
    // `place`: where the first late call would be among those of the reference.
    for place in 1 - late.len() as i64..reference.len() as i64 {
        let skipped = usize::try_from(-place).unwrap_or(0);
        let from = usize::try_from(place).unwrap_or(0);
        let both = || reference.iter().skip(from).zip(late.iter().skip(skipped));
        let (fitting, compared) = (both().filter(|(a, b)| a.0 == b.0).count(), both().count());
        // The last ones may differ: that is what is looked for.
        let is_fit = fitting >= FEWEST.min(late.len()) && compared - fitting <= compared / 8 + 1;
        if !is_fit {
            continue;
        }
        let apart = both().map(|(a, b)| u128::from(a.1.abs_diff(b.1))).sum::<u128>() / compared.max(1) as u128;
        best.push((fitting, place, apart));
    }
    let most = best.iter().map(|(fitting, ..)| *fitting).max()?;
    // Calls that repeat fit at other places nearly as well.
    let mut close = best.iter().filter(|(fitting, ..)| *fitting + *fitting / 4 + 2 >= most);
    let only = best.iter().filter(|(fitting, ..)| *fitting + *fitting / 4 + 2 >= most).count() == 1;
    let (_, place, _) = match (only, has_one_clock) {
        (true, _) => close.next()?,
        (false, true) => close.min_by_key(|(_, _, apart)| *apart)?,
        (false, false) => return None,
    };
    let by = if only { "by signatures" } else { "by signatures and times" };
    Some((reference_first + place - late_first, by))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(calls: &[u32], from_ns: u64) -> Sequence {
        let calls = calls.iter().enumerate().map(|(n, call)| (*call, from_ns + 1000 * n as u64)).collect();
        Sequence { first: 1, calls }
    }

    #[test]
    fn a_late_beginning() {
        let reference = sequence(&[1, 2, 3, 4, 5, 6, 7, 8], 0);
        let late = sequence(&[4, 5, 6, 7, 9], 50);
        assert_eq!(shift(&reference, &late, false), Some((3, "by signatures")));
        assert_eq!(shift(&reference, &sequence(&[9, 9, 9, 9], 0), true), None);
    }

    #[test]
    fn repeated_calls_need_times() {
        let reference = sequence(&[1; 20], 0);
        let late = sequence(&[1; 10], 10_010);
        assert_eq!(shift(&reference, &late, true), Some((10, "by signatures and times")));
        assert_eq!(shift(&reference, &late, false), None);
    }
}
