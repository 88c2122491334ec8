//! The stack that a call was made on: a line a frame in the text, a list in JSON.

use cutap_trace::{Call, Frame, Stack, StackEnd};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// A frame: `at scale+0x1f scale.c:12 [libscale.so]`; where no symbol tells the function, `at libscale.so+0x11f2`.
pub(crate) fn write_frame(frame: &Frame, to: &mut String) {
    to.push_str("at ");
    to.push_str(&frame_name(frame));
    if let Some((_, Some(into))) = frame.function {
        let _ = write!(to, "+{into:#x}");
    }
    if let Some((file, line)) = &frame.source {
        let _ = write!(to, " {}:{line}", short(file));
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
        StackEnd::NotCopied => Some("[stack continues]"),
        StackEnd::Unknown => Some("[caller unknown]"),
    }
}

/// The frames of a call, a line each.
pub(crate) fn lines(call: &Call) -> Vec<String> {
    let Some(stack) = call.stack() else { return Vec::new() };
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

/// The same as a list; with how it ends.
pub(crate) fn stack_json(call: &Call) -> Option<(Vec<Value>, &'static str)> {
    let stack = call.stack()?;
    let frame = |f: &Frame| {
        json!({
            "address": format!("{:#x}", f.address), "object": f.object.as_deref(), "offset": format!("{:#x}", f.offset),
            "function": f.function.as_ref().map(|f| &*f.0),
            "into": f.function.as_ref().and_then(|f| f.1),
            "inlined": f.inlined, "file": f.source.as_ref().map(|s| &*s.0), "line": f.source.as_ref().map(|s| s.1),
        })
    };
    let end = match stack.end {
        StackEnd::Outermost => "whole",
        StackEnd::NotCopied => "continues",
        StackEnd::Unknown => "unknown",
    };
    Some((stack.frames.iter().map(frame).collect(), end))
}

/// The last part of a source's path.
fn short(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
