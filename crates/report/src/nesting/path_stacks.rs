//! Recorded stacks of the calls that a report groups by path: the first stack of each group, and how many others there
//! are. Only a run that keeps stacks is read for them, after the calls were added up.

use crate::format::label::Label;
use crate::nesting::open_calls::OpenCalls;
use crate::nesting::stacks::{Lines, is_of_python};
use cutap_trace::{Call, EventVisitor, Exit, Returned, Stack};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

/// Frames of a stack that are printed.
pub(crate) const FRAMES: usize = 6;
/// Of them frames of Python, if there are many native ones.
const PYTHON_FRAMES: usize = 3;
/// The largest number of groups.
const GROUPS: usize = 1 << 12;
/// The largest number of different stacks of a group that are counted.
const OTHERS: usize = 64;

/// The path of a call, and the word that its report groups it by.
type Key = (Vec<String>, String);

/// The stacks of the groups of a report.
pub struct PathStacks {
    open: OpenCalls,
    lines: Lines,
    /// The word of a call; none for calls that the report does not list.
    word: fn(&Exit) -> Option<String>,
    stacks: HashMap<Key, Vec<Arc<[String]>>>,
}

impl PathStacks {
    /// For the calls that have a word.
    pub fn new(word: fn(&Exit) -> Option<String>) -> PathStacks {
        PathStacks { open: OpenCalls::default(), lines: Lines::default(), word, stacks: HashMap::new() }
    }

    /// Whether any stack is known.
    pub fn is_empty(&self) -> bool {
        self.stacks.is_empty()
    }

    /// Different stacks of a group, the first one first.
    pub fn of(&self, path: &[String], word: &str) -> &[Arc<[String]>] {
        self.stacks.get(&(path.to_vec(), word.to_owned())).map_or(&[], |stacks| stacks)
    }

    /// Writes the first stack of a group below its other lines, with so many spaces before each.
    pub fn write(&self, path: &[String], word: &str, indent: usize, out: &mut dyn io::Write) -> io::Result<()> {
        let stacks = self.of(path, word);
        let Some(first) = stacks.first() else { return Ok(()) };
        write_frames(first, indent, out)?;
        match stacks.len() {
            1 => Ok(()),
            2 => writeln!(out, "{:indent$}and from 1 other place", ""),
            n => writeln!(out, "{:indent$}and from {} other places", "", n - 1),
        }
    }
}

/// Writes the first frames of a stack. Frames of Python behind many native ones are written in place of some of them.
pub(crate) fn write_frames(lines: &[String], indent: usize, out: &mut dyn io::Write) -> io::Result<()> {
    let python = lines.iter().position(|line| is_of_python(line)).filter(|first| *first >= FRAMES);
    let native_count = if python.is_some() { FRAMES - PYTHON_FRAMES } else { FRAMES };
    let mut write = |part: &[String], count: usize| {
        part.iter().take(count).try_for_each(|frame| writeln!(out, "{:indent$}{frame}", ""))?;
        match part.len().saturating_sub(count) {
            0 => Ok(()),
            1 => writeln!(out, "{:indent$}1 more frame", ""),
            n => writeln!(out, "{:indent$}{n} more frames", ""),
        }
    };
    let (native, python) = lines.split_at(python.unwrap_or(0));
    if native.is_empty() {
        return write(python, native_count);
    }
    write(native, native_count)?;
    write(python, PYTHON_FRAMES)
}

/// The names from the outermost open call to this one.
pub(crate) fn path_of(open: &OpenCalls, call: &Call) -> Vec<String> {
    let label = |call: &Call| Label::new(&call.function, call.instance().map(|i| &**i)).text();
    let outer_labels = open.open_calls(call.thread.key).filter(|c| !c.is_same_call(call)).map(&label);
    outer_labels.chain([label(call)]).collect()
}

/// The stack of a call, or of the innermost call around it that has one.
pub(crate) fn stack_of<'a>(open: &'a OpenCalls, call: &'a Call) -> Option<&'a Stack> {
    let outer_calls = open.open_calls(call.thread.key).rev();
    [call].into_iter().chain(outer_calls).find_map(Call::stack)
}

/// The name or number of an error.
pub(crate) fn error_word(exit: &Exit) -> Option<String> {
    match exit.returned()? {
        Returned::Status(status) if exit.is_error() => {
            Some(exit.status_name().map_or_else(|| status.to_string(), str::to_owned))
        }
        _ => None,
    }
}

impl EventVisitor for PathStacks {
    fn enter(&mut self, call: &Call) {
        self.open.enter(call);
    }

    fn exit(&mut self, exit: &Exit) {
        // The name of a range may be that of a function.
        if exit.call.function.range.is_some() {
            return;
        }
        let word = if exit.late { None } else { (self.word)(exit) };
        if let Some((word, stack)) = word.zip(stack_of(&self.open, &exit.call)) {
            let lines = self.lines.of(stack);
            let key = (path_of(&self.open, &exit.call), word);
            if self.stacks.len() < GROUPS || self.stacks.contains_key(&key) {
                let stacks = self.stacks.entry(key).or_default();
                if stacks.len() < OTHERS && !stacks.contains(&lines) {
                    stacks.push(lines);
                }
            }
        }
        self.open.exit(exit);
    }
}
