//! What a runtime instance reports: by its copy of the driver's callback table a094798c (`instances`)
//! every public runtime function, of shared and static runtimes, calls us at enter and exit.
//!
//! A record of the runtime's is read where the document says, and nothing else of the runtime is
//! touched. A profiler that switched the driver's own flag gets the call too.
//!
//! Limits, which nothing counts:
//! - A static runtime that has torn itself down at exit returns 4 (cudaErrorCudartUnloading), and reports nothing.
//! - `cudaGetExportTable` of a static runtime has no callback.
//! - `cudaRuntimeGetVersion` and others that need no initialised runtime are not reported before it is.
//! - Runtimes before 13 do not give the kernel's name at the first launch of a kernel of a late library. Nor do
//!   they at a launch that is the first runtime call of its thread, or that they refuse.
//! - A static 11.8 may give the name of another thread's launch in these cases.
//! - A shared 11.8 may give the name of a closed library's kernel, for a library that was opened at the same place.

use super::callback_record::{BLOCK_WORDS, CallbackRecord, block_words};
use super::discover::{UNWANTED, introduce, name, name_of};
use super::instances::{ALL, Function, ISSUE, Instance};
use super::{function, own_calls, rules, suppress};
use crate::capture::exit::{EndedCall, exit_by_plan};
use crate::capture::{self, Call, call_stack};
use crate::process::{fork, switch};
use crate::python;
use crate::ring::counts::{self, THUNKS};
use crate::ring::reserve::calls;
use crate::ring::thread_state::{self, OpenCall, ThreadState};
use crate::ring::{record, thread_states};
use crate::slots::rows::{self, row};
use crate::slots::{hooks, plan, table};
use crate::sys;
use crate::sys::arch::Registers;
use core::mem::MaybeUninit;
use core::sync::atomic::Ordering::*;
use cutap_wire::record::note;

/// Slot 1 of a copy: a runtime function begins or ends. The runtime ignores what is returned.
///
/// # Safety
/// The runtime's record, on its stack, or null.
#[inline(always)]
pub unsafe fn on_callback(id: u32, data: *const CallbackRecord, n: u32) -> u32 {
    let (Some(i), false) = (ALL.get(n as usize), data.is_null()) else { return 0 };
    // SAFETY: the runtime's record, on its stack.
    let record = unsafe { &*data };
    fork::check();
    match record.phase {
        0 if switch::counting() && counted(i, id, record) => {}
        0 => {
            discover(i, n, record);
            enter(i, n, id, record, None);
        }
        _ => exit(i, id, record, None),
    }
    forward(i, id, record)
}

/// The same, where stacks are kept: with the registers that the runtime's function keeps for its own caller.
///
/// # Safety
/// As `on_callback`.
#[inline(always)]
pub unsafe fn on_callback_with(id: u32, data: *const CallbackRecord, n: u32, registers: &Registers) -> u32 {
    let (Some(i), false) = (ALL.get(n as usize), data.is_null()) else { return 0 };
    // SAFETY: the runtime's record, on its stack.
    let record = unsafe { &*data };
    fork::check();
    match record.phase {
        0 => {
            discover(i, n, record);
            enter(i, n, id, record, Some(registers));
        }
        _ => exit(i, id, record, None),
    }
    forward(i, id, record)
}

/// To a profiler, if it switched the driver's own flag.
pub fn forward(i: &Instance, id: u32, data: &CallbackRecord) -> u32 {
    let flags = i.driver_flags.load(Relaxed);
    // SAFETY: the driver's flag array has `count` entries.
    let theirs = (id as usize) < i.count.load(Relaxed) && unsafe { flags.add(id as usize).read_volatile() } != 0;
    if theirs {
        // SAFETY: slot 1 of the driver's table, with what the runtime gave us.
        unsafe {
            let issue = (i.driver.load(Relaxed) as *const usize).add(ISSUE).read();
            return core::mem::transmute::<usize, unsafe extern "C" fn(u32, *const CallbackRecord) -> u32>(issue)(
                id, data,
            );
        }
    }
    0
}

/// An instance makes itself known at its first call.
pub fn discover(i: &Instance, n: u32, r: &CallbackRecord) {
    if i.introduced.load(Acquire) != 2 {
        introduce(i, n, r);
    }
}

/// Counts a call of a function that has its number and its room. False: `enter` must look at it.
#[inline(always)]
fn counted(i: &Instance, id: u32, r: &CallbackRecord) -> bool {
    let Some(f) = i.functions.get(id as usize) else { return false };
    let (slot, Some(thread_state)) = (f.slot(), thread_state::existing()) else { return false };
    if slot == 0
        || slot == UNWANTED
        || thread_state.inside
        || thread_state.depth != 0
        || !i.is_on(id as usize)
        || switch::rules_changed()
    {
        return false;
    }
    counts::add(thread_state, slot);
    own_calls::reported(i, thread_state, &raw const *r as usize, f.launch.load(Relaxed));
    if f.bound() < function::ENOUGH {
        counted_closer(i, id, f, thread_state, slot, r);
    }
    true
}

/// Looks whether the calls of a function come through its slot.
#[cold]
fn counted_closer(i: &Instance, id: u32, f: &Function, thread_state: &ThreadState, slot: u32, r: &CallbackRecord) {
    suppress::counted(i, id as usize, f, thread_state, slot, name_of(i, id, r));
}

/// A call begins: its record, and its stack if that is wanted and the runtime's registers are known.
pub fn enter(i: &Instance, n: u32, id: u32, r: &CallbackRecord, registers: Option<&Registers>) {
    let counting = switch::counting();
    let Some(thread_state) =
        (if counting { thread_states::current().filter(|thread_state| !thread_state.inside) } else { record::ready() })
    else {
        return count_unrecorded(i, id);
    };
    if switch::rules_changed() {
        rules::apply_rules();
    }
    let Some(f) = i.functions.get(id as usize) else { return };
    let at = &raw const *r as usize;
    thread_state.leave_below(at);
    // A shared runtime's function that a hook called past its slot: no record, and not the report of the call that has
    // the hook.
    if !i.linked.load(Relaxed) && hooks::is_hooks_own(thread_state.top().map(|t| t.frame), at) {
        return;
    }
    let mut slot = f.slot();
    if slot == 0 {
        let rules = switch::rules();
        slot = name(i, f, n, id, r);
        f.set_slot(slot);
        if switch::rules() != rules {
            i.ask_again_of(id as usize);
        }
    }
    if !i.is_on(id as usize) || slot == UNWANTED {
        return;
    }
    if counting {
        own_calls::reported(i, thread_state, at, f.launch.load(Relaxed));
        return counts::add(thread_state, slot);
    }
    // A shared runtime's function that a binding led to: one call, one record.
    let object = i.object.load(Relaxed);
    let met = f.twin.load(Relaxed) != 0;
    if let Some(top) = thread_state.top()
        && top.reported == 0
        && (top.slot as usize) < THUNKS
        && table::object_of(top.slot) == object
        && is_twin(f, top.slot, r)
    {
        top.reported = at;
        // One that is counted has no record.
        if f.chatter.load(Relaxed) {
            return;
        }
        let number = top.number;
        // It began before the instance had told its name; later ones are known by their object.
        if !met {
            record::write_note(thread_state, at, number, note::INSTANCE, n.into());
        }
        return kernel(thread_state, f, number, r);
    }
    suppress::another_way(f);
    if f.chatter.load(Relaxed) {
        let call = OpenCall { number: 0, slot, frame: at, reported: at };
        return thread_state.push_counted(calls(thread_state), call);
    }
    if let Some(number) = begin(thread_state, f, r, slot) {
        kernel(thread_state, f, number, r);
        if let Some(registers) = registers.filter(|_| f.stack.load(Relaxed)) {
            call_stack::keep_of_callback(thread_state, at, number, registers);
        }
        if f.python.load(Relaxed) {
            python::keep(thread_state, at, number);
        }
    }
}

/// Writes the enter record of a call; its number.
#[inline(always)]
fn begin(thread_state: &mut ThreadState, f: &Function, r: &CallbackRecord, slot: u32) -> Option<u32> {
    let at = &raw const *r as usize;
    let call = OpenCall { number: 0, slot, frame: at, reported: at };
    let caller = caller(r);
    match fast_words(thread_state, f, r, at) {
        Some(words) => record::enter(thread_state, call, caller, [words]),
        None => enter_by_steps(thread_state, call, caller, f, r),
    }
}

#[inline(never)]
fn enter_by_steps(
    thread_state: &mut ThreadState,
    call: OpenCall,
    caller: usize,
    f: &Function,
    r: &CallbackRecord,
) -> Option<u32> {
    let remembered = f.row.load(Relaxed);
    with_block(thread_state, r, remembered, |thread_state, words| match rows::of(remembered) {
        Some(row) if remembered & row::BEFORE != 0 => {
            let of_block = Call { words: [words, &[]], result: 0, floats: [0; 2], driver: 0 };
            capture::inputs(thread_state, row, &of_block, call.frame, |thread_state, words| {
                record::enter(thread_state, call, caller, words)
            })
        }
        _ => record::enter(thread_state, call, caller, [words]),
    })
}

/// A call that is not recorded. One that a binding led to was counted there.
#[cold]
fn count_unrecorded(i: &Instance, id: u32) {
    if i.is_on(id as usize) && i.functions.get(id as usize).is_some_and(|f| f.twin.load(Relaxed) == 0) {
        switch::count_unrecorded();
    }
}

/// The name is the same as the one that the binding's slot has.
fn is_twin(f: &Function, slot: u32, r: &CallbackRecord) -> bool {
    if f.twin.load(Relaxed) == slot + 1 {
        return true;
    }
    // SAFETY: the runtime's string constant.
    let same = unsafe { sys::text(r.name, 256) } == table::name_of(slot);
    if same {
        f.twin.store(slot + 1, Relaxed);
    }
    same
}

/// A call ends: its record. With `answer`, a hook answered it, and the runtime knows no result.
pub fn exit(i: &Instance, id: u32, r: &CallbackRecord, answer: Option<u64>) {
    // A call that began is ended, also when recording was switched off in it.
    let Some(thread_state) = thread_state::existing().filter(|thread_state| !thread_state.inside) else { return };
    let at = &raw const *r as usize;
    thread_state.reported = 0;
    let open_call = thread_state.open.iter().take(thread_state.depth).rfind(|c| c.reported == at).copied();
    let Some(mut call) = open_call else { return };
    let bound = (call.slot as usize) < THUNKS;
    if let (true, Some(f)) = (bound, i.functions.get(id as usize)) {
        // What calls inside tell is not known of a call that is counted: as under -C, its slot is believed.
        let has_calls = f.chatter.load(Relaxed) || calls(thread_state).wrapping_sub(1) != call.number;
        suppress::through_slot(i, id as usize, f, has_calls);
    }
    if bound {
        return;
    }
    // SAFETY: the runtime's variable; null for the three functions that return no error code.
    let result = answer.unwrap_or_else(|| unsafe { r.result.as_ref() }.map_or(0, |r| u64::from(*r)));
    let Some(f) = i.functions.get(id as usize) else { return };
    let succeeded = result as u32 == 0;
    if f.chatter.load(Relaxed) {
        thread_state.pop_counted(at);
        if succeeded {
            return counts::add(thread_state, call.slot);
        }
        // It failed: both of its records are written now.
        let Some(number) = begin(thread_state, f, r, call.slot) else { return };
        call.number = number;
    }
    let hidden = !succeeded && hooks::succeeded(call.number);
    if !succeeded && python::is_on() {
        python::keep_of_failed(thread_state, at, call.number, name_of(i, id, r));
    }
    let recorded = match fast_words(thread_state, f, r, at) {
        Some(words) if !hidden => {
            exit_by_plan(f.plan.load(Relaxed), thread_state, &EndedCall { number: call.number, at, result, words })
        }
        _ => false,
    };
    if !recorded {
        exit_by_steps(
            thread_state,
            &EndedCall { number: call.number, at, result, words: &[] },
            succeeded || hidden,
            f,
            r,
        );
    }
}

#[inline(never)]
fn exit_by_steps(thread_state: &mut ThreadState, call: &EndedCall, succeeded: bool, f: &Function, r: &CallbackRecord) {
    let (&EndedCall { number, at, result, .. }, remembered) = (call, f.row.load(Relaxed));
    match rows::of(remembered) {
        Some(row) if remembered & row::AFTER != 0 => with_block(thread_state, r, remembered, |thread_state, words| {
            let of_block = Call { words: [words, &[]], result, floats: [0; 2], driver: 0 };
            capture::outputs(thread_state, row, &of_block, succeeded, at, |thread_state, words| {
                record::exit(thread_state, at, number, words)
            });
        }),
        _ => record::exit(thread_state, at, number, &[result]),
    }
}

/// The words of a function that needs nothing else on the way in, where they stand: on the stack, as far as it is
/// known.
#[inline(always)]
fn fast_words<'a>(thread_state: &mut ThreadState, f: &Function, r: &CallbackRecord, at: usize) -> Option<&'a [u64]> {
    let n = plan::words(f.plan.load(Relaxed))?;
    let words = r.parameters;
    let (words_at, len) = (words as usize, n * 8);
    let on_stack = thread_state.stack.contains(words_at, len) || thread_state.stack.with(at).contains(words_at, len);
    let is_readable = n == 0 || on_stack && words_at.is_multiple_of(8);
    // SAFETY: the thread's own stack; the runtime does not change the block while it reports the call.
    is_readable.then(|| if n == 0 { &[][..] } else { unsafe { core::slice::from_raw_parts(words, n) } })
}

/// The words of the parameter block, which lies on the runtime's stack: what its page holds is mapped, the
/// page behind it is asked of the kernel. A word that cannot be read is 0.
#[inline(always)]
fn with_block<R>(
    thread_state: &mut ThreadState,
    r: &CallbackRecord,
    remembered: u32,
    then: impl FnOnce(&mut ThreadState, &[u64]) -> R,
) -> R {
    let mut words = [MaybeUninit::<u64>::uninit(); BLOCK_WORDS];
    let at = r.parameters as usize;
    let n = if at == 0 { 0 } else { block_words(remembered) };
    let in_page = (4096 - (at & 4095)) / 8;
    let readable_words = if in_page >= n || readable(thread_state, at, n) { n } else { in_page };
    for (k, w) in words.iter_mut().enumerate().take(n) {
        // SAFETY: as said above.
        w.write(if k < readable_words { unsafe { (at as *const u64).add(k).read_unaligned() } } else { 0 });
    }
    // SAFETY: `n` words were written, no more than there are.
    then(thread_state, unsafe { core::slice::from_raw_parts(words.as_ptr().cast(), n) })
}

/// True when the words behind the page in which they begin can be read too.
#[inline(never)]
fn readable(thread_state: &mut ThreadState, at: usize, words: usize) -> bool {
    thread_state.stack.with(at).contains(at, words * 8) || sys::readable((at | 4095) + 1)
}

/// Where the call came from is not in the record; the function's own object is.
fn caller(r: &CallbackRecord) -> usize {
    r.export_table.map_or(0, |f| f as usize)
}

/// A launch's kernel, from the record: without a call of the driver.
#[inline(always)]
fn kernel(thread_state: &mut ThreadState, f: &Function, number: u32, r: &CallbackRecord) {
    // 11.x leaves garbage there for other functions.
    if f.launch.load(Relaxed) {
        launched(thread_state, number, r);
    }
}

/// Records the kernel's name of a launch.
pub fn launched(thread_state: &mut ThreadState, number: u32, r: &CallbackRecord) {
    if !r.kernel.is_null() {
        let id = crate::capture::handles::kernel_name(r.kernel);
        if id != 0 {
            record::write_note(thread_state, &raw const *r as usize, number, note::KERNEL, id.into());
        }
    }
}
