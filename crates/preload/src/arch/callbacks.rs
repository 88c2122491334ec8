//! All functions that the assembler calls, by the names that it has for them.

use crate::capture::handles;
use crate::hook_libraries::callback::{self, Reported};
use crate::hook_libraries::chain::{Chain, Next};
use crate::hook_libraries::frame::{self as hooked_frame, Hooked};
use crate::interceptors::{call, fast_inputs, recording};
use crate::ring::thread_state::{self, ThreadState};
use crate::routes::first_call;
use crate::runtime::callback_record::CallbackRecord;
use crate::runtime::{callbacks, instances, own_calls_gate};
use crate::slots::fast_frame::{FastFrame, INPUTS_STACK_WORDS, PASSED};
use crate::slots::frame::Frame;
use crate::slots::unwound::{self, Exception};
use crate::sys::arch::Registers;
use core::ffi::{c_int, c_void};

/// A function with a frame of the assembler's.
macro_rules! of_frame {
    ($($(#[$doc:meta])* $name:ident: $frame:ty => $function:path $(, $result:ty)?;)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(frame: *mut $frame) $(-> $result)? {
            // SAFETY: the assembler's frame.
            $function(unsafe { &mut *frame })
        }
    )*};
}

of_frame! {
    /// Before a call in the common frame. 0: it was answered.
    cutap_before: Frame => call::begin, u32;
    /// After it.
    cutap_after: Frame => call::end;
    /// A C++ function. Gives the function.
    cutap_noted: Frame => call::record_entry, usize;
    /// A call that the gate could not count by itself. Gives the function.
    cutap_counted: Frame => call::count, usize;
    /// The first call through a word. Gives the function.
    cutap_bind: Frame => first_call::bind, usize;
    /// Before a call in the frame of calls with inputs.
    cutap_inputs_before: FastFrame => fast_inputs::before, i32;
    /// The next hook of a call.
    cutap_hook_step: Chain => Chain::step, Next;
}

/// A function with a frame that is not filled yet.
macro_rules! of_new_frame {
    ($($name:ident: $frame:ty => $function:path $(, $result:ty)?;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(frame: *mut $frame) $(-> $result)? {
            // SAFETY: the assembler's frame.
            unsafe { $function(frame) }
        }
    )*};
}

of_new_frame! {
    cutap_hooked_begin: Hooked => hooked_frame::begin;
    cutap_hooked_call: Hooked => hooked_frame::call;
    cutap_hooked_turn: Hooked => hooked_frame::turn;
    cutap_hooked_end: Hooked => hooked_frame::end;
    cutap_reported_begin: Reported => callback::begin;
    cutap_reported_turn: Reported => callback::turn;
    cutap_reported_end: Reported => callback::end, *const Registers;
}

/// The personality routine of a frame: it is being left.
macro_rules! personality {
    ($($name:ident($actions:ident, $exception:ident, $context:ident) => $leave:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            _version: c_int,
            $actions: c_int,
            _class: u64,
            $exception: *const Exception,
            $context: *mut c_void,
        ) -> c_int {
            // SAFETY: the unwinder's own exception and context.
            unsafe { $leave }
        }
    )*};
}

personality! {
    cutap_personality(actions, exception, context) => unwound::leave_frame(actions, exception, context);
    // During the call the frame's stack pointer is where its fields begin, or outgoing words below them.
    cutap_fast_personality(actions, exception, context) => unwound::leave_fast_frame(0, actions, exception, context);
    cutap_fast_unknown_personality(actions, exception, context) =>
        unwound::leave_fast_frame(PASSED, actions, exception, context);
    cutap_inputs_personality(actions, exception, context) =>
        unwound::leave_fast_frame(8 * INPUTS_STACK_WORDS, actions, exception, context);
    cutap_hooked_personality(actions, exception, context) => hooked_frame::frame_unwound(actions, exception, context);
    cutap_reported_personality(actions, _exception, context) => callback::report_unwound(actions, context);
}

/// After a call in a fast frame, in a rare case: its exit is not recorded yet, or (`recorded`) the call is not closed.
/// The assembler returns its result.
#[unsafe(no_mangle)]
unsafe extern "C" fn cutap_fast_after(frame: *const FastFrame, recorded: u32, origin: *const ThreadState) {
    // SAFETY: the assembler's frame, and the state of the thread in which the call began; thread states live
    // permanently.
    let (frame, origin) = unsafe { (&*frame, &*origin) };
    match recorded {
        0 => recording::after_fast(frame, origin),
        _ => recording::close_fast(frame),
    }
}

/// After a call in the frame of calls that are counted, where it failed or anything is not as usual. `origin` is the
/// state of the thread in which it began.
#[unsafe(no_mangle)]
unsafe extern "C" fn cutap_chatter_after(frame: *const FastFrame, origin: *const ThreadState) {
    // SAFETY: the assembler's frame; thread states live permanently.
    let (frame, origin) = unsafe { (&*frame, &*origin) };
    recording::after_counted(frame, origin);
}

/// What is to be done with a call that a runtime may make because cutap watches.
#[unsafe(no_mangle)]
extern "C" fn cutap_is_self_induced(caller: usize, at: usize, slot: usize) -> u32 {
    own_calls_gate::sort_out(caller, at, slot)
}

/// The driver has put a kernel's function to `place`.
#[unsafe(no_mangle)]
unsafe extern "C" fn cutap_handed_out(place: *const u64, kernel: u64) {
    if !place.is_null() {
        // SAFETY: the driver succeeded: it wrote the handle there.
        handles::function_of(unsafe { place.read() }, kernel);
    }
}

/// A runtime function begins or ends.
#[unsafe(no_mangle)]
unsafe extern "C" fn cutap_on_callback(id: u32, data: *const CallbackRecord, n: u32) -> u32 {
    // SAFETY: the runtime's record.
    unsafe { callbacks::on_callback(id, data, n) }
}

/// The same, where stacks are kept.
#[unsafe(no_mangle)]
unsafe extern "C" fn cutap_on_callback_with(
    id: u32,
    data: *const CallbackRecord,
    n: u32,
    registers: *const Registers,
) -> u32 {
    // SAFETY: the runtime's record, and the assembler's words.
    unsafe { callbacks::on_callback_with(id, data, n, &*registers) }
}

/// A runtime asks for the flags.
#[unsafe(no_mangle)]
unsafe extern "C" fn cutap_on_flags(flags: *mut *const c_void, entries: *mut usize, n: u32) {
    // SAFETY: the runtime's variables.
    unsafe { instances::flags(flags, entries, n) };
}

/// A launch has its record, and its kernel's name was not met before.
#[unsafe(no_mangle)]
unsafe extern "C" fn cutap_report_launched(number: u32, data: *const CallbackRecord) {
    if let Some(thread_state) = thread_state::existing() {
        // SAFETY: the runtime's record, on its stack.
        callbacks::launched(thread_state, number, unsafe { &*data });
    }
}

/// A call has its records, and is not the innermost open one.
#[unsafe(no_mangle)]
extern "C" fn cutap_report_closed(number: u32) {
    if let Some(thread_state) = thread_state::existing() {
        thread_state.pop(number);
    }
}
