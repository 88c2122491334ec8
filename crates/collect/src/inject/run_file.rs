//! The file of a run while it is read or changed from outside.

use cutap_trace::RunPath;
use cutap_wire::injected::{Armed, COUNTERS, Counter, FILE, Head, MAGIC, ROWS, Row, part, text};
use std::mem::offset_of;
use std::path::Path;

/// The bytes of the file at one moment.
pub struct RunFile(Vec<u8>);

/// The counts of a rule.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    pub matched: u64,
    pub acted: u64,
    pub refused: u64,
}

/// A rule as the run has it.
pub struct RunRule {
    pub text: String,
    pub counts: Counts,
}

impl RunFile {
    /// None where there is no such file, or one of another version.
    pub fn read(run: &Path) -> Option<RunFile> {
        const MOST: usize = 64 << 20;
        let bytes = RunPath::open(run).and_then(|run| run.join(FILE).read(MOST)).ok()?;
        RunFile::of(bytes)
    }

    /// Of these bytes.
    pub fn of(bytes: Vec<u8>) -> Option<RunFile> {
        let file = RunFile(bytes);
        let is_ours = file.word(offset_of!(Head, magic)) == Some(MAGIC)
            && file.half(offset_of!(Head, version)) == Some(cutap_wire::VERSION)
            && file.0.len() >= part::CLASSES;
        is_ours.then_some(file)
    }

    pub fn word(&self, at: usize) -> Option<u64> {
        Some(u64::from_ne_bytes(self.0.get(at..at + 8)?.try_into().ok()?))
    }

    pub fn half(&self, at: usize) -> Option<u32> {
        Some(u32::from_ne_bytes(self.0.get(at..at + 4)?.try_into().ok()?))
    }

    /// Text of so many bytes at most.
    pub fn text(&self, at: usize, bytes: usize) -> String {
        String::from_utf8_lossy(text(self.0.get(at..at + bytes).unwrap_or_default())).into_owned()
    }

    /// Pattern and layers of each armed pattern.
    pub fn armed(&self) -> Vec<(String, u32)> {
        let count = self.half(offset_of!(Head, armed)).map_or(0, |count| count as usize).min(ROWS);
        let of = |n: usize| {
            let at = part::ARMED + n * size_of::<Armed>();
            let layers = self.half(at + offset_of!(Armed, layers)).unwrap_or(0);
            (self.text(at + offset_of!(Armed, name), cutap_wire::injected::NAME), layers)
        };
        (0..count).map(of).collect()
    }

    /// The rules that hold, in their order.
    pub fn rules(&self) -> Vec<RunRule> {
        let bank = (self.word(offset_of!(Head, generation)).unwrap_or(0) & 1) as usize;
        let count = self.half(offset_of!(Head, rows) + bank * 4).map_or(0, |count| count as usize).min(ROWS);
        let (mut rules, mut last) = (Vec::new(), None);
        for n in 0..count {
            let at = part::BANKS + (bank * ROWS + n) * size_of::<Row>();
            let counter = self.half(at + offset_of!(Row, counter)).map_or(0, |counter| counter as usize);
            if last != Some(counter) && counter < COUNTERS {
                let text = self.text(at + offset_of!(Row, text), cutap_wire::injected::TEXT);
                rules.push(RunRule { text, counts: self.counts(counter) });
            }
            last = Some(counter);
        }
        rules
    }

    fn counts(&self, counter: usize) -> Counts {
        let at = part::COUNTERS + counter * size_of::<Counter>();
        let word = |offset| self.word(at + offset).unwrap_or(0);
        Counts {
            matched: word(offset_of!(Counter, matched)),
            acted: word(offset_of!(Counter, acted)),
            refused: word(offset_of!(Counter, refused)),
        }
    }
}
