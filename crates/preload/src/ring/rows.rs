//! Rows of GPU time, which the injection hands over (`crates/gpu-time`), and the names in them. They go into the ring
//! of the thread that has them, and belong to no thread.

use super::reserve::{finish, here, reserve};
use super::thread_states;
use crate::process::{names, page, switch};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use cutap_wire::diagnostic;
use cutap_wire::names::{LONGEST, Name, kind as name_kind};
use cutap_wire::record::kind;
use cutap_wire::rows::MAX_WORDS;

/// Appends a row of this kind.
pub fn append(sub_kind: u8, words: &[u64]) {
    if !switch::takes_rows() {
        return;
    }
    let Some(thread_state) = thread_states::current().filter(|thread_state| !thread_state.inside) else {
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

/// Writes a name that rows have; its id, 0 if there is no room for it.
pub fn name(name: &[u8]) -> u32 {
    static IDS: AtomicU32 = AtomicU32::new(0);
    let id = IDS.fetch_add(1, Relaxed).wrapping_add(1);
    let text = name.get(..name.len().min(LONGEST)).unwrap_or(&[]);
    let record = Name { kind: name_kind::ROW_NAME, ticks: 0, a: id.into(), b: 0, c: 0, s: text, t: &[] };
    if names::write(&record).is_some() { id } else { 0 }
}
