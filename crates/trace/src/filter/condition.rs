//! Conditions on a call that has ended.

use super::refusal::FilterError;
use cutap_quantity::nanoseconds;

/// A condition; all of a filter's must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Condition {
    pub is_wanted: bool,
    pub criterion: Criterion,
}

/// The condition itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Criterion {
    Error,
    Longer(u64),
    AtLeast(u64),
    Shorter(u64),
    AtMost(u64),
}

impl Condition {
    /// A call that took nobody knows how long took longer than any time: whoever looks for what hangs must find it.
    pub fn is_fulfilled(self, error: bool, took_ns: Option<u64>) -> bool {
        let is_fulfilled = match self.criterion {
            Criterion::Error => error,
            Criterion::Longer(ns) => took_ns.is_none_or(|took| took > ns),
            Criterion::AtLeast(ns) => took_ns.is_none_or(|took| took >= ns),
            Criterion::Shorter(ns) => took_ns.is_some_and(|took| took < ns),
            Criterion::AtMost(ns) => took_ns.is_some_and(|took| took <= ns),
        };
        is_fulfilled == self.is_wanted
    }
}

/// `>1ms`, `>=1ms`, `<10us` or `<=10us`.
pub(super) fn duration(word: &str) -> Result<Criterion, FilterError> {
    let refuse = || {
        FilterError(format!(
            "{word} in the filter is no duration; write it as >1ms, >=1ms or <10us: in ns, us, ms, s, m or h"
        ))
    };
    type Make = fn(u64) -> Criterion;
    const SIGNS: [(&str, Make); 4] =
        [(">=", Criterion::AtLeast), ("<=", Criterion::AtMost), (">", Criterion::Longer), ("<", Criterion::Shorter)];
    let sign = SIGNS.iter().find_map(|(sign, criterion)| Some((*criterion, word.strip_prefix(sign)?.trim())));
    let (criterion, rest) = sign.ok_or_else(refuse)?;
    let ns = nanoseconds(rest).ok_or_else(refuse)?;
    Ok(criterion(ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_with_and_without_the_limit() {
        let holds = |word: &str, took| {
            Condition { is_wanted: true, criterion: duration(word).unwrap() }.is_fulfilled(false, took)
        };
        assert!(holds(">=1us", Some(1000)) && !holds(">1us", Some(1000)));
        assert!(holds("<=1us", Some(1000)) && !holds("<1us", Some(1000)));
        assert!(holds(">= 1us", None) && !holds("<=1us", None), "a call that did not return is longer than any time");
        assert!(holds(">=1", Some(1_000_000_000)) && !holds(">=1", Some(999_999_999)), "without a unit: seconds");
        assert!(duration(">=1day").is_err() && duration("=>1us").is_err());
    }
}
