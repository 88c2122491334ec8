//! Records of ranges and marks, and the ranges that are open in each thread.

use super::capture_range;
use super::domains::{self, Moment};
use super::payloads::Payload;
use super::started;
use super::text::Text;
use crate::process::{fork, page, run, switch};
use crate::ring::open_ranges::{AFTER_FORK, NAME_BYTES, OpenRange};
use crate::ring::record::{begin, exit};
use crate::ring::reserve::{finish, here};
use crate::ring::thread_state::{self, OpenCall, ThreadState};
use crate::ring::thread_states;
use cutap_calls::generated::nvtx::payload_type;
use cutap_wire::control::RANGE;
use cutap_wire::diagnostic;
use cutap_wire::record::FRAGMENT_WORDS;

/// What is known of a range beside its name.
#[derive(Clone, Copy, Default)]
pub struct Attributes {
    pub payload: u64,
    pub payload_type: u32,
    /// Of the type `extended`: how many payloads are at the address.
    pub payload_count: u32,
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
    let is_made = is_recorded() || capture_range::is_asked() || run::flags() & RANGE != 0;
    let state = if is_made { thread_states::current() } else { thread_state::existing() };
    state.filter(|state| !state.inside)
}

/// Writes the beginning of a range or a moment. Its number, or none if nothing is to be recorded or can be.
fn enter(
    state: &mut ThreadState,
    domain: u32,
    text: &[u8],
    words: &[u64],
    payload: Option<&Payload>,
    of: Moment,
) -> Option<u32> {
    if !domains::is_selected(domain, text) {
        return None;
    }
    let slot = domains::slot(domain, of)?;
    let frame = here();
    state.leave_below(frame);
    let text_end = 2 + words.len() + FRAGMENT_WORDS + text.len().div_ceil(8);
    let length = text_end + payload.map_or(0, |payload| FRAGMENT_WORDS + payload.bytes().len().div_ceil(8));
    let pending = begin(state, OpenCall { number: 0, slot, frame, reported: 0 }, 0, length as u32)?;
    let (number, reserved) = (pending.reserved.number, &pending.reserved);
    // SAFETY: so many words are reserved.
    unsafe {
        words.iter().enumerate().for_each(|(n, word)| reserved.word(n + 2, *word));
        let fragment = 2 + words.len();
        reserved.word(fragment, text.as_ptr() as u64);
        reserved.word(fragment + 1, text.len() as u64 | (text.len() as u64) << 32);
        reserved.bytes(fragment + FRAGMENT_WORDS, text.as_ptr(), text.len());
        if let Some(payload) = payload {
            let bytes = payload.bytes();
            reserved.word(text_end, payload.address);
            reserved.word(text_end + 1, bytes.len() as u64 | u64::from(payload.full_length) << 32);
            reserved.bytes(text_end + FRAGMENT_WORDS, bytes.as_ptr(), bytes.len());
        }
    }
    finish(state, pending);
    // It is open as a range, and not as a call: it need not end before the call that it began in.
    state.pop(number);
    Some(number)
}

/// Three words: the payload, which is the id of a schema for a payload of the extension; its type and the category; the
/// color.
fn packed(with: &Attributes, payload: Option<&Payload>) -> [u64; 3] {
    let value = payload.map_or(with.payload, |payload| payload.schema);
    [value, u64::from(with.payload_type) | u64::from(with.category) << 32, with.color.into()]
}

/// Calls with the payload of the extension. Most ranges have none, and room for one is not free.
fn with_payload<R>(with: &Attributes, then: impl FnOnce(Option<&Payload>) -> R) -> R {
    #[inline(never)]
    fn read<R>(with: &Attributes, then: impl FnOnce(Option<&Payload>) -> R) -> R {
        then(Some(&Payload::read(with.payload as usize, with.payload_count)))
    }
    if with.payload_type == payload_type::EXTENDED { read(with, then) } else { then(None) }
}

/// Records ranges of this thread that began while calls were not recorded, from the outermost one. They begin now, and
/// without what the program gave with them.
fn restate(state: &mut ThreadState) {
    while is_recorded()
        && let Some((place, range)) = state.ranges.unrecorded()
    {
        let write =
            |(domain, name)| enter(state, domain, name, &packed(&Attributes::default(), None), None, Moment::Range);
        let number = range.unrecorded().and_then(write);
        state.ranges.set_number(place, number);
    }
}

/// Recording may have begun in this thread.
pub fn restate_here() {
    if let Some(state) = thread_state::existing().filter(|state| !state.inside) {
        restate(state);
    }
}

/// At the start.
pub fn start() {
    AFTER_FORK.set(restate_here);
}

/// A range begins in this thread. Its level in its domain.
pub fn push(domain: u32, text: &[u8], with: &Attributes) -> i32 {
    let Some(state) = current() else { return 0 };
    let level = state.ranges.level(domain);
    let is_captured = capture_range::is_wanted(domain, text);
    if is_captured {
        capture_range::begin();
    }
    restate(state);
    let has_room = state.ranges.has_room();
    let is_written = has_room && is_recorded();
    let mut written =
        || with_payload(with, |payload| enter(state, domain, text, &packed(with, payload), payload, Moment::Range));
    let number = if is_written { written() } else { None };
    let range = OpenRange::new(domain, number, is_captured);
    // It may be recorded later, or again in a forked child.
    let is_named = number.is_some() || !is_recorded();
    let is_short = text.len() <= NAME_BYTES;
    let range = match is_named {
        true if is_short => range.named(text),
        true => range.named(Text::shortened(text, NAME_BYTES).bytes()),
        false => range,
    };
    if !state.ranges.push(range) {
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
    if id.is_some() && capture_range::is_wanted(domain, text) {
        page::count(diagnostic::RANGE_NOT_CAPTURED, 1);
    }
    let Some(state) = current().filter(|_| is_recorded()) else { return };
    restate(state);
    with_payload(with, |payload| {
        let [value, kind, color] = packed(with, payload);
        match id {
            None => enter(state, domain, text, &[value, kind, color], payload, Moment::Mark),
            Some(id) => {
                // It may end in another thread before this function is left.
                started::remember(id, text);
                enter(state, domain, text, &[value, kind, color, id], payload, Moment::Start)
            }
        }
    });
}

/// A mark with a payload that is read already.
pub fn sample(domain: u32, text: &[u8], payload: &Payload) {
    let with = Attributes { payload_type: payload_type::EXTENDED, ..Attributes::default() };
    if let Some(state) = current().filter(|_| is_recorded()) {
        restate(state);
        enter(state, domain, text, &packed(&with, Some(payload)), Some(payload), Moment::Mark);
    }
}

/// A range that was started ends.
pub fn end(domain: u32, id: u64) {
    let name = started::forget(id);
    if let Some(state) = current().filter(|_| is_recorded()) {
        enter(state, domain, name.bytes(), &[id], None, Moment::End);
    }
}
