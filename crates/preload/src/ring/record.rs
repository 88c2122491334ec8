//! Writing records: of calls, notes and look-ups. The hot path of the whole product: words
//! in, no name, no formatting, no system call but when a chunk is full.
//!
//! Limits: a child that a signal handler forks in the middle of a record continues that call in its parent's ring.
//! A user-level scheduler that switches stacks there loses calls.

use super::counts::THUNKS;
use super::reserve::{self, Pending, calls, finish, here, reserve};
use super::thread_state::{self, OpenCall, ThreadState};
use super::thread_states;
use crate::process::{page, switch};
use cutap_wire::diagnostic;
use cutap_wire::memory::NewPiece;
use cutap_wire::record::{FAR_PARENT, LOOKUP_WORDS, MAX_WORDS, META_MAX, NO_PARENT, kind};
use cutap_wire::ring::Reserved;

/// The thread state, if this thread's calls are to be recorded now.
#[inline(always)]
pub fn ready() -> Option<&'static mut ThreadState> {
    if !switch::recording() {
        return None;
    }
    thread_states::current().filter(|thread_state| !thread_state.inside)
}

/// The thread state in which a call was recorded by what its frame keeps of that, while it is this thread's.
pub fn of(recorded: u32) -> Option<&'static mut ThreadState> {
    if recorded == 0 {
        return None;
    }
    thread_state::existing().filter(|thread_state| thread_state.identity() == recorded)
}

/// The same of a thread that has one.
#[inline(always)]
pub fn ready_already() -> Option<&'static mut ThreadState> {
    if switch::recording() { thread_state::existing().filter(|thread_state| !thread_state.inside) } else { None }
}

/// Writes an enter record and opens the call; its number. The call is open before its record is there
/// and until its exit is, so that a signal handler's call in between finds its parent.
#[inline(always)]
pub fn enter<const N: usize>(
    thread_state: &mut ThreadState,
    call: OpenCall,
    caller: usize,
    words: [&[u64]; N],
) -> Option<u32> {
    let place = thread_state.depth;
    let expected = calls(thread_state);
    let back = if place == 0 { NO_PARENT } else { parent(thread_state, place, expected) };
    thread_state.push(OpenCall { number: expected, ..call });
    let usual = |calls: u32| (calls == expected).then_some(call.slot);
    if reserve::put(thread_state, call.frame, kind::ENTER, usual, second(caller, back), words) {
        return Some(expected);
    }
    enter_slow(thread_state, call, caller, &words, place, expected)
}

/// Opens a call and takes room for its record of `length` words, of which the first two are written; behind the others
/// comes `finish`.
#[inline(always)]
pub fn begin(thread_state: &mut ThreadState, call: OpenCall, caller: usize, length: u32) -> Option<Pending> {
    let (place, expected) = (thread_state.depth, calls(thread_state));
    thread_state.push(OpenCall { number: expected, ..call });
    begin_opened(thread_state, call, caller, length, place, expected)
}

/// The same for one that is open already, in `place`.
#[inline(always)]
fn begin_opened(
    thread_state: &mut ThreadState,
    call: OpenCall,
    caller: usize,
    length: u32,
    place: usize,
    expected: u32,
) -> Option<Pending> {
    let Some(pending) = reserve(thread_state, call.frame, kind::ENTER, length, |_| call.slot) else {
        thread_state.depth = place;
        return None;
    };
    let number = pending.reserved.number;
    // Handlers' calls came in between, and one that came while this was put there has written over it.
    if number != expected
        && let Some(mine) = thread_state.open.get_mut(place)
    {
        *mine = OpenCall { number, ..call };
        thread_state.depth = place + 1;
    }
    let back = if place == 0 { NO_PARENT } else { parent(thread_state, place, number) };
    // SAFETY: `length` words are reserved.
    unsafe { pending.reserved.word(1, second(caller, back)) };
    Some(pending)
}

/// Second word of an enter record.
#[inline(always)]
fn second(caller: usize, back: u16) -> u64 {
    caller as u64 & 0xffff_ffff_ffff | u64::from(back) << 48
}

/// The same where something is not as usual; the call is open already.
#[inline(never)]
fn enter_slow(
    thread_state: &mut ThreadState,
    call: OpenCall,
    caller: usize,
    words: &[&[u64]],
    place: usize,
    expected: u32,
) -> Option<u32> {
    let length = 2 + words.iter().map(|part| part.len() as u32).sum::<u32>();
    let pending = begin_opened(thread_state, call, caller, length, place, expected)?;
    let number = pending.reserved.number;
    for (n, &w) in words.iter().copied().flatten().enumerate() {
        // SAFETY: `length` words are reserved.
        unsafe { pending.reserved.word(n + 2, w) };
    }
    finish(thread_state, pending);
    Some(number)
}

/// How many calls ago the one began that `place` others are open around.
fn parent(thread_state: &ThreadState, place: usize, number: u32) -> u16 {
    // A call that a handler interrupted before it had its number expects this one's. A call that is counted and has no
    // call around it has a later number.
    let is_before = |c: &&OpenCall| number.wrapping_sub(c.number) as i32 > 0;
    match thread_state.open.iter().take(place).rfind(is_before) {
        None => NO_PARENT,
        Some(p) => u16::try_from(number.wrapping_sub(p.number)).unwrap_or(FAR_PARENT),
    }
}

/// Writes an exit record: the result, and the memory behind it. `at`: where on the stack the call stands.
#[inline(always)]
pub fn exit(thread_state: &mut ThreadState, at: usize, number: u32, words: &[u64]) {
    append_about_call_fast(thread_state, at, kind::EXIT, number, words);
    thread_state.pop(number);
}

/// Writes the exit record of a call that returned 0 and wrote one small thing: see `wire::words::Output`.
#[inline(always)]
pub fn exit_output(thread_state: &mut ThreadState, at: usize, number: u32, word: u64) {
    append_about_call_fast(thread_state, at, kind::EXIT_OUTPUT, number, &[word]);
    thread_state.pop(number);
}

/// The frame at `at` is being left by an exception, pthread_exit or cancellation, and with it the call.
pub fn unwound(number: u32, at: usize) {
    let Some(thread_state) = thread_state::existing() else { return };
    if thread_state.open.iter().take(thread_state.depth).any(|c| c.number == number && c.frame == at) {
        append_about_call(thread_state, at, kind::UNWOUND, number, &[]);
        thread_state.pop(number);
    }
}

/// The call that a runtime reports by the record at `at` is being left from inside its report.
pub fn reported_unwound(at: usize) {
    let reported = |thread_state: &ThreadState| {
        let mut open_calls = thread_state.open.iter().take(thread_state.depth);
        let call = open_calls.rfind(|c| c.frame == at && c.reported == at).copied()?;
        Some(call).filter(|call| !thread_state.is_counted(calls(thread_state), call))
    };
    if let Some(call) = thread_state::existing().and_then(|thread_state| reported(thread_state)) {
        unwound(call.number, at);
    }
}

/// A frame at `at` was left, and so is all up to `end`: of the calls around it those that a runtime alone has told of
/// have ended too, for they have no frame of ours. A call with a frame reports its own end and the end of those around
/// it.
pub fn unwound_around(at: usize, end: usize) {
    let Some(thread_state) = thread_state::existing() else { return };
    while let Some(&mut call) = thread_state.top()
        && call.slot as usize >= THUNKS
        && call.frame > at
        && call.frame < end
    {
        if thread_state.is_counted(calls(thread_state), &call) {
            thread_state.pop_counted(call.frame);
            continue;
        }
        append_about_call(thread_state, call.frame, kind::UNWOUND, call.number, &[]);
        thread_state.pop(call.number);
    }
}

/// Writes something learned about an open call.
pub fn write_note(thread_state: &mut ThreadState, at: usize, number: u32, note_kind: u64, value: u64) {
    append_about_call_fast(thread_state, at, kind::NOTE, number, &[note_kind, value]);
}

/// Calls ago that a first word surely says, however many a signal handler makes in between.
pub const NEAR_CALLS: u32 = META_MAX - 4096;

/// A record that says how many calls ago its own began, where all is as usual; else as `append_about_call` does it.
#[inline(always)]
fn append_about_call_fast(thread_state: &mut ThreadState, at: usize, kind: u8, number: u32, words: &[u64]) {
    let Some((&second, rest)) = words.split_first() else { return };
    let back = |calls: u32| Some(calls.wrapping_sub(1).wrapping_sub(number)).filter(|&back| back < NEAR_CALLS);
    if !reserve::put(thread_state, at, kind, back, second, [rest]) {
        append_about_call(thread_state, at, kind, number, words);
    }
}

/// A record of `length` words about a call, whose words behind the first `write` puts in their place.
pub fn append_about_call_with<R>(
    thread_state: &mut ThreadState,
    at: usize,
    kind: u8,
    number: u32,
    length: u32,
    write: impl FnOnce(&Reserved) -> R,
) -> Option<R> {
    let far = calls(thread_state).wrapping_sub(1).wrapping_sub(number) >= NEAR_CALLS;
    let distance = |calls: u32| if far { META_MAX } else { calls.wrapping_sub(1).wrapping_sub(number) };
    let pending = reserve(thread_state, at, kind, length + u32::from(far), distance)?;
    let written = write(&pending.reserved);
    if far {
        // SAFETY: one word more was reserved.
        unsafe { pending.reserved.word(length as usize, number.into()) };
    }
    finish(thread_state, pending);
    Some(written)
}

/// A piece of the memory that a call leads to. `fill` writes its bytes and returns their number; this returns it too.
pub fn memory(
    thread_state: &mut ThreadState,
    at: usize,
    number: u32,
    piece: &NewPiece,
    fill: impl FnOnce(*mut u8) -> usize,
) -> usize {
    // SAFETY: the record has the words of the piece.
    let write = |to: &Reserved| unsafe { piece.write(to.at, fill) };
    let written = append_about_call_with(thread_state, at, kind::MEMORY, number, piece.words() as u32, write);
    if written.is_none() {
        page::count(diagnostic::MEMORY_NOT_KEPT, 1);
    }
    written.unwrap_or(0)
}

/// A record that says how many calls ago its own began.
#[inline(never)]
fn append_about_call(thread_state: &mut ThreadState, at: usize, kind: u8, number: u32, words: &[u64]) {
    // One word more than most need, for a distance that does not fit: decided before reserving, from
    // the number of calls so far, which only grows in between by a signal handler's few.
    let so_far = calls(thread_state);
    let far = so_far.wrapping_sub(1).wrapping_sub(number) >= NEAR_CALLS;
    let length = 1 + words.len() as u32 + u32::from(far);
    let distance = |calls: u32| if far { META_MAX } else { calls.wrapping_sub(1).wrapping_sub(number) };
    let Some(pending) = reserve(thread_state, at, kind, length, distance) else { return };
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
    finish(thread_state, pending);
}

/// What a look-up gave: the function, and the number of its slot plus one; 0: it has none.
pub struct Answer {
    pub function: usize,
    pub slot: u64,
}

/// Writes a look-up, if this thread can.
pub fn lookup(which: u32, caller: usize, handle: usize, flags: u64, answer: &Answer, status: u64, name: &[u8]) {
    let Some(thread_state) = thread_states::current() else { return };
    let name_len = name.len().min((MAX_WORDS - LOOKUP_WORDS) as usize * 8);
    let length = LOOKUP_WORDS + name_len.div_ceil(8) as u32;
    let Some(pending) = reserve(thread_state, here(), kind::LOOKUP, length, |_| which) else { return };
    let reserved = &pending.reserved;
    // SAFETY: `length` words are reserved.
    unsafe {
        let words =
            [caller as u64, handle as u64, flags, answer.function as u64, answer.slot, status, (name_len as u64) << 48];
        for (n, w) in words.into_iter().enumerate() {
            reserved.word(n + 1, w);
        }
        reserved.bytes(LOOKUP_WORDS as usize, name.as_ptr(), name_len);
    }
    finish(thread_state, pending);
}
