//! Rows of GPU time, which the injection hands over (`crates/gpu-time`), and the names in them. They go into the ring
//! of the thread that has them, and belong to no thread. In a flight recorder a thread that makes calls has a second
//! ring for rows, so that they do not write over its calls: CUPTI delivers thousands of rows when the program ends.

use super::reserve::{calls, finish, here, reserve};
use super::thread_state::ThreadState;
use super::thread_states;
use crate::process::{names, page, run, switch};
use crate::sys;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use cutap_wire::names::{LONGEST, Name, kind as name_kind};
use cutap_wire::record::kind;
use cutap_wire::rows::MAX_WORDS;
use cutap_wire::{control, diagnostic};

/// Appends a row of this kind.
pub fn append(sub_kind: u8, words: &[u64]) {
    if !switch::takes_rows() {
        return;
    }
    let Some(thread_state) = thread_states::current().filter(|thread_state| !thread_state.inside).map(ring_for_rows)
    else {
        page::count(diagnostic::ROW_DROPPED, 1);
        return;
    };
    let words = words.get(..words.len().min(MAX_WORDS)).unwrap_or(&[]);
    let length = 1 + words.len() as u32;
    let Some(pending) = reserve(thread_state, here(), kind::EXTENDED, length, |_| sub_kind.into()) else {
        page::count(diagnostic::ROW_DROPPED, 1);
        return;
    };
    for (n, &word) in words.iter().enumerate() {
        // SAFETY: so many words are reserved.
        unsafe { pending.reserved.word(n + 1, word) };
    }
    finish(thread_state, pending);
}

fn ring_for_rows(thread_state: &'static mut ThreadState) -> &'static mut ThreadState {
    let is_flight_recorder = run::flags() & control::FLIGHT != 0;
    if !is_flight_recorder || calls(thread_state) == 0 || !thread_state.vfork_page.is_null() {
        return thread_state;
    }
    if thread_state.rows.is_null() {
        let signals = sys::block_signals();
        thread_state.rows = thread_states::make_second_ring(thread_state.tid.load(Relaxed), 0);
        sys::restore_signals(signals);
    }
    // SAFETY: null, or a state that this thread state alone knows, permanently mapped.
    match unsafe { thread_state.rows.as_mut() } {
        Some(rows) => rows,
        None => thread_state,
    }
}

/// Writes a name that rows have; its id, 0 if there is no room for it.
pub fn name(name: &[u8]) -> u32 {
    static IDS: AtomicU32 = AtomicU32::new(0);
    let id = IDS.fetch_add(1, Relaxed).wrapping_add(1);
    let text = name.get(..name.len().min(LONGEST)).unwrap_or(&[]);
    let record = Name { kind: name_kind::ROW_NAME, ticks: 0, a: id.into(), b: 0, c: 0, s: text, t: &[] };
    if names::write(&record).is_some() { id } else { 0 }
}
