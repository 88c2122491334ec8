//! Calls of the driver that a runtime makes only because a launch's flag is on: before it reports the launch it asks
//! for the kernel's name, for a kernel of a library in two calls (cuKernelGetFunction, cuFuncGetName), and from 13 on
//! in one (cuKernelGetName). They are counted and not shown. What the runtime calls for the program's sake must not be
//! taken for them: it asks for a kernel's function in the launch, too.

use super::callback_record::{CallbackRecord, is_launch};
use super::instances::{self, Instance};
use super::rules;
use crate::capture::handles::KERNEL_FUNCTION;
use crate::process::copy::Pages;
use crate::process::page;
use crate::ring::counts::{self, THUNKS};
use crate::ring::thread_state::{ONE_STACK, ThreadState};
use crate::slots::frame::Frame;
use crate::slots::table;
use core::mem::offset_of;
use core::sync::atomic::{AtomicUsize, Ordering::*};
use cutap_calls::hidden::SlotName;
use cutap_calls::{LAUNCH_CALLBACK, LOOKS_FOR_KERNEL_NAME, Layer, is_named_as, slot};
use cutap_wire::diagnostic;

/// Bytes from the one question to the other in the runtime's code: 20 in 12.9.
const HELPER: usize = 256;

/// Places from which a runtime asks, and the flag of its launches: the first that were met, one for a kernel's name,
/// one for its function. A call from there while none is open is surely one of these; `arch::own_calls_frame` counts
/// it without coming here.
#[unsafe(no_mangle)]
static CUTAP_ASKING: [[AtomicUsize; 2]; 2] = [const { [const { AtomicUsize::new(0) }; 2] }; 2];

/// Slots of export tables by which a runtime fills the record of a report. The argument that leads to the place for the
/// result, and the place in the record; `None`: a local variable near the record.
const FILLS: [([u8; 16], u32, usize, Option<usize>); 3] = [
    (cutap_calls::CONTEXT_TABLE, slot::CURRENT_CONTEXT, 0, Some(offset_of!(CallbackRecord, context))),
    (cutap_calls::STREAM_ID_TABLE, slot::STREAM_ID, 2, Some(offset_of!(CallbackRecord, stream_uid))),
    (cutap_calls::STREAM_ID_TABLE, slot::INNER_STREAM, 2, None),
];
/// Bytes of a frame that are searched for a record, in both directions.
const NEAR: usize = 512;

fn fills(name: &[u8]) -> Option<(usize, Option<usize>)> {
    let named = |(uuid, slot, ..): &&([u8; 16], u32, usize, Option<usize>)| SlotName::new(uuid, *slot).bytes() == name;
    FILLS.iter().filter(|_| is_hidden(name)).find(named).map(|(_, _, argument, place)| (*argument, *place))
}

/// Whether calls of a hidden function may be made because calls are reported: it fills a record, or it finds the values of a context
/// for a kernel's name.
pub fn may_be_hidden(name: &[u8]) -> bool {
    fills(name).is_some() || finds_values(name)
}

fn finds_values(name: &[u8]) -> bool {
    is_hidden(name) && name == SlotName::new(&cutap_calls::STORAGE_TABLE, slot::STORED_VALUE).bytes()
}

/// Exported names, which are asked for at each launch, have no bracket there.
fn is_hidden(name: &[u8]) -> bool {
    name.get(8) == Some(&b'[')
}

/// True when a call of a hidden function fills the record of a report: it is made because calls are reported. Nothing but
/// the size, and then the context, is sure to be in a record before its call is reported.
pub fn fills_record(thread_state: &mut ThreadState, frame: &Frame) -> bool {
    let [first, ..] = frame.args;
    let Some((argument, place)) = fills(table::name_of(frame.slot)) else { return false };
    let Some(to) = frame.args.get(argument) else { return false };
    if instances::containing(frame.caller).is_none() {
        return false;
    }
    let pages = Pages::new(frame.stack as usize, &mut thread_state.stack);
    let is_record = |from: usize| {
        let mut words = [0u64; RECORD_WORDS];
        // SAFETY: a local buffer.
        let copied = unsafe { pages.copy(from, words.as_mut_ptr().cast(), size_of_val(&words)) };
        let [size, ..] = words;
        let context = words.get(offset_of!(CallbackRecord, context) / 8).copied();
        copied == size_of_val(&words)
            && size as u32 as usize == size_of::<CallbackRecord>()
            && (argument == 0 || context == Some(first))
    };
    match place {
        Some(place) => is_record((*to as usize).wrapping_sub(place)),
        None => {
            let nearest = (*to as usize).saturating_sub(NEAR).max(frame.stack as usize) & !7;
            (nearest..nearest + 2 * NEAR).step_by(8).any(is_record)
        }
    }
}

const RECORD_WORDS: usize = size_of::<CallbackRecord>() / 8;

/// Remembers such a place.
fn remember(i: &Instance, caller: usize, slot: u32) {
    let Some([place, flag]) = CUTAP_ASKING.get(usize::from(is_function(slot))) else { return };
    // Its own flag may be told late, and never another's.
    if flag.compare_exchange(0, i.flag_at(LAUNCH_CALLBACK as usize), AcqRel, Acquire).is_ok() {
        place.store(caller, Release);
    }
}

/// By which such a call is counted.
pub fn reason(slot: u32) -> usize {
    if is_hidden(table::name_of(slot)) { diagnostic::HIDDEN_SELF_INDUCED } else { diagnostic::SELF_INDUCED }
}

/// True for the first of the two questions.
fn is_function(slot: u32) -> bool {
    table::name_of(slot) == KERNEL_FUNCTION
}

/// The runtime that makes a call from `caller`, if it reports launches.
fn asking(caller: usize) -> Option<&'static Instance> {
    instances::containing(caller).filter(|i| i.is_on(LAUNCH_CALLBACK as usize))
}

/// True when a call that is to be recorded is one. Calls that runtimes report are open then, so it is known where this
/// one stands.
pub fn is_one(thread_state: &mut ThreadState, caller: usize, slot: u32) -> bool {
    let name = table::name_of(slot);
    if fills(name).is_some() {
        return false;
    }
    let top = thread_state.top();
    if top.as_ref().is_some_and(|t| t.reported != 0) {
        return false;
    }
    let Some(i) = asking(caller) else { return false };
    match top {
        None => {
            if !is_hidden(name) {
                remember(i, caller, slot);
            }
            true
        }
        // A shared runtime's function that a binding led to, and that it has not reported yet.
        Some(t) if (t.slot as usize) < THUNKS && table::object_of(t.slot) == i.object.load(Relaxed) => {
            let name = table::name_of(t.slot);
            let name = name.strip_prefix(b"__").unwrap_or(name);
            // In a library with a runtime linked in, the functions of that object are the library's own.
            !is_named_as(Layer::RUNTIME, name) || is_launch(name)
        }
        _ => true,
    }
}

/// Counts a call while calls are only counted, as the program's or as one of these. No call is open then, but what a
/// runtime has reported is known; outside of that, what the runtime does next tells whose the call was.
pub fn counted(thread_state: &mut ThreadState, caller: usize, at: usize, slot: u32) {
    if is_one_counted(thread_state, caller, at, slot) {
        page::count(reason(slot), 1);
    } else if table::slot(slot).is_some_and(rules::is_wanted) {
        counts::add(thread_state, slot);
    }
}

fn is_one_counted(thread_state: &mut ThreadState, caller: usize, at: usize, slot: u32) -> bool {
    if thread_state.reported.wrapping_sub(at) < ONE_STACK {
        return false;
    }
    let Some(i) = asking(caller) else { return false };
    let name = table::name_of(slot);
    if is_hidden(name) {
        return finds_values(name);
    }
    if is_function(slot) {
        let is_known_caller = i.self_induced_callers.iter().any(|a| a.load(Relaxed) == caller);
        thread_state.unreported_lookup = if is_known_caller { (0, 0) } else { (caller, slot) };
        if is_known_caller {
            remember(i, caller, slot);
        }
        return is_known_caller;
    }
    let (before, _) = thread_state.unreported_lookup;
    if before != 0 && caller.wrapping_sub(before) < HELPER {
        was_one(i, thread_state);
    }
    thread_state.unreported_lookup = (0, 0);
    remember(i, caller, slot);
    true
}

/// A runtime reports a call at `at` while calls are only counted. Where it asked just before for the kernel of a
/// launch, and in vain, it did not continue to ask for the name.
#[inline(always)]
pub fn reported(i: &Instance, thread_state: &mut ThreadState, at: usize, launch: bool) {
    thread_state.reported = at;
    if thread_state.unreported_lookup.0 != 0 {
        if launch && i.version.load(Relaxed) >= LOOKS_FOR_KERNEL_NAME {
            was_one(i, thread_state);
        }
        thread_state.unreported_lookup = (0, 0);
    }
}

/// What was asked last was self-induced, and counted as the program's.
#[cold]
fn was_one(i: &Instance, thread_state: &mut ThreadState) {
    let (before, slot) = thread_state.unreported_lookup;
    counts::take_back(thread_state, slot);
    page::count(diagnostic::SELF_INDUCED, 1);
    // Beyond the places that are remembered it goes like this each time.
    if let Some(free) = i.self_induced_callers.iter().find(|a| a.load(Relaxed) == 0) {
        free.store(before, Relaxed);
    }
}
