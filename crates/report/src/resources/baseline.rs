//! The problems that an older run has, so that a list leaves them out.

use std::collections::HashMap;

/// How often each problem is in the older run.
#[derive(Debug, Clone, Default)]
pub struct Baseline {
    sizes: HashMap<ProblemKey, ProblemSize>,
    ignores_stacks: bool,
}

/// A problem that two runs may have: what it is, and where, by names of functions. Libraries, versions, lines and
/// addresses are no part of it, because another build has others.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProblemKey {
    problem: String,
    path: Vec<String>,
    stack: Vec<String>,
}

/// How often a problem occurs, and of how many bytes it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProblemSize {
    /// Occurrences.
    pub count: u64,
    /// Bytes that were left; 0 for other problems.
    pub bytes: u64,
}

impl ProblemKey {
    /// `problem` is a status, a kind of resource or a finding. `path` are the calls, the outermost first, and `stack`
    /// the frames as text; empty if they were not recorded.
    pub fn new(problem: &str, path: &[String], stack: &[String]) -> ProblemKey {
        let name = |label: &String| label.split(" [").next().unwrap_or_default().to_owned();
        let frame = |text: &String| {
            let function = text.strip_prefix("at ").unwrap_or(text);
            function.split(['+', ' ']).next().unwrap_or_default().to_owned()
        };
        ProblemKey {
            problem: problem.to_owned(),
            path: path.iter().map(name).collect(),
            stack: stack.iter().map(frame).collect(),
        }
    }
}

impl ProblemKey {
    fn without_stack(self) -> ProblemKey {
        ProblemKey { stack: Vec::new(), ..self }
    }
}

impl Baseline {
    /// The same without stacks, for runs whose frames have no names.
    #[must_use]
    pub fn without_stacks(self) -> Baseline {
        let plain = |(key, size): (ProblemKey, ProblemSize)| (key.without_stack(), size);
        Baseline { ignores_stacks: true, ..Baseline::new(self.sizes.into_iter().map(plain)) }
    }

    /// From the problems of the older run.
    pub fn new(problems: impl IntoIterator<Item = (ProblemKey, ProblemSize)>) -> Baseline {
        let mut sizes: HashMap<ProblemKey, ProblemSize> = HashMap::new();
        for (key, size) in problems {
            let sum = sizes.entry(key).or_default();
            sum.count = sum.count.saturating_add(size.count);
            sum.bytes = sum.bytes.saturating_add(size.bytes);
        }
        Baseline { sizes, ignores_stacks: false }
    }

    /// Leaves out the problems that the older run has as often and with as many bytes, all of one key together.
    pub fn retain_new<T>(&self, problems: &mut Vec<T>, of: impl Fn(&T) -> (ProblemKey, ProblemSize)) {
        if self.sizes.is_empty() {
            return;
        }
        let of = |problem: &T| {
            let (key, size) = of(problem);
            (if self.ignores_stacks { key.without_stack() } else { key }, size)
        };
        let new = Baseline::new(problems.iter().map(of));
        problems.retain(|problem| {
            let (key, _) = of(problem);
            let (old, new) = (self.sizes.get(&key), new.sizes.get(&key));
            !old.zip(new).is_some_and(|(old, new)| old.count >= new.count && old.bytes >= new.bytes)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(library: &str, line: u32, count: u64, bytes: u64) -> (ProblemKey, ProblemSize) {
        let path = [format!("cudaMalloc [{library}]"), "cuMemAlloc_v2".to_owned()];
        (ProblemKey::new("memory", &path, &[format!("at step+0x12 a.c:{line} [app]")]), ProblemSize { count, bytes })
    }

    fn new_of(old: &[(ProblemKey, ProblemSize)], new: &[(ProblemKey, ProblemSize)]) -> usize {
        let mut listed = new.to_vec();
        Baseline::new(old.to_vec()).retain_new(&mut listed, Clone::clone);
        listed.len()
    }

    #[test]
    fn a_problem_is_known_by_its_functions_number_and_bytes() {
        let old = [of("app1", 5, 2, 100)];
        assert_eq!(new_of(&old, &[of("app2", 9, 2, 100)]), 0);
        assert_eq!(new_of(&old, &[of("app2", 9, 3, 100)]), 1);
        assert_eq!(new_of(&old, &[of("app2", 9, 1, 101)]), 1);
        // Two places in one function count together.
        assert_eq!(new_of(&old, &[of("app", 5, 2, 60), of("app", 9, 1, 40)]), 2);
        assert_eq!(new_of(&[], &old), 1);
        let elsewhere =
            (ProblemKey::new("memory", &["cudaMalloc".to_owned()], &[]), ProblemSize { count: 1, bytes: 1 });
        assert_eq!(new_of(&old, &[elsewhere]), 1);
        let mut in_other_function = of("app", 5, 2, 100);
        in_other_function.0.stack = vec!["save".to_owned()];
        assert_eq!(new_of(&old, &[in_other_function]), 1);
        let (_, size) = of("app", 5, 2, 100);
        let at = |function: &str| ProblemKey::new("memory", &[], &[format!("at {function}+0x1 a.c:3 [app]")]);
        assert_eq!(new_of(&[(at("alpha"), size)], &[(at("beta"), size)]), 1);
        // Frames without names.
        let mut unnamed = vec![of("app", 5, 2, 100)];
        unnamed[0].0.stack = vec!["at app+0x1386".to_owned()];
        assert_eq!(new_of(&old, &unnamed), 1);
        Baseline::new(old).without_stacks().retain_new(&mut unnamed, Clone::clone);
        assert!(unnamed.is_empty());
    }
}
