//! All objects of the driver, behind one lock. The lock must not be held while code of the program runs, such as host
//! functions and destructors, or while data is copied.

use super::array::ArrayState;
use super::code::CodeState;
use super::context::ContextState;
use super::graph::GraphState;
use super::handle::Handle;
use super::memory::MemoryState;
use super::reservation::ReservationState;
use super::stream::StreamState;
use cutap_machine::PerProcess;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

#[derive(Default)]
pub struct DriverState {
    pub context: ContextState,
    pub stream: StreamState,
    pub memory: MemoryState,
    pub reservation: ReservationState,
    pub array: ArrayState,
    pub code: CodeState,
    pub graph: GraphState,
    last_handle: u64,
    last_order: u64,
}

/// A forked child cannot use the driver. Code of the driver that a signal handler interrupted may still run there, with
/// a state of the child.
static STATE: PerProcess<Mutex<DriverState>> = PerProcess::empty();

/// Notified when an operation of a stream has completed, and when a stream has one more.
pub static CHANGED: Condvar = Condvar::new();

pub type Guard = MutexGuard<'static, DriverState>;

pub fn driver_state() -> Guard {
    STATE.get(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

impl DriverState {
    pub fn new_handle(&mut self) -> Handle {
        self.last_handle += 1;
        Handle(0x4000_0000_0000 + self.last_handle * 0x100)
    }

    /// The next number in the common order of operations, contexts, allocations and captures.
    pub fn next_order(&mut self) -> u64 {
        self.last_order += 1;
        self.last_order
    }
}
