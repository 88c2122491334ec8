//! Calls of the driver and the runtime, read with the real tables.

use crate::support::library::shown;
use cutap_trace::synthetic::{Process, Run, Thread};
use tempfile::TempDir;

/// Calls of the driver and of a runtime.
pub struct Calls {
    pub process: Process,
    pub thread: Thread,
    pub slots: u32,
}

impl Calls {
    /// A call of the driver with these words, the first six in registers.
    pub fn driver(&mut self, name: &str, words: &[u64], before: &[(u64, &[u8])], after: &[(u64, &[u8])]) {
        let registers = words.len().min(6);
        let shape = (registers as u8, 0, (words.len() - registers) as u8);
        self.process.slot(self.slots.into(), 1, shape, name);
        self.call(words, before, after);
    }

    /// A call of the runtime, in words of its parameter block.
    pub fn runtime(&mut self, name: &str, words: &[u64], before: &[(u64, &[u8])], after: &[(u64, &[u8])]) {
        self.process.runtime_slot(self.slots.into(), 2, words.len() as u64, name);
        self.call(words, before, after);
    }

    fn call(&mut self, words: &[u64], before: &[(u64, &[u8])], after: &[(u64, &[u8])]) {
        self.thread.call_with(self.slots, words, before, 0, after);
        self.slots += 1;
    }
}

/// What is printed of the calls.
pub fn of(calls: impl FnOnce(&mut Calls)) -> Vec<String> {
    of_version(12090, calls)
}

/// The folder of a run with these calls, and a runtime of this version.
pub fn run(version: u64, calls: impl FnOnce(&mut Calls)) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&[]);
    process.runtime(2, "prog", version, 10, &[]);
    let thread = process.thread(100, 8);
    let mut all = Calls { process, thread, slots: 20 };
    calls(&mut all);
    drop(all);
    folder
}

/// The same with a runtime of this version.
pub fn of_version(version: u64, calls: impl FnOnce(&mut Calls)) -> Vec<String> {
    let text = shown(run(version, calls).path());
    text.lines().map(|l| l.strip_suffix(" <1us>").unwrap_or(l).to_owned()).collect()
}

/// Some word as memory.
pub fn word(n: u64) -> [u8; 8] {
    n.to_le_bytes()
}

/// The part of each line that names a parameter, up to the next one.
pub fn params(lines: &[String], name: &str) -> Vec<String> {
    let of = |l: &String| {
        let at = l.find(&format!("{name}="))? + name.len() + 1;
        let rest = &l[at..];
        // A place has commas in it.
        let inner = rest.find('[').filter(|b| rest.find(", ").is_none_or(|c| *b < c));
        let end = inner.and_then(|b| rest[b..].find(']').map(|e| b + e + 1)).or(rest.find(", ")).or(rest.find(')'))?;
        Some(rest[..end].to_owned())
    };
    lines.iter().filter_map(of).collect()
}
