//! A rule on the calls of a run.

use cutap_collect::{Error, Result};
use cutap_trace::TimeWindow;
use std::path::PathBuf;

/// What is asked.
#[derive(Debug, Clone)]
pub enum RuleKind {
    /// No call of the filter fails. An empty filter has all calls.
    NoErrors(String),
    /// What the calls of the filter made is freed.
    NoLeaks(String),
    /// At most, or at least, so many calls of a filter.
    Count { filter: String, at_most: bool, limit: u64 },
    /// No call of the filter may block the host.
    NoSync(String),
    /// No call that may block the host in a range.
    NoSyncIn(String),
    /// No finding of a rule of `explain`.
    Explain(String),
    /// The same calls as in a recording.
    Like(PathBuf),
    /// As many calls of the filter in each range of a name, but for some percent of the median.
    Steady { filter: String, range: String, percent: f64 },
}

/// A rule with its name.
#[derive(Debug, Clone)]
pub struct Rule {
    pub name: String,
    pub kind: RuleKind,
    /// The part of the run that it is about; none for all that the command reads.
    pub window: Option<TimeWindow>,
}

impl From<RuleKind> for Rule {
    fn from(kind: RuleKind) -> Rule {
        Rule { name: kind.default_name(), kind, window: None }
    }
}

impl RuleKind {
    /// `FILTER<=N` or `FILTER>=N`.
    pub fn count(text: &str, at_most: bool) -> Result<RuleKind> {
        let (sign, flag) = if at_most { ("<=", "--max") } else { (">=", "--min") };
        let parts = text.rsplit_once(sign).map(|(filter, limit)| (filter.trim(), limit.trim().parse()));
        match parts {
            Some((filter, Ok(limit))) if !filter.is_empty() => {
                Ok(RuleKind::Count { filter: filter.to_owned(), at_most, limit })
            }
            _ => Err(Error::own(format!(
                "{flag} {text} has no filter and number; write it as {flag} 'cudaMalloc{sign}10'"
            ))),
        }
    }

    fn default_name(&self) -> String {
        let of = |filter: &str| if filter.is_empty() { String::new() } else { format!(" of {filter}") };
        match self {
            RuleKind::NoErrors(filter) => format!("no errors{}", of(filter)),
            RuleKind::NoLeaks(filter) => format!("no leaks{}", of(filter)),
            RuleKind::Count { filter, at_most: true, limit } => format!("{filter} <= {limit}"),
            RuleKind::Count { filter, at_most: false, limit } => format!("{filter} >= {limit}"),
            RuleKind::NoSync(filter) => format!("no wait{}", of(filter)),
            RuleKind::NoSyncIn(range) => format!("no wait in {range}"),
            RuleKind::Explain(rule) => format!("no finding of {rule}"),
            RuleKind::Like(golden) => format!("like {}", golden.display()),
            RuleKind::Steady { filter, range, percent } => format!("{filter} in each {range} within {percent}%"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        let name = |text| RuleKind::count(text, true).map(|kind| Rule::from(kind).name).ok();
        assert_eq!(name("cudaMalloc<=3").as_deref(), Some("cudaMalloc <= 3"));
        assert_eq!(name("cudaMalloc[size<=4] <= 0").as_deref(), Some("cudaMalloc[size<=4] <= 0"));
        for text in ["cudaMalloc", "<=3", "cudaMalloc<=x", "cudaMalloc<=-1"] {
            assert_eq!(name(text), None, "{text}");
        }
    }
}
