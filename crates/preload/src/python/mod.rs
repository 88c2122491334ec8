//! The Python frames that a call was made from. A thread that is in a C call changes none of its frames, and frames
//! keep their code alive. So the chain is read without the interpreter's lock. On the way of a call only a number of
//! each code object and an instruction are written; names and lines go to the names stream once.
//!
//! Limits:
//! - A thread that runs several interpreters, or several greenlets, has the chain of the one that runs now.
//! - Frames of a thread whose interpreter ends meanwhile are not read: the end is looked for before each frame. If the
//!   thread is stopped in between, and another one frees the frame, it reads freed memory.
//! - The same holds for a thread that is stopped just before it asks for its state, if another one unloads Python's
//!   library.
//! - Another code object may come in the place of one, and differ only in the middle of a table of lines of more than
//!   128 bytes. Up to 15 of its calls get the old line.

pub mod backward;
mod codes;
mod frames;
mod interpreter;
mod memory;
mod nodes;
mod stacks;
mod wanted;

pub use nodes::close;
pub use wanted::{keeps_frames_of, may_fail, start};

use crate::process::{page, run};
use crate::ring::record;
use crate::ring::thread_state::ThreadState;
use crate::slots::frame::Frame;
use core::mem::MaybeUninit;
use cutap_wire::control::PYTHON;
use cutap_wire::diagnostic;
use cutap_wire::python::MOST_FRAMES;
use cutap_wire::record::kind;
use cutap_wire::stack;

/// Words of a record before a node and its frames: the first, and the one about them.
const HEAD: usize = 2;

/// The interceptor, on the way in, behind recording's.
pub fn before(frame: &mut Frame) {
    if frame.recorded != 0
        && let Some(thread_state) = record::ready()
    {
        keep(thread_state, frame.stack as usize, frame.number);
    }
}

/// Whether frames are kept in this run.
#[inline(always)]
pub fn is_on() -> bool {
    run::flags() & PYTHON != 0
}

/// Keeps the frames of a call that failed, where they were not kept before it. It is still open.
#[cold]
pub fn keep_of_failed(thread_state: &mut ThreadState, at: usize, number: u32, name: &[u8]) {
    if is_on() && wanted::keeps_failed() && may_fail(name) {
        keep(thread_state, at, number);
    }
}

/// Writes the frames of an open call. `at`: where on the stack it stands. A call inside one whose frames were written
/// has the same.
pub fn keep(thread_state: &mut ThreadState, at: usize, number: u32) {
    let last = thread_state.python;
    let is_kept = |thread_state: &ThreadState| {
        thread_state.open.iter().take(thread_state.depth).any(|call| call.number.wrapping_add(1) == last)
    };
    if last != 0 && is_kept(thread_state) {
        return;
    }
    let node = thread_state.nodes.innermost(at);
    let mut words = [MaybeUninit::<u64>::uninit(); MOST_FRAMES];
    let (count, has_more) = frames::read(&mut words).map_or((0, false), |read| (read.count, read.has_more));
    let words = words.get(..count).unwrap_or(&[]);
    if words.is_empty() && node == 0 {
        return;
    }
    let mut about = 1 << 16 | stack::PYTHON;
    if has_more {
        about |= stack::MORE_FRAMES;
    }
    let mut from = HEAD;
    if node != 0 {
        about |= stack::WITH_NODE;
        from += 1;
    }
    let length = (from + words.len()) as u32;
    // SAFETY: the record has that many words; the frames that are counted were written.
    let written = record::append_about_call_with(thread_state, at, kind::STACK, number, length, |to| unsafe {
        // One piece of one.
        to.word(1, about);
        if node != 0 {
            to.word(HEAD, node);
        }
        for (n, word) in words.iter().enumerate() {
            to.word(from + n, word.assume_init());
        }
    });
    match written {
        Some(()) => thread_state.python = number.wrapping_add(1),
        None => page::count(diagnostic::PYTHON_NOT_KEPT, 1),
    }
}

/// A forked child.
pub fn forked() {
    interpreter::forked();
}
