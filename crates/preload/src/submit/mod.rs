//! The layer `submit`: what a driver call adds to the rings of the GPU's channels is read back after it, from memory
//! that the driver's library has mapped. Nothing is written, and no system call is made for it but to test a page.
//!
//! * `track` follows requests to the kernel driver: which memory is where, which channels there are.
//! * `memory` has that memory.
//! * `rings` has the channels, with one cursor each, and writes what is new into this thread's ring.
//! * `commands` finds launch descriptors that are not among the commands.
//! * `callers` knows whether several threads may have submitted it.
//!
//! Meaning is outside: `cutap_rm::submit`.

mod callers;
mod commands;
mod lock;
mod memory;
mod rings;
mod track;

use crate::loader::live;
use crate::loader::objects::Object;
use crate::process::{armed, switch};
use crate::ring::record;
use crate::slots::extension::{Extension, Interceptor};
use crate::slots::frame::Frame;
use cutap_calls::{Layer, Role, has_role};
use cutap_wire::submission::flag;

/// The layer, for the constructor.
pub static LAYER: Extension = Extension {
    is_on,
    submits: is_submitting,
    follows: track::is_followed,
    announce,
    interceptor: Interceptor { before, after },
    before_request: track::before,
    after_request: track::after,
    close: memory::close,
    forked,
};

/// Whether the layer was asked for.
fn is_on() -> bool {
    armed::holds_layer(Layer::SUBMIT.number())
}

/// Whether the rings are looked at after calls of this driver function.
fn is_submitting(name: &[u8]) -> bool {
    !has_role(name, Role::NeverSubmits)
}

/// A function of the driver has the interceptor. Only under the loader's lock.
fn announce(driver: &Object) {
    // What makes the number of this load another than the driver's.
    const LOAD: u64 = 0x7375_626d_6974;
    rings::announce(&driver.as_load(Layer::SUBMIT.number(), live::load_id_as(driver, LOAD)));
}

/// The interceptor, on the way in.
fn before(frame: &mut Frame) -> bool {
    if let Some(thread_state) = record::ready() {
        frame.word = u64::from(callers::enter(&raw const *thread_state as usize, frame.stack as usize));
        if frame.word != 0 {
            lock::alone(|| rings::write_new_entries(thread_state, frame, flag::BEFORE));
        }
    }
    true
}

/// The interceptor, on the way out, before recording's.
fn after(frame: &mut Frame) {
    match record::ready() {
        // A call that cutap makes itself: the next look finds what it submitted.
        None if switch::recording() => {}
        None => rings::missed(),
        Some(thread_state) => {
            lock::alone(|| rings::write_new_entries(thread_state, frame, 0));
            if frame.word != 0 {
                callers::exit(&raw const *thread_state as usize);
            }
        }
    }
}

/// A forked child.
fn forked() {
    lock::forked();
    callers::forget();
    lock::alone(|| {
        // SAFETY: under the lock.
        unsafe { memory::forget() };
        rings::forget();
    });
}
