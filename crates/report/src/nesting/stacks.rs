//! The stack of a call: lines below the call in text, a list in JSON, lines in exports.

use cutap_printable::printable;
use cutap_trace::{Call, Frame, Stack, StackEnd};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

/// Writes a frame: `at scale+0x1f scale.c:12 [libscale.so]`, or `at libscale.so+0x11f2` without a symbol.
pub(crate) fn write_frame(frame: &Frame, to: &mut String) {
    to.push_str("at ");
    to.push_str(&frame_name(frame));
    if let Some((_, Some(into))) = frame.function {
        let _ = write!(to, "+{into:#x}");
    }
    if let Some((file, line)) = &frame.source {
        let _ = write!(to, " {}:{line}", printable(short(file)));
    }
    if let (Some(_), Some(object)) = (&frame.function, &frame.object) {
        let _ = match (has_no_file(frame), &frame.node, &frame.source) {
            (true, ..) => write!(to, " [{object}, no file]"),
            (_, Some(node), Some(_)) => write!(to, " [{object}, {node}]"),
            _ => write!(to, " [{object}]"),
        };
    }
    if frame.inlined {
        to.push_str(" (inlined)");
    }
}

/// Whether the code of a frame of Python was made while the program ran, as by `exec`: its file is `<string>`.
fn has_no_file(frame: &Frame) -> bool {
    frame.is_python && frame.source.as_ref().is_some_and(|(file, _)| file.starts_with('<'))
}

/// Whether the line of a frame is that of a frame of Python.
pub(crate) fn is_of_python(line: &str) -> bool {
    line.contains(" [Python]") || line.contains(" [Python, ")
}

/// The function of a frame, or its place in the object if it has no symbol.
pub(crate) fn frame_name(frame: &Frame) -> String {
    match (&frame.function, &frame.object) {
        (Some((name, _)), _) => name.to_string(),
        (None, Some(object)) => format!("{object}+{:#x}", frame.offset),
        (None, None) => format!("{:#x}", frame.address),
    }
}

/// The place of a frame in the program's source, or in a function; none without a symbol.
pub(crate) fn place(frame: &Frame) -> Option<String> {
    let (name, into) = frame.function.as_ref()?;
    Some(match (&frame.source, into) {
        (Some((file, line)), _) => format!("{name} {}:{line}", printable(short(file))),
        (None, Some(into)) => format!("{name}+{into:#x}"),
        (None, None) => name.to_string(),
    })
}

/// The line below the last frame; none below the first function of a thread.
pub(crate) fn end(stack: &Stack) -> Option<&'static str> {
    match stack.end {
        StackEnd::Outermost => None,
        StackEnd::NotCopied => Some("[stack truncated]"),
        StackEnd::Unknown => Some("[caller unknown]"),
    }
}

/// A cache of lines. Calls in a loop share their list of frames.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// By the address of the list. The list is kept, so its address stays unique.
    resolved: HashMap<(usize, StackEnd), ResolvedStack>,
}

/// A list of frames, and its lines.
type ResolvedStack = (Arc<[Frame]>, Arc<[String]>);

/// The largest number of cached stacks.
const KEPT: usize = 1 << 12;

impl Lines {
    /// The lines of a stack.
    pub(crate) fn of(&mut self, stack: &Stack) -> Arc<[String]> {
        if self.resolved.len() > KEPT {
            self.resolved.clear();
        }
        let key = (stack.frames.as_ptr().addr(), stack.end);
        let entry = self.resolved.entry(key).or_insert_with(|| (stack.frames.clone(), of_stack(stack).into()));
        entry.1.clone()
    }
}

/// One line for each frame of a call.
pub(crate) fn lines(call: &Call) -> Vec<String> {
    call.stack().map(of_stack).unwrap_or_default()
}

/// What runs before `main` in each program, which tells nothing.
const BEFORE_MAIN: [&str; 4] = ["__libc_start_main", "__libc_start_call_main", "__libc_start_main_impl", "_start"];

/// Whether a frame is of the code that the C library and the compiler run before `main`.
pub(crate) fn is_before_main(frame: &Frame) -> bool {
    let name = frame.function.as_ref().map_or("", |(name, _)| name);
    BEFORE_MAIN.contains(&name.split('@').next().unwrap_or(name))
}

/// The frames without those before `main`.
pub(crate) fn shown_frames(frames: &[Frame]) -> &[Frame] {
    let count = frames.iter().rposition(|frame| !is_before_main(frame)).map_or(0, |last| last + 1);
    // A stack of nothing else is shown.
    if count == 0 { frames } else { &frames[..count] }
}

fn of_stack(stack: &Stack) -> Vec<String> {
    let (mut lines, mut frames) = (Vec::new(), shown_frames(&stack.frames));
    while let Some(frame) = frames.first() {
        // Equal frames of a recursion share a line.
        let same = frames.iter().take_while(|f| *f == frame).count();
        let mut line = String::new();
        write_frame(frame, &mut line);
        if same > 1 {
            let _ = write!(line, " x{same}");
        }
        lines.push(line);
        frames = &frames[same..];
    }
    lines.extend(end(stack).map(str::to_owned));
    lines
}

/// The frames of a call as JSON.
pub(crate) fn stack_json(call: &Call) -> Option<Vec<Value>> {
    let frame = |f: &Frame| {
        json!({
            "address": (!f.is_python).then(|| format!("{:#x}", f.address)), "object": f.object.as_deref(),
            "offset": format!("{:#x}", f.offset),
            "function": f.function.as_ref().map(|f| &*f.0),
            "into": f.function.as_ref().and_then(|f| f.1),
            "inlined": f.inlined, "file": f.source.as_ref().map(|s| &*s.0), "line": f.source.as_ref().map(|s| s.1),
            "node": f.node.as_deref(),
        })
    };
    Some(call.stack()?.frames.iter().map(frame).collect())
}

/// How the list of frames ends, in JSON.
pub(crate) fn end_word(call: &Call) -> Option<&'static str> {
    Some(match call.stack()?.end {
        StackEnd::Outermost => "whole",
        StackEnd::NotCopied => "truncated",
        StackEnd::Unknown => "unknown",
    })
}

/// The file name of a path.
fn short(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
