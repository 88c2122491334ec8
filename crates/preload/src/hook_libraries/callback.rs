//! The hooks of calls that a runtime reports by its callback table: between enter and exit they are two
//! callbacks, so the hooks' words wait in the thread's entry. A shared runtime's function that a binding
//! led to has had its hooks there, and is passed by here.

use super::chain::{Chain, Doing, Home};
use super::functions::{self, Found, Info};
use super::open::is_twin;
use super::open_call::OpenRuntime;
use super::{errors, exported, forced, thread};
use crate::process::{armed, fork};
use crate::ring::record;
use crate::runtime::callback_record::{self, CallbackRecord};
use crate::runtime::instances::{ALL, Function, Instance, PROFILER};
use crate::runtime::{callbacks, discover};
use crate::slots::{table, unwound};
use crate::sys::arch::Registers;
use core::ffi::{c_int, c_void};
use core::mem::offset_of;
use core::sync::atomic::Ordering::*;
use cutap_calls::Layer;
use cutap_hook::contract::{CAN_ANSWER, CAN_RESULT, RUNTIME};
use cutap_wire::flags;

/// A callback as it stands in its frame. The assembler knows the first fields.
#[repr(C)]
pub struct Reported {
    registers: Registers,
    id: u32,
    n: u32,
    record: *const CallbackRecord,
    result: u64,
    /// What the driver's own callback function returned.
    issued: u32,
    /// Phase of the record.
    phase: u32,
    real: u64,
    /// The hooks of this function run, or ran.
    hooked: bool,
    chain: Chain,
}

/// Of the frame.
pub const BYTES: usize = size_of::<Reported>().next_multiple_of(16);
/// Offset of the chain in it.
pub const CHAIN: usize = offset_of!(Reported, chain);
const _: () = {
    assert!(offset_of!(Reported, id) == 64);
    assert!(offset_of!(Reported, record) == 72);
    assert!(offset_of!(Reported, result) == 80);
    assert!(offset_of!(Reported, issued) == 88);
};

/// Whether hooks want this function: 0 not looked at, else one of these, or an [`Info`].
const NOBODY: usize = 1;
const ASKS: usize = 2;

fn info_of(f: &Function) -> Option<&'static Info> {
    let at = f.hooks.load(Acquire);
    // SAFETY: an `Info` that stays.
    (at > ASKS).then(|| unsafe { &*(at as *const Info) })
}

/// Looks once whether hooks want a function.
#[cold]
fn resolve_hooks(i: &Instance, f: &Function, r: &Reported, record: &CallbackRecord) {
    let name = discover::name_of(i, r.id, record);
    let layout = forced::find(f, r.registers.next);
    let existing_slot = f.slot();
    let object = i.object.load(Relaxed);
    let original = exported::exported(object, name);
    let (created, recorded) = discover::with_library(i, |library| {
        let recorded = armed::is_selected_now(Layer::RUNTIME.number(), library, name);
        let version = i.version.load(Relaxed);
        let has_result = !record.result.is_null();
        let can = if has_result { CAN_RESULT } else { 0 } | if layout.is_ok() { CAN_ANSWER } else { 0 };
        let why = Some(match layout {
            Ok(_) if !has_result => {
                &b"its arguments cannot be changed in place, and its result, of which the runtime tells nothing, not at all: it can be answered\0"[..]
            }
            Ok(_) if !original.is_null() => {
                b"its arguments cannot be changed in place: answer it, and call the runtime's own function\0"
            }
            Ok(_) => {
                b"its arguments cannot be changed in place, and its address is not known: it can be answered\0"
            }
            Err(reason) => forced::why(reason),
        });
        let mut target = Found {
            layer: RUNTIME,
            library,
            name,
            version,
            slot: existing_slot,
            object,
            reported: Some((r.n + 1, version)),
            can,
            why,
            original: original.expose_provenance(),
        };
        if existing_slot == 0 || existing_slot == u32::MAX {
            let is_hooked = super::library::wanting(RUNTIME, library, name).next().is_some();
            target.slot = if is_hooked { table::runtime_slot(r.n, r.id, 6, name) } else { 0 };
        }
        (functions::create(&target), recorded)
    });
    let state = match created {
        Some(info) => core::ptr::from_ref(info) as usize,
        None if errors::reads_last_error(name) => ASKS,
        None => NOBODY,
    };
    // Two threads may look at the same time: what the first found counts.
    let _ = f.hooks.compare_exchange(0, state, AcqRel, Acquire);
    let armed = match state {
        NOBODY if PROFILER.load(Relaxed) => flags::ALWAYS,
        NOBODY if recorded => flags::FOLLOWS,
        NOBODY => flags::NEVER,
        _ => flags::ALWAYS,
    };
    i.arm(r.id as usize, armed);
}

/// The callback begins.
///
/// # Safety
/// The assembler's frame.
#[inline(always)]
pub unsafe fn begin(reported: *mut Reported) {
    // SAFETY: the assembler's frame; what is read of the chain is written first.
    let r = unsafe { &mut *reported };
    r.chain.doing = Doing::Nothing;
    r.chain.answered = 0;
    (r.issued, r.phase, r.hooked) = (0, 0, false);
    // SAFETY: the runtime's record, on its stack.
    let (Some(i), Some(record)) = (ALL.get(r.n as usize), unsafe { r.record.as_ref() }) else { return };
    if thread::existing().is_some_and(|t| t.is_asking(reported as usize)) {
        r.record = core::ptr::null();
        return;
    }
    r.phase = record.phase;
    fork::check();
    if r.phase == 0 {
        callbacks::discover(i, r.n, record);
        callbacks::enter(i, r.n, r.id, record, Some(&r.registers));
    }
    let Some(f) = i.functions.get(r.id as usize) else { return };
    if f.hooks.load(Acquire) == 0 {
        resolve_hooks(i, f, r, record);
    }
    let Some(info) = info_of(f) else { return };
    let at = r.record as usize;
    let frame = reported as usize;
    // SAFETY: the runtime's variable; null for functions that return no error code.
    r.real = unsafe { record.result.as_ref() }.map_or(0, |v| u64::from(*v));
    r.result = r.real;
    let kernel = if callback_record::is_launch(info.name) { record.kernel } else { core::ptr::null() };
    if r.phase == 0 {
        if thread::existing().is_some_and(|t| !t.is_inside(frame) && is_twin(t, info, frame, at, kernel)) {
            return;
        }
        if !r.chain.begin(info, frame) {
            return;
        }
    } else {
        let Some(open) = thread::existing().and_then(|t| t.take(at)) else { return };
        if !r.chain.begin(info, frame) {
            return;
        }
        (r.chain.doing, r.chain.ran, r.chain.words) = (Doing::After, open.ran, open.words);
        // Its hooks see what the program would get without them.
        if errors::reads_last_error(info.name) {
            r.real = errors::error_for_program(info.object, info.name, r.real as u32).into();
            r.result = r.real;
        }
    }
    r.hooked = true;
    r.chain.returned_now = r.real;
    r.chain.home = Home::Parameters(record.parameters.cast(), kernel);
    r.chain.caller = 0;
    r.chain.result = &raw mut r.result;
    r.chain.result_vectors = core::ptr::null_mut();
    let open = record::ready().and_then(|thread_state| thread_state.top().copied());
    r.chain.number = open.filter(|c| c.reported == at).map_or(0, |c| u64::from(c.number) + 1);
}

/// Between the hooks before and those after.
///
/// # Safety
/// The assembler's frame.
#[inline(always)]
pub unsafe fn turn(reported: *mut Reported) {
    // SAFETY: the assembler's frame.
    let r = unsafe { &mut *reported };
    if r.phase != 0 || r.chain.doing == Doing::Nothing {
        return r.chain.doing = Doing::Nothing;
    }
    if r.chain.is_answered() {
        return r.chain.turn();
    }
    let call = OpenRuntime {
        at: r.record as usize,
        info: r.chain.info,
        ran: r.chain.ran,
        words: r.chain.words,
        ..OpenRuntime::NONE
    };
    // SAFETY: this thread's own entry.
    unsafe { &mut *r.chain.thread }.push(call);
    r.chain.doing = Doing::Nothing;
}

/// Where a reported call returns to, while its callback runs; 0 if that is not known.
///
/// # Safety
/// The assembler's frame.
pub unsafe fn caller(reported: usize) -> usize {
    // SAFETY: the caller's promise.
    let r = unsafe { &*core::ptr::with_exposed_provenance::<Reported>(reported) };
    let function = ALL.get(r.n as usize).and_then(|i| i.functions.get(r.id as usize));
    let layout = function.and_then(|f| forced::find(f, r.registers.next).ok());
    layout.and_then(|l| forced::caller(l, &r.registers)).map_or(0, |back| back.next)
}

/// The end of the callback: null to continue, or the registers with which to return to the function's caller.
///
/// # Safety
/// The assembler's frame.
#[inline(always)]
pub unsafe fn end(reported: *mut Reported) -> *const Registers {
    // SAFETY: the assembler's frame.
    let r = unsafe { &mut *reported };
    let go_on = core::ptr::null();
    // SAFETY: the runtime's record.
    let (Some(i), Some(record)) = (ALL.get(r.n as usize), unsafe { r.record.as_ref() }) else { return go_on };
    if r.phase == 0 {
        if r.chain.is_answered()
            && let Some(f) = i.functions.get(r.id as usize)
            && let Some(info) = r.chain.info
        {
            let layout = forced::find(f, r.registers.next).ok();
            if let Some(back) = layout.and_then(|l| forced::caller(l, &r.registers)) {
                r.chain.keep_error(info, None, r.result as u32);
                callbacks::exit(i, r.id, record, Some(r.result));
                r.registers = back;
                return &raw const r.registers;
            }
            info.not_answered();
        }
        r.issued = callbacks::forward(i, r.id, record);
        return go_on;
    }
    finish_call(i, r, record);
    go_on
}

/// The call has ended: the result that the program gets, the record, the profiler.
fn finish_call(i: &Instance, r: &mut Reported, record: &CallbackRecord) {
    let state = i.functions.get(r.id as usize).map_or(NOBODY, |f| f.hooks.load(Relaxed));
    if state != NOBODY && !record.result.is_null() {
        let object = i.object.load(Relaxed);
        let name = discover::name_of(i, r.id, record);
        if errors::reads_last_error(name) {
            // What hooks made of it counts as it is.
            if !r.hooked {
                // SAFETY: the runtime's variable.
                r.result = errors::error_for_program(object, name, unsafe { record.result.read() }).into();
            }
        } else if let (true, Some(info)) = (r.hooked, r.chain.info) {
            r.chain.keep_error(info, Some(r.real as u32), r.result as u32);
        } else {
            // SAFETY: as above.
            r.result = unsafe { record.result.read() }.into();
        }
        // SAFETY: the runtime reads its variable again.
        unsafe { record.result.cast_mut().write(r.result as u32) };
    }
    callbacks::exit(i, r.id, record, None);
    r.issued = callbacks::forward(i, r.id, record);
}

/// The frame's personality routine: an exception leaves a hook, and with it the call that the runtime reports.
///
/// # Safety
/// The unwinder's own context.
#[inline(always)]
pub unsafe fn report_unwound(actions: c_int, context: *mut c_void) -> c_int {
    if actions & unwound::CLEANUP_PHASE != 0
        // SAFETY: the unwinder's own context; the frame's stack pointer during a call is where its fields begin.
        && let Some(at) = unsafe { unwound::frame_of(context) }
    {
        // A hook that is left may have forked.
        fork::check();
        if let Some(thread) = thread::existing() {
            // SAFETY: the assembler's frame, whose hook was running.
            thread.frame_unwound(at, || unsafe { (*(at as *const Reported)).chain.interrupted });
        }
        // SAFETY: as above.
        record::reported_unwound(unsafe { (*(at as *const Reported)).record } as usize);
    }
    unwound::CONTINUE_UNWIND
}
