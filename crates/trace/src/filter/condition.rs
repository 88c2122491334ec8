//! Conditions on a call that has ended.

use super::error::FilterError;
use cutap_quantity::nanoseconds;

/// A condition; all of a filter's must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Condition {
    pub wanted: bool,
    pub what: What,
}

/// The condition itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Error,
    Longer(u64),
    AtLeast(u64),
    Shorter(u64),
    AtMost(u64),
}

impl Condition {
    /// A call that took nobody knows how long took longer than any time: whoever looks for what hangs must find it.
    pub fn holds(self, error: bool, took_ns: Option<u64>) -> bool {
        let holds = match self.what {
            What::Error => error,
            What::Longer(ns) => took_ns.is_none_or(|took| took > ns),
            What::AtLeast(ns) => took_ns.is_none_or(|took| took >= ns),
            What::Shorter(ns) => took_ns.is_some_and(|took| took < ns),
            What::AtMost(ns) => took_ns.is_some_and(|took| took <= ns),
        };
        holds == self.wanted
    }
}

/// `>1ms`, `>=1ms`, `<10us` or `<=10us`.
pub(super) fn duration(word: &str) -> Result<What, FilterError> {
    let refuse = || {
        FilterError(format!(
            "{word} in the filter is no duration; write it as >1ms, >=1ms or <10us: in ns, us, ms, s, m or h"
        ))
    };
    type Make = fn(u64) -> What;
    const SIGNS: [(&str, Make); 4] =
        [(">=", What::AtLeast), ("<=", What::AtMost), (">", What::Longer), ("<", What::Shorter)];
    let found = SIGNS.iter().find_map(|(sign, make)| Some((*make, word.strip_prefix(sign)?.trim())));
    let (make, rest) = found.ok_or_else(refuse)?;
    let ns = nanoseconds(rest).ok_or_else(refuse)?;
    Ok(make(ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_with_and_without_the_limit() {
        let holds = |word: &str, took| Condition { wanted: true, what: duration(word).unwrap() }.holds(false, took);
        assert!(holds(">=1us", Some(1000)) && !holds(">1us", Some(1000)));
        assert!(holds("<=1us", Some(1000)) && !holds("<1us", Some(1000)));
        assert!(holds(">= 1us", None) && !holds("<=1us", None), "a call that did not return is longer than any time");
        assert!(holds(">=1", Some(1_000_000_000)) && !holds(">=1", Some(999_999_999)), "without a unit: seconds");
        assert!(duration(">=1day").is_err() && duration("=>1us").is_err());
    }
}
