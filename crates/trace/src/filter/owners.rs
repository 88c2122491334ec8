//! `pid:N` and `tid:N`: calls of one process or thread. They are known when a call begins, so that the tree below it
//! stays whole.

use super::refusal::FilterError;

/// A process or a thread, by its number as it sees itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// All threads of a process.
    Process(u32),
    /// One thread.
    Thread(u32),
}

/// Whose calls are wanted.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Owners {
    included: Vec<Owner>,
    excluded: Vec<Owner>,
}

impl Owner {
    /// Reads `pid:4711`; none for a word that begins with neither.
    pub fn parse(word: &str) -> Option<Result<Owner, FilterError>> {
        let (kind, number) = word.split_once(':').filter(|(kind, _)| matches!(*kind, "pid" | "tid"))?;
        Some(match number.trim().parse() {
            Ok(number) if kind == "pid" => Ok(Owner::Process(number)),
            Ok(number) => Ok(Owner::Thread(number)),
            Err(_) => Err(FilterError(format!("{word} in the filter has no number; write it as {kind}:4711"))),
        })
    }

    fn is(self, pid: u32, tid: u32) -> bool {
        match self {
            Owner::Process(of) => of == pid,
            Owner::Thread(of) => of == tid,
        }
    }
}

impl Owners {
    /// Adds a term.
    pub fn add(&mut self, is_wanted: bool, owner: Owner) {
        if is_wanted { self.included.push(owner) } else { self.excluded.push(owner) }
    }

    /// Everybody's calls are wanted.
    pub fn is_everybody(&self) -> bool {
        self.included.is_empty() && self.excluded.is_empty()
    }

    /// Whether calls of this thread are wanted.
    pub fn has(&self, pid: u32, tid: u32) -> bool {
        let any = |all: &[Owner]| all.iter().any(|owner| owner.is(pid, tid));
        (self.included.is_empty() || any(&self.included)) && !any(&self.excluded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owners(terms: &[(bool, &str)]) -> Owners {
        let mut owners = Owners::default();
        terms.iter().for_each(|(wanted, word)| owners.add(*wanted, Owner::parse(word).unwrap().unwrap()));
        owners
    }

    #[test]
    fn words() {
        assert_eq!(Owner::parse("pid:7").unwrap().unwrap(), Owner::Process(7));
        assert_eq!(Owner::parse("tid:8").unwrap().unwrap(), Owner::Thread(8));
        assert!(Owner::parse("pid:x").unwrap().unwrap_err().to_string().contains("pid:4711"));
        assert!(Owner::parse("vector:cudaMalloc").is_none());
    }

    #[test]
    fn several_are_joined_by_or_and_not_excludes() {
        assert!(owners(&[]).has(1, 1) && owners(&[]).is_everybody());
        let two = owners(&[(true, "pid:1"), (true, "tid:9")]);
        assert!(two.has(1, 1) && two.has(2, 9) && !two.has(2, 2));
        let not = owners(&[(false, "pid:1")]);
        assert!(!not.has(1, 2) && not.has(2, 2));
    }
}
