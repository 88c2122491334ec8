//! Records of ranges and marks, and the ranges that are open in each thread.

use super::capture_range;
use super::domains::{self, Moment};
use crate::process::{fork, page, switch};
use crate::ring::open_ranges::OpenRange;
use crate::ring::record::{begin, exit};
use crate::ring::reserve::{finish, here};
use crate::ring::thread_state::{self, OpenCall, ThreadState};
use crate::ring::thread_states;
use cutap_wire::diagnostic;
use cutap_wire::record::FRAGMENT_WORDS;

/// What is known of a range beside its name.
#[derive(Clone, Copy, Default)]
pub struct Attributes {
    pub payload: u64,
    pub payload_type: u32,
    pub category: u32,
    pub color: u32,
}

/// Ranges are recorded. They are while recording is off, too: calls may follow in them.
fn is_recorded() -> bool {
    switch::recording() || switch::is_off()
}

/// The thread state. One is made only where something may be recorded. A forked child may have noticed nothing yet.
fn current() -> Option<&'static mut ThreadState> {
    fork::check();
    if switch::has_left() {
        return None;
    }
    let is_made = is_recorded() || capture_range::is_asked();
    let state = if is_made { thread_states::current() } else { thread_state::existing() };
    state.filter(|state| !state.inside)
}

/// Writes the beginning of a range or a moment. Its number, or none if nothing is to be recorded or can be.
fn enter(state: &mut ThreadState, domain: u32, text: &[u8], words: &[u64], of: Moment) -> Option<u32> {
    if !domains::is_selected(domain, text) {
        return None;
    }
    let slot = domains::slot(domain, of)?;
    let frame = here();
    state.leave_below(frame);
    let length = 2 + words.len() + FRAGMENT_WORDS + text.len().div_ceil(8);
    let pending = begin(state, OpenCall { number: 0, slot, frame, reported: 0 }, 0, length as u32)?;
    let (number, reserved) = (pending.reserved.number, &pending.reserved);
    // SAFETY: so many words are reserved.
    unsafe {
        words.iter().enumerate().for_each(|(n, word)| reserved.word(n + 2, *word));
        let fragment = 2 + words.len();
        reserved.word(fragment, text.as_ptr() as u64);
        reserved.word(fragment + 1, text.len() as u64 | (text.len() as u64) << 32);
        reserved.bytes(fragment + FRAGMENT_WORDS, text.as_ptr(), text.len());
    }
    finish(state, pending);
    // It is open as a range, and not as a call: it need not end before the call that it began in.
    state.pop(number);
    Some(number)
}

fn packed(with: &Attributes) -> [u64; 3] {
    [with.payload, u64::from(with.payload_type) | u64::from(with.category) << 32, with.color.into()]
}

/// A range begins in this thread. Its level in its domain.
pub fn push(domain: u32, text: &[u8], with: &Attributes) -> i32 {
    let Some(state) = current() else { return 0 };
    let level = state.ranges.level(domain);
    let is_captured = capture_range::is_wanted(domain, text);
    if is_captured {
        capture_range::begin();
    }
    let has_room = state.ranges.has_room();
    let is_written = has_room && is_recorded();
    let number = is_written.then(|| enter(state, domain, text, &packed(with), Moment::Range)).flatten();
    if !state.ranges.push(OpenRange::new(domain, number, is_captured)) {
        page::count(diagnostic::RANGE_TOO_DEEP, 1);
        if is_captured {
            capture_range::end();
        }
    }
    level
}

/// The innermost range of a domain ends in this thread. Its level, or -1 if none is open.
pub fn pop(domain: u32) -> i32 {
    let Some(state) = current() else { return -1 };
    let Some(range) = state.ranges.pop(domain) else {
        page::count(diagnostic::RANGE_WITHOUT_PUSH, 1);
        return -1;
    };
    let level = state.ranges.level(domain);
    if let Some(number) = range.number() {
        exit(state, here(), number, &[level as u64]);
    }
    if range.is_captured() {
        capture_range::end();
    }
    level
}

/// A mark, or the start of a range that may end in another thread: then `id` is its number.
pub fn moment(domain: u32, text: &[u8], with: &Attributes, id: Option<u64>) {
    let Some(state) = current().filter(|_| is_recorded()) else { return };
    let [payload, kind, color] = packed(with);
    match id {
        None => enter(state, domain, text, &[payload, kind, color], Moment::Mark),
        Some(id) => enter(state, domain, text, &[payload, kind, color, id], Moment::Start),
    };
}

/// A range that was started ends.
pub fn end(domain: u32, id: u64) {
    if let Some(state) = current().filter(|_| is_recorded()) {
        enter(state, domain, b"", &[id], Moment::End);
    }
}
