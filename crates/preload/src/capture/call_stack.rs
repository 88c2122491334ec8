//! The stack that a call was made on: the caller's registers, and the bytes from its stack pointer upwards, as far as
//! was asked and as they can be read. They go straight into the ring, in as many records as it takes: a thread's stack
//! may be small, and this one stands on it. Nothing is unwound here.

use crate::loader::loaded;
use crate::process::copy::Pages;
use crate::process::{page, run};
use crate::ring::record;
use crate::ring::thread_state::ThreadState;
use crate::slots::frame::Frame;
use crate::sys::arch::{Registers, saved_registers};
use core::sync::atomic::Ordering::Relaxed;
use cutap_wire::control::{self, STACK_OUTERMOST};
use cutap_wire::diagnostic;
use cutap_wire::record::{FRAGMENT_WORDS, MAX_WORDS, kind};
use cutap_wire::stack::{REGISTERS, WITH_REGISTERS};

/// Words of a record before its fragment: the first, and the one about the piece.
const HEAD: usize = 2;
/// Words that a record may have beside: its call's number, where that is too far back.
const SPARE: usize = 1;
/// Bytes of stack in the first record, and in each other.
const FIRST: usize = (MAX_WORDS as usize - HEAD - SPARE - REGISTERS - FRAGMENT_WORDS) * 8;
const OTHER: usize = (MAX_WORDS as usize - HEAD - SPARE - FRAGMENT_WORDS) * 8;

/// The interceptor, on the way in, behind recording's.
pub fn before(frame: &mut Frame) {
    if frame.recorded != 0
        && let Some(thread_state) = record::ready()
        && should_capture(thread_state)
    {
        let at = frame.stack as usize;
        // SAFETY: the frame begins with the caller's frame pointer, two words below its stack arguments.
        let frame_pointer = unsafe { frame.stack.sub(2).read() };
        let registers = saved_registers(at, frame.caller, frame_pointer);
        keep(thread_state, at, frame.number, &registers.in_record());
    }
}

/// The same for a call that a runtime reports; `registers` are those of the function that called us.
pub fn keep_of_callback(thread_state: &mut ThreadState, at: usize, number: u32, registers: &Registers) {
    if should_capture(thread_state) {
        keep(thread_state, at, number, &registers.in_record());
    }
}

/// A call was just recorded: is its stack to be kept?
fn should_capture(thread_state: &ThreadState) -> bool {
    run::flags() & STACK_OUTERMOST == 0 || thread_state.depth == 1
}

/// `at`: where on the stack the call stands.
fn keep(thread_state: &mut ThreadState, at: usize, number: u32, registers: &[u64; REGISTERS]) {
    loaded::list_new_objects();
    let [_, from, ..] = *registers;
    let (from, requested) = (from as usize, run::stack_bytes());
    let reach = thread_state.stack.with(from).reach(from);
    // Of a stack with an unknown end, as much as can be read.
    let whole = if reach == 0 { requested } else { requested.min(reach) } & !7;
    let pieces = 1 + whole.saturating_sub(FIRST).div_ceil(OTHER);
    let (mut copied, mut piece) = (0, 0);
    while piece < pieces {
        let (room, words) = if piece == 0 { (FIRST, HEAD + REGISTERS) } else { (OTHER, HEAD) };
        let len = room.min(whole - copied);
        let pages = Pages::new(from, &mut thread_state.stack);
        let about = piece as u64 | (pieces as u64) << 16;
        let length = words + FRAGMENT_WORDS + len.div_ceil(8);
        // SAFETY: the record has that many words, the last of which are the piece's; no byte of them is left as it was
        // before.
        let read = record::append_about_call_with(thread_state, at, kind::STACK, number, length as u32, |to| unsafe {
            let about = if piece == 0 { about | WITH_REGISTERS } else { about };
            to.word(1, about);
            for (n, register) in registers.iter().enumerate().take(words - HEAD) {
                to.word(HEAD + n, *register);
            }
            let place = words + FRAGMENT_WORDS;
            to.word(length - 1, 0);
            let read = pages.copy(from + copied, to.at.add(place).cast(), len);
            to.word(words, (from + copied) as u64);
            to.word(words + 1, read as u64 | (len as u64) << 32);
            read
        });
        match read {
            None => return page::count(diagnostic::STACK_NOT_KEPT, 1),
            Some(0) if piece == 0 => return page::count(diagnostic::STACK_NOT_READ, 1),
            // The stack ends here, and what is behind is not there.
            Some(read) if read < len => return,
            Some(_) => {}
        }
        copied += len;
        piece += 1;
    }
}

/// The interceptor's bit is set for functions that these want.
pub fn captures_stack_of(layer: u8, library: &[u8], name: &[u8]) -> bool {
    run::stack_bytes() != 0
        && run::control().is_some_and(|c: &control::Control| {
            c.flags.load(Relaxed) & STACK_OUTERMOST != 0
                || cutap_calls::filter::is_shown(run::stack_rules(c), layer, library, name)
        })
}
