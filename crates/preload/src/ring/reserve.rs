//! Room for a record in this thread's ring: taking it, and what to do about records that signal handlers interrupted or
//! left in the middle. It must never wait but where `chunks::next_chunk` does, and never write where a handler may have
//! written.

use super::chunks;
use super::thread_state::{ONE_STACK, ThreadState};
use crate::process::clock;
use crate::sys;
use core::sync::atomic::{AtomicU64, Ordering::*};
use cutap_wire::record::{COMMITTED, META_MAX, first_word, kind};
use cutap_wire::ring::{NotReserved, Reserved};

/// A record that has its room and not yet its words.
pub struct Pending {
    /// Where its words go.
    pub reserved: Reserved,
    first: u64,
    /// The record in whose middle a signal came, if this one is the handler's.
    outer: (*mut u64, usize),
}

/// Enter records so far.
#[inline(always)]
pub fn calls(thread_state: &ThreadState) -> u32 {
    if thread_state.writer.chunk.is_null() {
        return 0;
    }
    // SAFETY: the current chunk is mapped.
    unsafe { (thread_state.writer.head() >> 32) as u32 }
}

/// Takes room for a record and the time for it. `at` is where on the stack the call stands that it is about; `meta`
/// gets the number of enter records before it.
#[inline(always)]
pub fn reserve(
    thread_state: &mut ThreadState,
    at: usize,
    kind: u8,
    words: u32,
    meta: impl Fn(u32) -> u32,
) -> Option<Pending> {
    if thread_state.writing.0.is_null() && !thread_state.writer.chunk.is_null() {
        // SAFETY: the current chunk is mapped; this thread owns the ring.
        unsafe {
            let head = thread_state.writer.head();
            let now = clock::ticks();
            let first = first_word(kind, words, meta((head >> 32) as u32), now as u32);
            if now.wrapping_sub(thread_state.writer.last) < NEAR_TICKS
                && let Ok(reserved) = thread_state.writer.reserve(head, words, first, kind == kind::ENTER)
            {
                thread_state.writer.last = now;
                thread_state.writing = (reserved.at.cast(), at);
                return Some(Pending { reserved, first, outer: (core::ptr::null_mut(), 0) });
            }
        }
    }
    // Rare: not one of the reasons to come here is met once in a thousand calls.
    reserve_anyhow(thread_state, at, kind, words, &meta)
}

/// Writes a record whole, where all is as usual: nothing interrupted, room, no other record due. False: nothing is
/// written.
#[inline(always)]
pub fn put<const N: usize>(
    thread_state: &mut ThreadState,
    at: usize,
    kind: u8,
    meta: impl Fn(u32) -> Option<u32>,
    second: u64,
    rest: [&[u64]; N],
) -> bool {
    if !thread_state.writing.0.is_null() || thread_state.writer.chunk.is_null() {
        return false;
    }
    // SAFETY: the current chunk is mapped; this thread owns the ring.
    unsafe {
        let head = thread_state.writer.head();
        let Some(meta) = meta((head >> 32) as u32) else { return false };
        let words = 2 + rest.iter().map(|part| part.len() as u32).sum::<u32>();
        // A note has no time of its own.
        let now = if kind == kind::NOTE { thread_state.writer.last } else { clock::ticks() };
        if now.wrapping_sub(thread_state.writer.last) >= NEAR_TICKS {
            return false;
        }
        let first = first_word(kind, words, meta, now as u32);
        let Ok(reserved) = thread_state.writer.reserve(head, words, first, kind == kind::ENTER) else { return false };
        thread_state.writer.last = now;
        thread_state.writing = (reserved.at.cast(), at);
        reserved.word(1, second);
        let mut n = 2;
        for part in rest {
            for &word in part {
                reserved.word(n, word);
                n += 1;
            }
        }
        reserved.commit(first);
    }
    thread_state.writing.0 = core::ptr::null_mut();
    true
}

/// Ticks to the record before, beyond which a record of the whole time must stand between them.
const NEAR_TICKS: u64 = 1 << 31;

#[cold]
fn reserve_anyhow(
    thread_state: &mut ThreadState,
    at: usize,
    kind: u8,
    words: u32,
    meta: &dyn Fn(u32) -> u32,
) -> Option<Pending> {
    abandoned(thread_state, at);
    let requested_kind = kind;
    loop {
        if thread_state.writer.chunk.is_null() && !chunks::next_chunk(thread_state, kind, words) {
            return None;
        }
        // SAFETY: the current chunk is mapped; this thread owns the ring.
        unsafe {
            let head = thread_state.writer.head();
            let now = clock::ticks();
            let far = now.wrapping_sub(thread_state.writer.last) >= NEAR_TICKS;
            let (kind, words, meta) = if far { (kind::TIME, 2, 0) } else { (kind, words, meta((head >> 32) as u32)) };
            let first = first_word(kind, words, meta, now as u32);
            match thread_state.writer.reserve(head, words, first, kind == kind::ENTER) {
                Ok(r) if far => {
                    r.word(1, now);
                    r.commit(first);
                    thread_state.writer.last = now;
                }
                Ok(r) => {
                    thread_state.writer.last = now;
                    let outer = core::mem::replace(&mut thread_state.writing, (r.at.cast(), at));
                    return Some(Pending { reserved: r, first, outer });
                }
                Err(NotReserved::Raced) => {}
                Err(NotReserved::Full) => {
                    if !chunks::next_chunk(thread_state, requested_kind, words) {
                        return None;
                    }
                }
            }
        }
    }
}

/// Makes the record valid.
#[inline(always)]
pub fn finish(thread_state: &mut ThreadState, pending: Pending) {
    pending.reserved.commit(pending.first);
    thread_state.writing = pending.outer;
}

/// A record that a signal handler left by siglongjmp in the middle: its call stood below ours or where ours stands, so
/// nobody will finish it. One that is merely interrupted lies above us on the stack.
fn abandoned(thread_state: &mut ThreadState, at: usize) {
    if thread_state.writing.0.is_null() {
        return;
    }
    if at.wrapping_sub(thread_state.writing.1) < ONE_STACK && !sys::on_signal_stack() {
        give_up(thread_state);
    }
}

/// Marks the record that is being written as one to step over.
pub fn give_up(thread_state: &mut ThreadState) {
    if thread_state.writing.0.is_null() {
        return;
    }
    // SAFETY: the record lies in a chunk that is still mapped: chunks are unmapped only when full and
    // many chunks ago.
    unsafe {
        let at = &*thread_state.writing.0.cast::<AtomicU64>();
        let first = at.load(Relaxed);
        // A handler may come right behind the commit.
        if first & COMMITTED != 0 {
            thread_state.writing = (core::ptr::null_mut(), 0);
            return;
        }
        let enter = (first & 0xf) as u8 == kind::ENTER;
        let skip = if enter { first | u64::from(META_MAX) << 13 } else { first & !0xf | u64::from(kind::SKIP) };
        at.store(skip | COMMITTED, Release);
    }
    thread_state.writing = (core::ptr::null_mut(), 0);
}

/// Roughly where the stack is, for records that are about no call.
pub use crate::sys::arch::stack_pointer as here;

/// The ring has a new owner.
pub fn owned(thread_state: &mut ThreadState, tid: u32) {
    if thread_state.writer.chunk.is_null() {
        return;
    }
    let Some(pending) = reserve(thread_state, here(), kind::THREAD, 2, |_| 0) else { return };
    // SAFETY: two words are reserved.
    unsafe { pending.reserved.word(1, tid.into()) };
    finish(thread_state, pending);
}
