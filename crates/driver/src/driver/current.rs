//! The calling thread's stack of contexts. It consists of plain words without a destructor. So a call from the
//! thread-exit code of another library still works, and a thread does not keep this library loaded.

use crate::abi::{Answer, Fault};
use crate::engine::machine;
use crate::host::thread::without_signals;
use crate::state::{DriverState, Handle, driver_state};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

const DEPTH: usize = 64;

struct Stack {
    depth: Cell<usize>,
    contexts: [Cell<u64>; DEPTH],
    thread: Cell<u64>,
    capture_mode: Cell<u32>,
    is_driver: Cell<bool>,
    /// The last context that was looked up, the number of contexts that had ended before, and the result.
    looked_up: Cell<(u64, u64, Fixed)>,
}

thread_local! {
    static STACK: Stack = const {
        Stack {
            depth: Cell::new(0),
            contexts: [const { Cell::new(0) }; DEPTH],
            thread: Cell::new(0),
            capture_mode: Cell::new(0),
            is_driver: Cell::new(false),
            looked_up: Cell::new((0, 0, Fixed { device: 0, id: 0 })),
        }
    };
}

/// The current context, NULL if there is none.
pub fn get() -> Handle {
    STACK.with(|s| s.depth.get().checked_sub(1).map_or(Handle::NULL, |top| Handle(s.contexts[top].get())))
}

/// Replaces the current context. NULL removes it.
pub fn set(context: Handle) {
    if context == Handle::NULL {
        pop();
    } else {
        STACK.with(|s| match s.depth.get().checked_sub(1) {
            Some(top) => s.contexts[top].set(context.0),
            None => {
                s.contexts[0].set(context.0);
                s.depth.set(1);
            }
        });
    }
}

pub fn push(context: Handle) -> Answer {
    STACK.with(|s| {
        let depth = s.depth.get();
        s.contexts.get(depth).ok_or(Fault::OUT_OF_MEMORY)?.set(context.0);
        s.depth.set(depth + 1);
        Ok(())
    })
}

/// Removes and returns the current context; NULL if there was none.
pub fn pop() -> Handle {
    let was = get();
    STACK.with(|s| s.depth.set(s.depth.get().saturating_sub(1)));
    was
}

/// The current context, if it exists.
pub fn require(state: &DriverState) -> Answer<Handle> {
    match get() {
        Handle::NULL => Err(Fault::INVALID_CONTEXT),
        // A fault of a kernel stays until the process ends.
        context if state.context.contexts.contains_key(&context) => machine().check().map(|()| context),
        _ => Err(Fault::CONTEXT_IS_DESTROYED),
    }
}

/// Number of contexts that have ended, in all threads.
static ENDED: AtomicU64 = AtomicU64::new(0);

/// Called before a context ends: invalidates the look-ups that threads remember.
pub fn context_ends() {
    ENDED.fetch_add(1, Ordering::AcqRel);
}

/// The properties of a context that never change.
#[derive(Clone, Copy)]
pub struct Fixed {
    pub device: i32,
    pub id: u64,
}

/// The fixed properties of a context. Repeated look-ups of one context take no lock. A signal handler may interrupt a
/// thread that holds the lock, and the timers of profilers call cudaGetDevice from a handler.
pub fn fixed(context: Handle) -> Option<Fixed> {
    let (cached_context, cached_ended, cached) = STACK.with(|s| s.looked_up.get());
    if context == Handle::NULL || (cached_context, cached_ended) == (context.0, ENDED.load(Ordering::Acquire)) {
        return (context != Handle::NULL).then_some(cached);
    }
    // The first look-up takes the lock, so signals are blocked meanwhile.
    without_signals(|| look_up(context))
}

fn look_up(context: Handle) -> Option<Fixed> {
    let state = driver_state();
    let fixed = state.context.contexts.get(&context).map(|c| Fixed { device: c.device, id: c.id })?;
    STACK.with(|s| s.looked_up.set((context.0, ENDED.load(Ordering::Acquire), fixed)));
    Some(fixed)
}

/// The current context's device.
pub fn device() -> Answer<i32> {
    match get() {
        Handle::NULL => Err(Fault::INVALID_CONTEXT),
        context => fixed(context).map(|c| c.device).ok_or(Fault::CONTEXT_IS_DESTROYED),
    }
}

/// A number of this thread, never reused for another one.
pub fn thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    STACK.with(|s| {
        if s.thread.get() == 0 {
            s.thread.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        s.thread.get()
    })
}

/// cuThreadExchangeStreamCaptureMode.
pub fn exchange_capture_mode(mode: u32) -> u32 {
    STACK.with(|s| s.capture_mode.replace(mode))
}

pub fn capture_mode() -> u32 {
    STACK.with(|s| s.capture_mode.get())
}

/// Whether this is the driver thread, which runs host functions and must never wait for itself.
pub fn is_driver_thread() -> bool {
    STACK.with(|s| s.is_driver.get())
}

pub fn become_driver_thread() {
    STACK.with(|s| s.is_driver.set(true));
}
