//! The host stacks of calls: put together from their records piece by piece, and unwound when they are whole.

use super::open_call::{OpenCall, Visibility};
use super::sink::Context;
use cutap_stacks::{Of, Raw, Stack};
use cutap_wire::python::PythonFrames;
use cutap_wire::stack::StackPiece;
use std::sync::Arc;

/// A stack, and when it was copied.
#[derive(Debug, Clone)]
pub struct CopiedStack {
    ticks: u64,
    raw: Raw,
}

/// What the queue of events keeps of an open call.
#[derive(Debug, Clone, Default)]
pub struct QueuedCall {
    /// Its stack as far as it was copied, until it is unwound.
    pub copied: Option<Box<CopiedStack>>,
    /// Number of the event with which it began, if there is one.
    pub enter: Option<u64>,
}

/// Takes a piece of the stack of an open call. True when the stack is known now.
pub fn add_piece(open: &mut OpenCall<QueuedCall>, piece: &StackPiece<'_>, context: &mut Context<'_>) -> bool {
    if open.call.is_none() || open.visibility == Visibility::Hidden || !context.shared.decode {
        return false;
    }
    if let Some(registers) = piece.registers {
        open.data.copied = Some(Box::new(CopiedStack { ticks: piece.ticks, raw: Raw::new(registers) }));
    }
    let Some(copied) = &mut open.data.copied else { return false };
    let mut last = piece.piece + 1 >= piece.pieces;
    for fragment in piece.memory {
        copied.raw.add(fragment.address, fragment.bytes);
        // No more could be read.
        last |= (fragment.bytes.len() as u64) < u64::from(fragment.full_length);
    }
    last && finish_stack(open, context)
}

/// The call ends, or its stack is whole: no piece will follow, also if not all of them were written.
/// True when the stack is known now.
pub fn finish_stack(open: &mut OpenCall<QueuedCall>, context: &mut Context<'_>) -> bool {
    let (Some(copied), Some(call)) = (open.data.copied.take(), &mut open.call) else { return false };
    let inside = call.function.instance.is_some();
    let stack = unwind(&copied, inside, context);
    if call.stack().is_some() {
        return false;
    }
    call.rare_mut().stack = Some(Arc::new(stack));
    true
}

/// Takes the Python frames of an open call. True when the stack is known now.
pub fn add_python(open: &mut OpenCall<QueuedCall>, frames: &PythonFrames<'_>, context: &mut Context<'_>) -> bool {
    if open.visibility == Visibility::Hidden || !context.shared.decode {
        return false;
    }
    finish_stack(open, context);
    let Some(call) = &mut open.call else { return false };
    let process = &mut *context.process;
    if !process.names.python.are_named(frames) {
        process.read_new_names();
    }
    let native = call.stack().filter(|stack| stack.frames.iter().all(|frame| !frame.is_python));
    let stack = process.names.python.stack(frames, native);
    call.rare_mut().stack = Some(Arc::new(stack));
    true
}

/// The frames of a stack; with `inside`, of a call that a runtime reports from inside.
fn unwind(copied: &CopiedStack, inside: bool, context: &mut Context<'_>) -> Stack {
    let process = &mut *context.process;
    process.read_new_names();
    let of = Of { pid: process.dir.process.pid, start_unix_ns: process.dir.process.start_realtime_ns };
    process.names.stacks.unwind(&mut context.shared.files, &copied.raw, copied.ticks, of, inside)
}
