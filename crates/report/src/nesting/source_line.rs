//! The line of the program that makes a call: the innermost one that is not of a library.

use cutap_printable::printable;
use cutap_trace::{End, Frame, Process, Stack};
use std::collections::HashMap;
use std::sync::Arc;

/// Folders of libraries of Python, and what is no file of the program.
const OF_LIBRARIES: [&str; 5] = ["/site-packages/", "/dist-packages/", "/lib/python3", "<frozen ", "/lib64/python3"];

/// A line of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceLine {
    pub file: Arc<str>,
    pub line: u32,
    pub function: String,
}

impl SourceLine {
    fn of(frame: &Frame) -> Option<SourceLine> {
        let (file, line) = frame.source.as_ref()?;
        let function = frame.function.as_ref().map_or_else(String::new, |(name, _)| name.to_string());
        Some(SourceLine { file: file.clone(), line: *line, function })
    }

    /// The file without its folders.
    pub fn file_name(&self) -> String {
        printable(self.file.rsplit('/').next().unwrap_or(&self.file)).to_string()
    }

    /// `train.py:71 step`.
    pub fn short(&self) -> String {
        format!("{}:{} {}", self.file_name(), self.line, self.function)
    }

    /// The same with the file's folders.
    pub fn long(&self) -> String {
        format!("{}:{} {}", printable(&self.file), self.line, self.function)
    }
}

/// Names of lines: a file has its folders only where another one of its name was there before.
#[derive(Debug, Default)]
pub(crate) struct LineNames(HashMap<String, Arc<str>>);

impl LineNames {
    pub fn name(&mut self, line: &SourceLine) -> String {
        let first = self.0.entry(line.file_name()).or_insert_with(|| line.file.clone());
        if *first == line.file { line.short() } else { line.long() }
    }
}

/// The flag of `record` that has the lines of a program.
pub(crate) fn flag_of(process: &Process) -> &'static str {
    let file = process.exe.rsplit('/').next().unwrap_or(&process.exe);
    if file.starts_with("python") { "--python" } else { "--stack" }
}

/// The flag that has the lines of the programs of a run.
pub(crate) fn flag_of_run(end: &End) -> &'static str {
    let mut flags = end.processes.all.iter().map(|process| flag_of(process));
    flags.find(|flag| *flag == "--python").unwrap_or("--stack")
}

/// Whether a file is one of a library, also of Python's standard library.
fn is_of_library(file: &str) -> bool {
    OF_LIBRARIES.iter().any(|part| file.contains(part))
}

/// The innermost frame of Python that is of the program, else the innermost one.
pub(crate) fn own_python(stack: &Stack) -> Option<&Frame> {
    let python = || stack.frames.iter().filter(|frame| frame.is_python && frame.source.is_some());
    let is_own = |frame: &&Frame| frame.source.as_ref().is_some_and(|(file, _)| !is_of_library(file));
    python().find(is_own).or_else(|| python().next())
}

/// The line of a stack: of Python the innermost one of the program, else the innermost one; without Python the
/// innermost that is known.
pub(crate) fn line_of(stack: &Stack) -> Option<SourceLine> {
    own_python(stack).or_else(|| stack.frames.iter().find(|frame| frame.source.is_some())).and_then(SourceLine::of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_trace::StackEnd;

    fn frame(file: &str, line: u32, is_python: bool) -> Frame {
        Frame {
            address: 0,
            object: None,
            offset: 0,
            function: Some(("f".into(), None)),
            inlined: false,
            is_python,
            source: Some((file.into(), line)),
        }
    }

    #[test]
    fn the_programs_own_line() {
        let line = |frames: Vec<Frame>| {
            line_of(&Stack { frames: frames.into(), end: StackEnd::Outermost }).map(|line| line.short())
        };
        let torch = "/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py";
        let frames = vec![frame("/src/a.cpp", 9, false), frame(torch, 7, true), frame("/home/me/train.py", 71, true)];
        assert_eq!(line(frames.clone()), Some("train.py:71 f".into()));
        assert_eq!(line(frames[..2].to_vec()), Some("linear.py:7 f".into()));
        assert_eq!(line(frames[..1].to_vec()), Some("a.cpp:9 f".into()));
        assert_eq!(line(Vec::new()), None);
    }
}
