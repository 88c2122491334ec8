//! Writing records: the recording hook, notes and look-ups. The hot path of the whole product: words
//! in, no name, no formatting, no system call but when a chunk is full.

use super::block::{self, Block, OpenCall};
use super::{clock, ring};
use crate::capture::{self, row};
use crate::slots::thunks_x86_64::Frame;
use crate::slots::{hooks, table};
use crate::{routes, start, sys};
use core::sync::atomic::{AtomicU64, Ordering::*};
use cutap_wire::count;
use cutap_wire::record::{COMMITTED, FAR_PARENT, LOOKUP_WORDS, MAX_WORDS, META_MAX, NO_PARENT, first_word, kind};
use cutap_wire::ring::{NotReserved, Reserved};

/// The recording hook, on the way in.
pub fn before(frame: &mut Frame) -> bool {
    let Some(b) = ready() else { return true };
    let at = frame.stack as usize;
    b.leave_below(at);
    if hooks::may_be_footprint(table::slot(frame.slot).map_or(0, |s| s.hooks.load(Relaxed)))
        && routes::callbacks::is_footprint(b, frame.caller)
    {
        start::count(count::FOOTPRINT, 1);
        return true;
    }
    let call = OpenCall { number: 0, slot: frame.slot, frame: at, reported: 0 };
    let remembered = table::row_of(frame.slot);
    let number = match capture::of(remembered) {
        None => enter(b, call, frame.caller, &frame.args),
        Some(row) if remembered & row::BEFORE != 0 => {
            capture::before(b, frame, row, |b, words| enter(b, call, frame.caller, words))
        }
        Some(row) => enter(b, call, frame.caller, frame.args.get(..usize::from(row.ints)).unwrap_or(&[])),
    };
    if let Some(number) = number {
        frame.number = number;
        frame.recorded = 1;
    }
    true
}

/// The recording hook, on the way out.
pub fn after(frame: &mut Frame) {
    if frame.recorded == 0 {
        return;
    }
    let Some(b) = block::current() else { return };
    let remembered = table::row_of(frame.slot);
    let [result, _] = frame.result;
    match capture::of(remembered) {
        Some(row) if remembered & row::AFTER != 0 => {
            let number = frame.number;
            capture::after(b, frame, row, |b, words| exit(b, number, words));
        }
        _ => exit(b, frame.number, &[result]),
    }
}

/// A C++ function: an enter record alone.
pub fn note(frame: &mut Frame) {
    let Some(b) = ready() else { return };
    let at = frame.stack as usize;
    b.leave_below(at);
    let call = OpenCall { number: 0, slot: frame.slot, frame: at, reported: 0 };
    if let Some(number) = enter(b, call, frame.caller, &frame.args) {
        b.pop(number);
    }
}

/// The block, if this thread's calls are to be recorded now.
#[inline(always)]
pub fn ready() -> Option<&'static mut Block> {
    if !start::recording() {
        return None;
    }
    block::current().filter(|b| !b.inside)
}

/// Writes an enter record and opens the call; its number. The call is open before its record is there
/// and until its exit is, so that a signal handler's call in between finds its parent.
#[inline(always)]
pub fn enter(b: &mut Block, call: OpenCall, caller: usize, words: &[u64]) -> Option<u32> {
    let place = b.depth;
    let expected = calls(b);
    b.push(OpenCall { number: expected, ..call });
    let length = 2 + words.len() as u32;
    let Some(pending) = reserve(b, kind::ENTER, length, |_| call.slot) else {
        b.depth = place;
        return None;
    };
    let reserved = &pending.reserved;
    let number = reserved.number;
    if number != expected
        && let Some(mine) = b.open.get_mut(place)
    {
        mine.number = number;
    }
    // A call that a handler interrupted before it had its number expects this one's.
    let parent = b.open.iter().take(place).rfind(|c| c.number != number).map(|c| c.number);
    let back = match parent {
        None => NO_PARENT,
        Some(p) => u16::try_from(number.wrapping_sub(p)).unwrap_or(FAR_PARENT),
    };
    // SAFETY: `length` words are reserved.
    unsafe {
        reserved.word(1, caller as u64 & 0xffff_ffff_ffff | u64::from(back) << 48);
        for (n, &w) in words.iter().enumerate() {
            reserved.word(n + 2, w);
        }
    }
    finish(b, pending);
    Some(number)
}

/// Writes an exit record: the result, and the memory behind it.
#[inline(always)]
pub fn exit(b: &mut Block, number: u32, words: &[u64]) {
    about(b, kind::EXIT, number, words);
    b.pop(number);
}

/// A frame is being left by an exception, pthread_exit or cancellation.
pub fn unwound(frame: &Frame) {
    if frame.recorded == 0 {
        return;
    }
    let Some(b) = block::existing() else { return };
    let at = frame.stack as usize;
    if b.open.iter().take(b.depth).any(|c| c.number == frame.number && c.frame == at) {
        about(b, kind::UNWOUND, frame.number, &[]);
        b.pop(frame.number);
    }
}

/// The ring has a new owner.
pub fn thread(b: &mut Block, tid: u32) {
    if b.writer.chunk.is_null() {
        return;
    }
    let Some(pending) = reserve(b, kind::THREAD, 2, |_| 0) else { return };
    // SAFETY: two words are reserved.
    unsafe { pending.reserved.word(1, tid.into()) };
    finish(b, pending);
}

/// Writes something learned about an open call.
pub fn learned(b: &mut Block, number: u32, what: u64, value: u64) {
    about(b, kind::NOTE, number, &[what, value]);
}

/// A record that says how many calls ago its own began.
#[inline(always)]
fn about(b: &mut Block, kind: u8, number: u32, words: &[u64]) {
    // One word more than most need, for a distance that does not fit: decided before reserving, from
    // the number of calls so far, which only grows in between by a signal handler's few.
    let so_far = calls(b);
    let far = so_far.wrapping_sub(1).wrapping_sub(number) >= META_MAX - 4096;
    let length = 1 + words.len() as u32 + u32::from(far);
    let distance = |calls: u32| if far { META_MAX } else { calls.wrapping_sub(1).wrapping_sub(number) };
    let Some(pending) = reserve(b, kind, length, distance) else { return };
    let reserved = &pending.reserved;
    // SAFETY: `length` words are reserved.
    unsafe {
        for (n, &w) in words.iter().enumerate() {
            reserved.word(n + 1, w);
        }
        if far {
            reserved.word(length as usize - 1, number.into());
        }
    }
    finish(b, pending);
}

/// Writes a look-up, if this thread can.
pub fn lookup(which: u32, caller: usize, handle: usize, flags: u64, answer: usize, status: u64, name: &[u8]) {
    let Some(b) = block::current() else { return };
    let name_len = name.len().min((MAX_WORDS - LOOKUP_WORDS) as usize * 8);
    let length = LOOKUP_WORDS + name_len.div_ceil(8) as u32;
    let slot = table::number_of(answer).map_or(0, |n| u64::from(n) + 1);
    let answer = table::real_of(answer).unwrap_or(answer);
    let Some(pending) = reserve(b, kind::LOOKUP, length, |_| which) else { return };
    let reserved = &pending.reserved;
    // SAFETY: `length` words are reserved.
    unsafe {
        let words = [caller as u64, handle as u64, flags, answer as u64, slot, status, (name_len as u64) << 48];
        for (n, w) in words.into_iter().enumerate() {
            reserved.word(n + 1, w);
        }
        reserved.bytes(LOOKUP_WORDS as usize, name.as_ptr(), name_len);
    }
    finish(b, pending);
}

/// Enter records so far.
#[inline(always)]
fn calls(b: &Block) -> u32 {
    if b.writer.chunk.is_null() {
        return 0;
    }
    // SAFETY: the current chunk is mapped.
    unsafe { (b.writer.head() >> 32) as u32 }
}

/// Takes room for a record and the time for it. `meta` gets the number of enter records before it.
#[inline(always)]
fn reserve(b: &mut Block, kind: u8, words: u32, meta: impl Fn(u32) -> u32) -> Option<Pending> {
    abandoned(b);
    loop {
        if b.writer.chunk.is_null() && !ring::next_chunk(b) {
            start::count(count::RECORD_DROPPED, 1);
            return None;
        }
        // SAFETY: the current chunk is mapped; this thread owns the ring.
        unsafe {
            let head = b.writer.head();
            let now = clock::ticks();
            let far = now.wrapping_sub(b.writer.last) >= 1 << 31;
            let (kind, words, meta) = if far { (kind::TIME, 2, 0) } else { (kind, words, meta((head >> 32) as u32)) };
            let first = first_word(kind, words, meta, now as u32);
            match b.writer.reserve(head, words, first, kind == kind::ENTER) {
                Ok(r) if far => {
                    r.word(1, now);
                    r.commit(first);
                    b.writer.last = now;
                }
                Ok(r) => {
                    b.writer.last = now;
                    let outer = core::mem::replace(&mut b.writing, (r.at.cast(), here()));
                    return Some(Pending { reserved: r, first, outer });
                }
                Err(NotReserved::Raced) => {}
                Err(NotReserved::Full) => {
                    if !ring::next_chunk(b) {
                        start::count(count::RECORD_DROPPED, 1);
                        return None;
                    }
                }
            }
        }
    }
}

/// A record that has its room and not yet its words.
struct Pending {
    reserved: Reserved,
    first: u64,
    /// The record in whose middle a signal came, if this one is the handler's.
    outer: (*mut u64, usize),
}

#[inline(always)]
fn finish(b: &mut Block, pending: Pending) {
    pending.reserved.commit(pending.first);
    b.writing = pending.outer;
}

/// A record that a signal handler left by siglongjmp in the middle: its frame is below ours now, so
/// nobody will finish it. One that is merely interrupted lies above us on the stack.
#[inline(always)]
fn abandoned(b: &mut Block) {
    if b.writing.0.is_null() {
        return;
    }
    const ONE_STACK: usize = 8 << 20;
    if here().wrapping_sub(b.writing.1) < ONE_STACK && !sys::on_signal_stack() {
        give_up(b);
    }
}

/// Marks the record that is being written as one to step over.
pub fn give_up(b: &mut Block) {
    if b.writing.0.is_null() {
        return;
    }
    // SAFETY: the record lies in a chunk that is still mapped: chunks are unmapped only when full and
    // many chunks ago.
    unsafe {
        let at = &*b.writing.0.cast::<AtomicU64>();
        let first = at.load(Relaxed);
        // A handler may come right behind the commit.
        if first & COMMITTED != 0 {
            b.writing = (core::ptr::null_mut(), 0);
            return;
        }
        let enter = (first & 0xf) as u8 == kind::ENTER;
        let skip = if enter { first | u64::from(META_MAX) << 13 } else { first & !0xf | u64::from(kind::SKIP) };
        at.store(skip | COMMITTED, Release);
    }
    b.writing = (core::ptr::null_mut(), 0);
}

/// Roughly where the stack is.
#[inline(always)]
fn here() -> usize {
    let p: usize;
    // SAFETY: reads a register.
    unsafe { core::arch::asm!("mov {}, rsp", out(reg) p, options(nomem, nostack, preserves_flags)) };
    p
}
