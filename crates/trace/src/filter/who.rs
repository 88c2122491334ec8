//! `pid:N` and `tid:N`: calls of one process or thread. They are known when a call begins, so that the tree below it
//! stays whole.

use super::error::FilterError;

/// A process or a thread, by its number as it sees itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// All threads of a process.
    Process(u32),
    /// One thread.
    Thread(u32),
}

/// Whose calls are wanted.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Owners {
    wanted: Vec<Who>,
    unwanted: Vec<Who>,
}

impl Who {
    /// Reads `pid:4711`; none for a word that begins with neither.
    pub fn parse(word: &str) -> Option<Result<Who, FilterError>> {
        let (kind, number) = word.split_once(':').filter(|(kind, _)| matches!(*kind, "pid" | "tid"))?;
        Some(match number.trim().parse() {
            Ok(number) if kind == "pid" => Ok(Who::Process(number)),
            Ok(number) => Ok(Who::Thread(number)),
            Err(_) => Err(FilterError(format!("{word} in the filter has no number; write it as {kind}:4711"))),
        })
    }

    fn is(self, pid: u32, tid: u32) -> bool {
        match self {
            Who::Process(of) => of == pid,
            Who::Thread(of) => of == tid,
        }
    }
}

impl Owners {
    /// Adds a term.
    pub fn add(&mut self, wanted: bool, who: Who) {
        if wanted { self.wanted.push(who) } else { self.unwanted.push(who) }
    }

    /// Everybody's calls are wanted.
    pub fn is_everybody(&self) -> bool {
        self.wanted.is_empty() && self.unwanted.is_empty()
    }

    /// Whether calls of this thread are wanted.
    pub fn has(&self, pid: u32, tid: u32) -> bool {
        let any = |all: &[Who]| all.iter().any(|who| who.is(pid, tid));
        (self.wanted.is_empty() || any(&self.wanted)) && !any(&self.unwanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owners(terms: &[(bool, &str)]) -> Owners {
        let mut owners = Owners::default();
        terms.iter().for_each(|(wanted, word)| owners.add(*wanted, Who::parse(word).unwrap().unwrap()));
        owners
    }

    #[test]
    fn words() {
        assert_eq!(Who::parse("pid:7").unwrap().unwrap(), Who::Process(7));
        assert_eq!(Who::parse("tid:8").unwrap().unwrap(), Who::Thread(8));
        assert!(Who::parse("pid:x").unwrap().unwrap_err().to_string().contains("pid:4711"));
        assert!(Who::parse("vector:cudaMalloc").is_none());
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
