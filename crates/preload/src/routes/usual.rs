//! The commonest reports: of a runtime that is linked in, a function that is known already and of which words and small outputs are all
//! that is kept. Nothing here that `callbacks` does not do too; where anything is not as usual it says no, having done nothing.

use super::callbacks::{CallbackRecord, caller, kernel, quick_words};
use super::instances::{Function, Instance};
use crate::capture::quick::{self, Ended};
use crate::start::{self, switch};
use crate::thread::block::{self, Block, ONE_STACK, OpenCall};
use crate::thread::record;
use core::sync::atomic::Ordering::Relaxed;

/// The thread's block and the function, if its calls are usual ones.
#[inline(always)]
fn usual(i: &Instance, id: u32) -> Option<(&'static mut Block, &Function)> {
    let f = i.functions.get(id as usize).filter(|f| f.usual.load(Relaxed))?;
    let b = block::existing().filter(|b| !b.inside)?;
    Some((b, f))
}

/// A call begins. False: `callbacks` is to look at it.
#[inline(always)]
pub fn enter(i: &Instance, id: u32, r: &CallbackRecord) -> bool {
    if !start::recording() || switch::rules_changed() {
        return false;
    }
    let Some((b, f)) = usual(i, id) else { return false };
    let (slot, at) = (f.slot.load(Relaxed), &raw const *r as usize);
    let left = b.top().is_some_and(|top| at.wrapping_sub(top.frame) < ONE_STACK);
    if slot == 0 || left {
        return false;
    }
    let Some(words) = quick_words(b, f, r, at) else { return false };
    let call = OpenCall { number: 0, slot, frame: at, reported: at };
    if let Some(number) = record::enter(b, call, caller(r), [words]) {
        kernel(b, f, number, r);
    }
    true
}

/// A call ends. False: as in `enter`.
#[inline(always)]
pub fn exit(i: &Instance, id: u32, r: &CallbackRecord) -> bool {
    let Some((b, f)) = usual(i, id) else { return false };
    let at = &raw const *r as usize;
    let Some(number) = b.top().filter(|top| top.reported == at).map(|top| top.number) else { return false };
    let Some(words) = quick_words(b, f, r, at) else { return false };
    // SAFETY: the runtime's variable; null for the three functions that return no error code.
    let result = unsafe { r.result.as_ref() }.map_or(0, |r| u64::from(*r));
    quick::exit(f.quick.load(Relaxed), b, &Ended { number, at, result, words })
}
