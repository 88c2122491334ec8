//! The stacks that calls were made on: put together from their records piece by piece, and unwound when they are whole.

use super::open_call::{OpenCall, Shown};
use super::sink::Context;
use cutap_stacks::{Of, Raw, Stack};
use cutap_wire::stack::StackPiece;

/// A stack, and when it was copied.
#[derive(Debug, Clone)]
pub struct Copied {
    ticks: u64,
    raw: Raw,
}

/// Takes a piece of the stack of an open call.
pub fn piece(open: &mut OpenCall<Option<Box<Copied>>>, piece: &StackPiece<'_>, context: &mut Context<'_>) {
    if open.call.is_none() || open.shown == Shown::No || !context.shared.decode {
        return;
    }
    if let Some(registers) = piece.registers {
        open.data = Some(Box::new(Copied { ticks: piece.ticks, raw: Raw::new(registers) }));
    }
    let Some(copied) = &mut open.data else { return };
    let mut last = piece.piece + 1 >= piece.pieces;
    for fragment in piece.memory {
        copied.raw.add(fragment.address, fragment.bytes);
        // No more could be read.
        last |= (fragment.bytes.len() as u64) < u64::from(fragment.meant);
    }
    if last {
        ends(open, context);
    }
}

/// The call ends, or its stack is whole: no piece will follow, also if not all of them were written.
pub fn ends(open: &mut OpenCall<Option<Box<Copied>>>, context: &mut Context<'_>) {
    let (Some(copied), Some(call)) = (open.data.take(), &open.call) else { return };
    let inside = call.function.instance.is_some();
    let _ = call.stack.set(unwound(&copied, inside, context));
}

/// The frames of a stack; with `inside`, of a call that a runtime reports from inside.
fn unwound(copied: &Copied, inside: bool, context: &mut Context<'_>) -> Stack {
    let process = &mut *context.process;
    process.read_new_names();
    let of = Of { pid: process.dir.process.pid, began: process.dir.process.start_realtime_ns };
    process.names.stacks.unwind(&mut context.shared.files, &copied.raw, copied.ticks, of, inside)
}
