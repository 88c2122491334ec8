//! Frames of Python: the code objects of a process, and the lines of instructions in them. A stack may have native and
//! Python frames, in the order in which they called each other.

use crate::demangle;
use crate::python_lines::line;
use crate::stacks::{End, Frame, Stack};
use cutap_wire::python::{Frame as Packed, Node, PythonFrames};
use std::collections::HashMap;
use std::sync::Arc;

/// As the object of a frame.
pub const OBJECT: &str = "Python";
/// Of a code object whose name is not there.
const NAMELESS: &str = "?";
/// How the interpreter's function begins that evaluates frames.
const EVALUATES: &str = "_PyEval_EvalFrame";
/// Stacks and frames that are kept; beyond it all are looked up again.
const KEPT: usize = 1 << 18;

/// A code object.
#[derive(Debug, Clone)]
pub struct Code {
    /// The file, or a word for what has none: `<string>`.
    pub file: Arc<str>,
    pub function: Arc<str>,
    /// The first line.
    pub first: u32,
    /// See `cutap_wire::python::line_table`.
    pub form: u8,
}

/// The code objects of a process.
#[derive(Debug, Default)]
pub struct PythonCodes {
    codes: HashMap<u32, Code>,
    tables: HashMap<u32, Box<[u8]>>,
    frames: HashMap<u64, Frame>,
    stacks: HashMap<Box<[u64]>, Arc<[Frame]>>,
    /// Stacks to which nodes lead, and whether there are more frames.
    numbered_stacks: HashMap<u32, (Box<[u64]>, bool)>,
    /// Types of nodes.
    types: HashMap<u32, Arc<str>>,
    /// Each file and each function once.
    texts: HashMap<Box<str>, Arc<str>>,
}

impl PythonCodes {
    /// A code object has this name.
    pub fn code(&mut self, number: u32, code: Code) {
        self.codes.insert(number, code);
    }

    /// A code object has this table of lines.
    pub fn table(&mut self, number: u32, table: &[u8]) {
        self.tables.insert(number, table.into());
    }

    /// A stack to which nodes lead has these frames, a word each.
    pub fn numbered_stack(&mut self, number: u32, frames: &[u8], has_more: bool) {
        let words = frames.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        self.numbered_stacks.insert(number, (words, has_more));
    }

    /// A type of nodes has this mangled name.
    pub fn node_type(&mut self, number: u32, name: &str) {
        self.types.insert(number, demangle::class(name));
    }

    /// A text, kept once.
    pub fn text(&mut self, text: String) -> Arc<str> {
        if let Some(known) = self.texts.get(text.as_str()) {
            return known.clone();
        }
        let shared: Arc<str> = text.as_str().into();
        self.texts.insert(text.into(), shared.clone());
        shared
    }

    /// Whether all code objects of these frames have their names.
    pub fn are_named(&self, frames: &PythonFrames<'_>) -> bool {
        let is_named = |word: u64| {
            let code = Packed::of(word).code;
            code == 0 || self.codes.contains_key(&code)
        };
        let is_there = |number: u32| {
            let stack = self.numbered_stacks.get(&number);
            number == 0 || stack.is_some_and(|(words, _)| words.iter().all(|word| is_named(*word)))
        };
        let is_node = |node: Node| {
            let has_type = node.of_type == 0 || self.types.contains_key(&node.of_type);
            is_there(node.made_at) && is_there(node.began_at) && has_type
        };
        frames.node.is_none_or(is_node) && frames.words.iter().all(is_named)
    }

    /// The stack of a call, with the native frames of `native`.
    pub fn stack(&mut self, frames: &PythonFrames<'_>, native: Option<&Stack>) -> Stack {
        if self.frames.len() + self.stacks.len() > KEPT {
            self.frames.clear();
            self.stacks.clear();
        }
        let has_more = match frames.node.and_then(|node| self.numbered_stacks.get(&node.began_at)) {
            Some((_, has_more)) => *has_more,
            None => frames.has_more,
        };
        let end = if has_more { End::NotCopied } else { End::Outermost };
        let Some(native) = native else {
            let key = frames.words.iter().chain(frames.node.map(Node::pack).into_iter().flat_map(|node| [0, node]));
            let key: Box<[u64]> = key.collect();
            if let Some(known) = self.stacks.get(&key) {
                return Stack { frames: known.clone(), end };
            }
            let frames: Arc<[Frame]> = self.with_node(frames).into_iter().map(|(frame, _)| frame).collect();
            self.stacks.insert(key, frames.clone());
            return Stack { frames, end };
        };
        let python = self.with_node(frames);
        let end = if native.end == End::Outermost { native.end } else { end };
        Stack { frames: merged(&native.frames, python).into(), end }
    }

    /// The frames of a thread, each with whether C code called the interpreter for it. Where it runs a node: its own
    /// frames inside of that, those that made the node, and those that began the pass.
    fn with_node(&mut self, of: &PythonFrames<'_>) -> Vec<(Frame, bool)> {
        let own: Vec<u64> = of.words.iter().collect();
        let mut frames = Vec::new();
        let Some(node) = of.node else {
            self.add(&own, &mut frames);
            return frames;
        };
        let stack = |number| {
            self.numbered_stacks.get(&number).map_or_else(Vec::new, |(words, _): &(Box<[u64]>, _)| words.to_vec())
        };
        let (beginners, makers) = (stack(node.began_at), stack(node.made_at));
        // The thread that begins a pass runs a part of it.
        let inner = own.strip_suffix(&beginners[..]).unwrap_or(&own);
        self.add(inner, &mut frames);
        let name = self.types.get(&node.of_type).cloned().unwrap_or_else(|| NAMELESS.into());
        if makers.is_empty() {
            let frame = python_frame(0, self.text(format!("node {name}")), None);
            frames.push((Frame { node: Some(name.clone()), ..frame }, false));
        }
        for word in makers {
            let frame = self.frame(word);
            let function = frame.function.as_ref().map_or(NAMELESS, |(function, _)| function);
            let function = self.text(format!("backward of {function}"));
            frames.push((Frame { node: Some(name.clone()), function: Some((function, None)), ..frame }, false));
        }
        self.add(&beginners, &mut frames);
        frames
    }

    fn add(&mut self, words: &[u64], to: &mut Vec<(Frame, bool)>) {
        to.extend(words.iter().map(|word| (self.frame(*word), Packed::of(*word).is_last_of_evaluation)));
    }

    fn frame(&mut self, word: u64) -> Frame {
        if let Some(known) = self.frames.get(&word) {
            return known.clone();
        }
        let packed = Packed::of(word);
        let frame = match self.codes.get(&packed.code) {
            Some(code) => {
                let table = self.tables.get(&packed.code).map_or(&[][..], |table| table);
                let line = line(code.form, table, code.first, packed.offset).unwrap_or(code.first);
                python_frame(packed.offset, code.function.clone(), Some((code.file.clone(), line)))
            }
            None => python_frame(packed.offset, NAMELESS.into(), None),
        };
        self.frames.insert(word, frame.clone());
        frame
    }
}

fn python_frame(offset: u32, function: Arc<str>, source: Option<(Arc<str>, u32)>) -> Frame {
    let object: Arc<str> = OBJECT.into();
    Frame {
        address: 0,
        object: Some(object),
        offset: offset.into(),
        function: Some((function, None)),
        inlined: false,
        is_python: true,
        source,
        node: None,
    }
}

/// Puts Python frames into the place of the interpreter's own frames: each of its functions that evaluates frames has
/// as many as it evaluated.
fn merged(native: &[Frame], python: Vec<(Frame, bool)>) -> Vec<Frame> {
    let name = |frame: &Frame| frame.function.as_ref().map(|(name, _)| name.clone()).unwrap_or_default();
    let evaluates = |frame: &Frame| !frame.is_python && !frame.inlined && name(frame).starts_with(EVALUATES);
    let interpreter = native.iter().find(|frame| evaluates(frame)).and_then(|frame| frame.object.clone());
    let is_python_object = |object: &str| object.starts_with("libpython") || object.starts_with("python");
    let is_interpreters = |frame: &Frame| match (&interpreter, &frame.object) {
        (Some(of), Some(object)) => object == of,
        (None, Some(object)) => is_python_object(object),
        _ => false,
    };
    let (mut frames, mut python) = (Vec::new(), python.into_iter());
    let mut take = |frames: &mut Vec<Frame>| {
        for (frame, is_last) in python.by_ref() {
            frames.push(frame);
            if is_last {
                return true;
            }
        }
        false
    };
    for frame in native {
        let evaluated = match interpreter {
            Some(_) => evaluates(frame),
            // Without symbols all of them stand where the interpreter begins.
            None => is_interpreters(frame),
        };
        if evaluated {
            while take(&mut frames) && interpreter.is_none() {}
        } else if !is_interpreters(frame) {
            frames.push(frame.clone());
        }
    }
    while take(&mut frames) {}
    frames
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_wire::record::Words;

    fn native(function: &str, object: &str) -> Frame {
        Frame {
            address: 1,
            object: Some(object.into()),
            offset: 1,
            function: Some((function.into(), None)),
            inlined: false,
            is_python: false,
            source: None,
            node: None,
        }
    }

    fn names(frames: &[Frame]) -> Vec<&str> {
        frames.iter().map(|frame| &*frame.function.as_ref().unwrap().0).collect()
    }

    fn codes() -> PythonCodes {
        let mut codes = PythonCodes::default();
        for (number, function) in ["", "step", "forward", "backward"].into_iter().enumerate().skip(1) {
            let code = Code { file: "train.py".into(), function: function.into(), first: number as u32, form: 0 };
            codes.code(number as u32, code);
        }
        let bytes = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        codes.numbered_stack(1, &bytes(&[2, 1]), false);
        codes.numbered_stack(2, &bytes(&[1]), false);
        codes.node_type(1, "N5torch8autograd9generated11MmBackward0E");
        codes.node_type(2, "N5torch8autograd14AccumulateGradE");
        codes
    }

    #[test]
    fn nodes() {
        let mut codes = codes();
        let mut of = |own: &[u64], node: Node| {
            let bytes: Vec<u8> = own.iter().flat_map(|word| word.to_le_bytes()).collect();
            let frames = PythonFrames { number: 0, has_more: false, node: Some(node), words: Words::of(&bytes) };
            assert!(codes.are_named(&frames));
            let stack = codes.stack(&frames, None);
            let text = |frame: &Frame| {
                let node = frame.node.as_ref().map_or(String::new(), |node| format!(" {node}"));
                format!("{}{node}", frame.function.as_ref().unwrap().0)
            };
            stack.frames.iter().map(text).collect::<Vec<_>>().join(", ")
        };
        let known = Node { made_at: 1, began_at: 2, of_type: 1 };
        let made = "backward of forward MmBackward0, backward of step MmBackward0";
        assert_eq!(of(&[], known), format!("{made}, step"), "a thread of autograd");
        assert_eq!(of(&[1], known), format!("{made}, step"), "the thread that began the pass");
        assert_eq!(of(&[3], known), format!("backward, {made}, step"), "Python code of a node");
        assert_eq!(of(&[3, 1], known), format!("backward, {made}, step"), "the same in the thread that began it");
        let unknown = Node { made_at: 0, began_at: 2, of_type: 2 };
        assert_eq!(of(&[], unknown), "node AccumulateGrad AccumulateGrad, step");
        assert_eq!(of(&[], Node::default()), "node ? ?");
    }

    #[test]
    fn names_that_are_still_being_written() {
        let codes = codes();
        let is_named = |node| {
            let frames = PythonFrames { number: 0, has_more: false, node: Some(node), words: Words::of(&[]) };
            codes.are_named(&frames)
        };
        assert!(is_named(Node { made_at: 1, began_at: 2, of_type: 1 }));
        assert!(!is_named(Node { made_at: 3, began_at: 2, of_type: 1 }));
        assert!(!is_named(Node { made_at: 1, began_at: 3, of_type: 1 }));
        assert!(!is_named(Node { made_at: 1, began_at: 2, of_type: 3 }));
    }

    #[test]
    fn both_in_one_stack() {
        let stack = [
            native("ffi_call", "libffi.so"),
            native("_PyObject_Call", "libpython3.11.so.1.0"),
            native("_PyEval_EvalFrameDefault", "libpython3.11.so.1.0"),
            native("callback", "libother.so"),
            native("_PyEval_EvalFrameDefault", "libpython3.11.so.1.0"),
            native("Py_BytesMain", "libpython3.11.so.1.0"),
            native("main", "python3.11"),
        ];
        let frame = |name: &str, last: bool| (python_frame(0, name.into(), None), last);
        let python = vec![frame("a", false), frame("b", true), frame("c", true)];
        let wanted = ["ffi_call", "a", "b", "callback", "c", "main"];
        assert_eq!(names(&merged(&stack, python.clone())), wanted);
        // A stack that was cut, and one without symbols.
        assert_eq!(names(&merged(&stack[..2], python.clone())), ["ffi_call", "a", "b", "c"]);
        assert_eq!(names(&merged(&[], python)), ["a", "b", "c"]);
    }
}
