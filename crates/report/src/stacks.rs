//! The stack that a call was made on: a line a frame in the text, a list in JSON.

use cutap_printable::printable;
use cutap_trace::{Call, Frame, Stack, StackEnd};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

/// A frame: `at scale+0x1f scale.c:12 [libscale.so]`; where no symbol tells the function, `at libscale.so+0x11f2`.
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
        let _ = write!(to, " [{object}]");
    }
    if frame.inlined {
        to.push_str(" (inlined)");
    }
}

/// A frame's function, or where it is if no symbol tells.
pub(crate) fn frame_name(frame: &Frame) -> String {
    match (&frame.function, &frame.object) {
        (Some((name, _)), _) => name.to_string(),
        (None, Some(object)) => format!("{object}+{:#x}", frame.offset),
        (None, None) => format!("{:#x}", frame.address),
    }
}

/// What stands below the last frame; nothing below the first function of a thread.
pub(crate) fn end(stack: &Stack) -> Option<&'static str> {
    match stack.end {
        StackEnd::Outermost => None,
        StackEnd::NotCopied => Some("[stack truncated]"),
        StackEnd::Unknown => Some("[caller unknown]"),
    }
}

/// The lines of stacks that came before: calls of a loop share their list of frames.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// By where the list lies, which is kept so that no other comes to lie there.
    known: HashMap<(usize, StackEnd), ResolvedStack>,
}

/// A list of frames, and its lines.
type ResolvedStack = (Arc<[Frame]>, Arc<[String]>);

/// More are made anew.
const KEPT: usize = 1 << 12;

impl Lines {
    /// The lines of a stack.
    pub(crate) fn of(&mut self, stack: &Stack) -> Arc<[String]> {
        if self.known.len() > KEPT {
            self.known.clear();
        }
        let key = (stack.frames.as_ptr().addr(), stack.end);
        let known = self.known.entry(key).or_insert_with(|| (stack.frames.clone(), of_stack(stack).into()));
        known.1.clone()
    }
}

/// The frames of a call, a line each.
pub(crate) fn lines(call: &Call) -> Vec<String> {
    call.stack().map(of_stack).unwrap_or_default()
}

fn of_stack(stack: &Stack) -> Vec<String> {
    let (mut lines, mut frames) = (Vec::new(), &*stack.frames);
    while let Some(frame) = frames.first() {
        // A recursion is one line.
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
            "address": format!("{:#x}", f.address), "object": f.object.as_deref(), "offset": format!("{:#x}", f.offset),
            "function": f.function.as_ref().map(|f| &*f.0),
            "into": f.function.as_ref().and_then(|f| f.1),
            "inlined": f.inlined, "file": f.source.as_ref().map(|s| &*s.0), "line": f.source.as_ref().map(|s| s.1),
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

/// The last part of a source's path.
fn short(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
