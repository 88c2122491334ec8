//! What the gate of the calls that a runtime makes because cutap watches asks, where it cannot tell by itself.

use super::{own_calls, suppress};
use crate::process::{page, switch};
use crate::ring::thread_state;
use crate::slots::{plan, table};
use core::sync::atomic::Ordering::Relaxed;
use cutap_wire::diagnostic;

/// Answers of `sort_out`. `BY_FAST` is for functions of two words.
const COMMON: u32 = 0;
pub const FUNCTION: u32 = 1;
const BY_FAST: u32 = 2;

/// What is to be done with the call that returns to `caller`, and whose stack words begin at `at`: it is self-induced
/// or only counted, or for which of the frames it is.
#[inline(always)]
pub fn sort_out(caller: usize, at: usize, slot: usize) -> u32 {
    let Some(thread_state) =
        thread_state::existing().filter(|thread_state| !thread_state.inside && !switch::rules_changed())
    else {
        return COMMON;
    };
    thread_state.leave_below(at);
    if thread_state.depth == 0 && suppress::is_suppressed_runtime(caller) {
        return COMMON;
    }
    let n = table::number_at(slot);
    if switch::counting() {
        own_calls::counted(thread_state, caller, at, n);
        return FUNCTION;
    }
    if own_calls::is_one(thread_state, caller, n) {
        page::count(diagnostic::SELF_INDUCED, 1);
        return FUNCTION;
    }
    let [of_words, two_words] = plan::TWO_WORDS;
    match table::slot(n) {
        Some(s) if s.has_first() && s.plan.load(Relaxed) as u32 & of_words == two_words => BY_FAST,
        _ => COMMON,
    }
}
