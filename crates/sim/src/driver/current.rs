//! The calling thread's stack of contexts. Plain words without a destructor, so that a call from another
//! library's thread-exit code still finds it, and so that a thread does not pin this library.

use super::fault::{Answer, Fault};
use super::world::{Handle, World};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

const DEPTH: usize = 64;

struct Stack {
    depth: Cell<usize>,
    contexts: [Cell<u64>; DEPTH],
    thread: Cell<u64>,
    capture_mode: Cell<u32>,
    is_driver: Cell<bool>,
}

thread_local! {
    static STACK: Stack = const {
        Stack {
            depth: Cell::new(0),
            contexts: [const { Cell::new(0) }; DEPTH],
            thread: Cell::new(0),
            capture_mode: Cell::new(0),
            is_driver: Cell::new(false),
        }
    };
}

/// The current context, NULL if there is none.
pub fn get() -> Handle {
    STACK.with(|s| s.depth.get().checked_sub(1).map_or(Handle::NULL, |top| Handle(s.contexts[top].get())))
}

/// Replaces the current context; NULL takes it away.
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

/// The context that was current, NULL if there was none.
pub fn pop() -> Handle {
    let was = get();
    STACK.with(|s| s.depth.set(s.depth.get().saturating_sub(1)));
    was
}

/// The current context, which must be there and alive.
pub fn require(world: &World) -> Answer<Handle> {
    match get() {
        Handle::NULL => Err(Fault::INVALID_CONTEXT),
        context if world.contexts.contains_key(&context) => Ok(context),
        _ => Err(Fault::CONTEXT_IS_DESTROYED),
    }
}

/// A number of this thread that no other thread had or gets.
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

/// Whether this is the driver's own thread, which runs host functions and must never wait for itself.
pub fn is_driver_thread() -> bool {
    STACK.with(|s| s.is_driver.get())
}

pub fn become_driver_thread() {
    STACK.with(|s| s.is_driver.set(true));
}
