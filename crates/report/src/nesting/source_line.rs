//! The line of the program that makes a call: the innermost one that is not of a library.

use cutap_printable::printable;
use cutap_trace::{End, Frame, Process, Stack};
use std::collections::HashMap;
use std::sync::Arc;

/// Folders of libraries of Python, and what is no file of the program.
const OF_LIBRARIES: [&str; 5] = ["/site-packages/", "/dist-packages/", "/lib/python3", "<frozen ", "/lib64/python3"];

/// A line of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    file: Arc<str>,
    line: u32,
    function: String,
}

/// What a thread of PyTorch's autograd runs.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Backward {
    /// The backward pass of a line: `backward of model.py:40 forward`.
    Of(Place),
    /// A node that no line is known of.
    Node(Arc<str>),
}

/// The line of the program that makes a call. In a backward pass it is the line that began the pass, and the one whose
/// gradients are computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceLine {
    place: Option<Place>,
    backward: Option<Backward>,
}

impl Place {
    fn of(frame: &Frame) -> Option<Place> {
        let (file, line) = frame.source.as_ref()?;
        let function = frame.function.as_ref().map_or_else(String::new, |(name, _)| name.to_string());
        Some(Place { file: file.clone(), line: *line, function })
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

impl SourceLine {
    /// `train.py:72 step, backward of model.py:40 forward`.
    pub fn short(&self) -> String {
        self.text(Place::short)
    }

    fn text(&self, mut name: impl FnMut(&Place) -> String) -> String {
        let place = self.place.as_ref().map(&mut name);
        match (place, &self.backward) {
            (place, None) => place.unwrap_or_default(),
            // The function of such a frame begins with the words.
            (place, Some(Backward::Of(of))) => {
                let function = of.function.strip_prefix(BACKWARD_OF).unwrap_or(&of.function).to_owned();
                let of = name(&Place { function, ..of.clone() });
                place.map_or_else(String::new, |place| format!("{place}, ")) + BACKWARD_OF + &of
            }
            (Some(place), Some(Backward::Node(node))) => format!("{place}, backward node {node}"),
            (None, Some(Backward::Node(node))) => format!("autograd thread, node {node}"),
        }
    }
}

/// How the function of a frame of [`Frame::node`] begins.
const BACKWARD_OF: &str = "backward of ";

/// Names of lines: a file has its folders only where another one of its name was there before.
#[derive(Debug, Default)]
pub(crate) struct LineNames(HashMap<String, Arc<str>>);

impl LineNames {
    pub fn name(&mut self, line: &SourceLine) -> String {
        line.text(|place| {
            let first = self.0.entry(place.file_name()).or_insert_with(|| place.file.clone());
            if *first == place.file { place.short() } else { place.long() }
        })
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

/// The innermost frame of Python that is of the program, else the innermost one. Frames that made a node do not run.
pub(crate) fn own_python(stack: &Stack) -> Option<&Frame> {
    innermost(stack, |frame| frame.node.is_none())
}

fn innermost(stack: &Stack, is_wanted: impl Fn(&Frame) -> bool) -> Option<&Frame> {
    let is_it = |frame: &&Frame| frame.is_python && frame.source.is_some() && is_wanted(frame);
    let python = || stack.frames.iter().filter(is_it);
    let is_own = |frame: &&Frame| frame.source.as_ref().is_some_and(|(file, _)| !is_of_library(file));
    python().find(is_own).or_else(|| python().next())
}

/// The line of a stack: of Python the innermost one of the program, else the innermost one; without Python the
/// innermost that is known.
pub(crate) fn line_of(stack: &Stack) -> Option<SourceLine> {
    let forward = || innermost(stack, |frame| frame.node.is_some()).and_then(Place::of).map(Backward::Of);
    let node = || stack.frames.iter().find_map(|frame| frame.node.clone()).map(Backward::Node);
    let backward = forward().or_else(node);
    let native = || stack.frames.iter().find(|frame| frame.source.is_some() && frame.node.is_none());
    // In a backward pass the native line is one of PyTorch's.
    let place = own_python(stack).or_else(|| if backward.is_none() { native() } else { None }).and_then(Place::of);
    (place.is_some() || backward.is_some()).then_some(SourceLine { place, backward })
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
            node: None,
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

    #[test]
    fn the_line_of_a_backward_pass() {
        let torch = "/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py";
        let maker = |file: &str, line: u32, function: &str| Frame {
            node: Some("MmBackward0".into()),
            function: Some((function.into(), None)),
            ..frame(file, line, true)
        };
        let node = Frame { source: None, ..maker("", 0, "node MmBackward0") };
        let nodes = [maker(torch, 7, "backward of linear"), maker("/home/me/model.py", 40, "backward of forward")];
        let began = frame("/home/me/train.py", 72, true);
        let native = frame("/src/engine.cpp", 9, false);
        let line = |frames: &[&Frame]| {
            let frames: Vec<Frame> = frames.iter().map(|frame| (*frame).clone()).collect();
            line_of(&Stack { frames: frames.into(), end: StackEnd::Outermost }).map(|line| line.short())
        };
        let both = line(&[&native, &nodes[0], &nodes[1], &began]);
        assert_eq!(both, Some("train.py:72 f, backward of model.py:40 forward".into()));
        assert_eq!(line(&[&native, &nodes[1]]), Some("backward of model.py:40 forward".into()));
        assert_eq!(line(&[&node, &began]), Some("train.py:72 f, backward node MmBackward0".into()));
        assert_eq!(line(&[&native, &node]), Some("autograd thread, node MmBackward0".into()));
    }
}
