//! Stacks as their records come: put together piece by piece, unwound when they are whole.

use super::call_stack::{self, Copied, Open, Shown};
use super::shared::Shared;
use crate::symbols::process::ProcessSymbols;
use cutap_stacks::{Of, Raw, Stack};
use cutap_wire::stack::StackPiece;

/// Takes a piece of the stack of an open call.
pub fn piece(stack: &mut call_stack::Stack, piece: &StackPiece<'_>, folder: &mut ProcessSymbols, shared: &mut Shared) {
    let Some(open) = stack.find_mut(piece.number) else { return };
    if open.call.is_none() || open.shown == Shown::No || !shared.decode {
        return;
    }
    if let Some(registers) = piece.registers {
        open.raw = Some(Box::new(Copied { ticks: piece.ticks, raw: Raw::new(registers) }));
    }
    let Some(copied) = &mut open.raw else { return };
    let mut last = piece.piece + 1 >= piece.pieces;
    for fragment in piece.memory {
        copied.raw.add(fragment.address, fragment.bytes);
        // No more could be read.
        last |= (fragment.bytes.len() as u64) < u64::from(fragment.meant);
    }
    if last {
        whole(open, folder, shared);
    }
}

/// Call `number` ends: no piece of its stack will follow, also if not all of them were written.
pub fn ends(stack: &mut call_stack::Stack, number: u32, folder: &mut ProcessSymbols, shared: &mut Shared) {
    if let Some(open) = stack.find_mut(number).filter(|open| open.raw.is_some()) {
        whole(open, folder, shared);
    }
}

fn whole(open: &mut Open, folder: &mut ProcessSymbols, shared: &mut Shared) {
    let (Some(copied), Some(call)) = (open.raw.take(), &open.call) else { return };
    let inside = call.function.instance.is_some();
    let _ = call.stack.set(unwound(&copied, inside, folder, shared));
}

/// The frames of a stack; with `inside`, of a call that a runtime reports from inside.
pub fn unwound(copied: &Copied, inside: bool, folder: &mut ProcessSymbols, shared: &mut Shared) -> Stack {
    folder.read_new_names();
    let of = Of { pid: folder.dir.process.pid, began: folder.dir.process.start_realtime_ns };
    folder.names.stacks.unwind(&mut shared.files, &copied.raw, copied.ticks, of, inside)
}
