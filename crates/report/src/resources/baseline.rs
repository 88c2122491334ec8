//! The problems that an older run has, so that a list leaves them out.

use std::collections::HashMap;

/// How often each problem is in the older run. A problem is what it is, and the calls that it was in, without the
/// files and versions of their libraries.
#[derive(Debug, Clone, Default)]
pub struct Baseline {
    counts: HashMap<ProblemKey, u64>,
}

/// A problem that two runs may have.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProblemKey {
    problem: String,
    path: Vec<String>,
}

impl ProblemKey {
    /// `problem` is a status, a kind of resource or a rule; `path` the calls, the outermost first.
    pub fn new(problem: &str, path: &[String]) -> ProblemKey {
        let name = |label: &String| label.split(" [").next().unwrap_or_default().to_owned();
        ProblemKey { problem: problem.to_owned(), path: path.iter().map(name).collect() }
    }
}

impl Baseline {
    /// From the problems of the older run.
    pub fn new(problems: impl IntoIterator<Item = (ProblemKey, u64)>) -> Baseline {
        let mut counts: HashMap<ProblemKey, u64> = HashMap::new();
        for (key, count) in problems {
            let sum = counts.entry(key).or_default();
            *sum = sum.saturating_add(count);
        }
        Baseline { counts }
    }

    /// Whether the older run has it as often.
    pub fn has(&self, key: &ProblemKey, count: u64) -> bool {
        self.counts.get(key).is_some_and(|old_count| *old_count >= count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_known_by_its_calls_and_number() {
        let path = |library: &str| vec![format!("cudaMalloc [{library}]"), "cuMemAlloc_v2".to_owned()];
        let old = Baseline::new([(ProblemKey::new("event", &path("app1")), 2)]);
        assert!(old.has(&ProblemKey::new("event", &path("app2")), 2));
        assert!(!old.has(&ProblemKey::new("event", &path("app2")), 3));
        assert!(!old.has(&ProblemKey::new("stream", &path("app1")), 1));
        assert!(!old.has(&ProblemKey::new("event", &path("app1")[1..]), 1));
    }
}
