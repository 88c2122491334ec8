//! Frames of Python: the code objects of a process, and the lines of instructions in them. A stack may have native and
//! Python frames, in the order in which they called each other.

use crate::python_lines::line;
use crate::stacks::{End, Frame, Stack};
use cutap_wire::python::{Frame as Packed, PythonFrames};
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
        let mut codes = frames.words.iter().map(|word| Packed::of(word).code);
        codes.all(|code| code == 0 || self.codes.contains_key(&code))
    }

    /// The stack of a call, with the native frames of `native`.
    pub fn stack(&mut self, frames: &PythonFrames<'_>, native: Option<&Stack>) -> Stack {
        if self.frames.len() + self.stacks.len() > KEPT {
            self.frames.clear();
            self.stacks.clear();
        }
        let words: Box<[u64]> = frames.words.iter().collect();
        let end = if frames.has_more { End::NotCopied } else { End::Outermost };
        let Some(native) = native else {
            if let Some(known) = self.stacks.get(&words) {
                return Stack { frames: known.clone(), end };
            }
            let frames: Arc<[Frame]> = words.iter().map(|word| self.frame(*word)).collect();
            self.stacks.insert(words, frames.clone());
            return Stack { frames, end };
        };
        let python: Vec<(Frame, bool)> =
            words.iter().map(|word| (self.frame(*word), Packed::of(*word).is_last_of_evaluation)).collect();
        let end = if native.end == End::Outermost { native.end } else { end };
        Stack { frames: merged(&native.frames, python).into(), end }
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

    fn native(function: &str, object: &str) -> Frame {
        Frame {
            address: 1,
            object: Some(object.into()),
            offset: 1,
            function: Some((function.into(), None)),
            inlined: false,
            is_python: false,
            source: None,
        }
    }

    fn names(frames: &[Frame]) -> Vec<&str> {
        frames.iter().map(|frame| &*frame.function.as_ref().unwrap().0).collect()
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
