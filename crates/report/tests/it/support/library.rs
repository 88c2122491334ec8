//! Calls of toolkit libraries, read with the real tables.

use cutap_calls::Layer;
use cutap_report::{Output, Text};
use cutap_trace::synthetic::{Process, Run, Thread};
use cutap_trace::{EventReader, Filter, ReaderOptions};
use std::path::Path;

/// Calls of one library.
pub struct Library {
    thread: Thread,
    process: Process,
    slots: u32,
}

impl Library {
    fn new(run: &Run, soname: &str) -> Library {
        let mut process = run.process(100, "/bin/prog");
        process.driver(&[]);
        process.library(3, Layer::LIBRARY.number(), soname, 20, &[]);
        Library { thread: process.thread(100, 8), process, slots: 20 }
    }

    /// A call with these words in integer registers, the rest on the stack.
    pub fn call(&mut self, name: &str, words: &[u64], before: &[(u64, &[u8])], after: &[(u64, &[u8])]) {
        self.call_with(words.len().min(6), name, words, before, after);
    }

    /// The same with so many of them in integer registers.
    pub fn call_with(
        &mut self,
        registers: usize,
        name: &str,
        words: &[u64],
        before: &[(u64, &[u8])],
        after: &[(u64, &[u8])],
    ) {
        self.process.slot(self.slots.into(), 3, (registers as u8, 0, (words.len() - registers) as u8), name);
        self.thread.call_with(self.slots, words, before, 0, after);
        self.slots += 1;
    }
}

/// What is printed of the calls, without the library's name.
/// Handles appear here from nowhere, and that is said elsewhere.
pub fn lines(soname: &str, calls: impl FnOnce(&mut Library)) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    calls(&mut Library::new(&run, soname));
    let text = shown(folder.path());
    let own = text.lines().filter_map(|l| l.strip_prefix(&format!("[{soname}] ")));
    own.map(|l| l.strip_suffix(" <1us>").unwrap_or(l).replace(" [not seen created]", "")).collect()
}

pub fn shown(run: &Path) -> String {
    let mut output = Text::new(Vec::new(), false);
    let mut follow = EventReader::open(run, ReaderOptions::default()).unwrap();
    follow.poll(true, &mut |e| output.event(e).unwrap()).unwrap();
    output.end(&follow.end()).unwrap();
    String::from_utf8(output.get_ref().clone()).unwrap()
}

pub fn bytes<const N: usize>(all: &[[u8; N]]) -> Vec<u8> {
    all.iter().flatten().copied().collect()
}

/// The lines under a filter.
pub fn filtered(run: &Path, filter: &str) -> Vec<String> {
    let mut output = Text::new(Vec::new(), false);
    let filter = if filter.is_empty() { Filter::default() } else { Filter::parse(filter).unwrap() };
    let options = ReaderOptions { filter, ..ReaderOptions::default() };
    EventReader::open(run, options).unwrap().poll(true, &mut |e| output.event(e).unwrap()).unwrap();
    String::from_utf8(output.get_ref().clone()).unwrap().lines().map(str::to_owned).collect()
}
