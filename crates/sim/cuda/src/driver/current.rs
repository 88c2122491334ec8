//! The calling thread's stack of contexts. Plain words without a destructor, so that a call from another
//! library's thread-exit code still finds it, and so that a thread does not pin this library.

use super::driver_state::{DriverState, Handle, driver_state};
use super::fault::{Answer, Fault};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

const DEPTH: usize = 64;

struct Stack {
    depth: Cell<usize>,
    contexts: [Cell<u64>; DEPTH],
    thread: Cell<u64>,
    capture_mode: Cell<u32>,
    is_driver: Cell<bool>,
    /// A context that was asked for, how many had ended by then, and what it is.
    asked: Cell<(u64, u64, Fixed)>,
}

thread_local! {
    static STACK: Stack = const {
        Stack {
            depth: Cell::new(0),
            contexts: [const { Cell::new(0) }; DEPTH],
            thread: Cell::new(0),
            capture_mode: Cell::new(0),
            is_driver: Cell::new(false),
            asked: Cell::new((0, 0, Fixed { device: 0, id: 0 })),
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
pub fn require(world: &DriverState) -> Answer<Handle> {
    match get() {
        Handle::NULL => Err(Fault::INVALID_CONTEXT),
        context if world.contexts.contains_key(&context) => Ok(context),
        _ => Err(Fault::CONTEXT_IS_DESTROYED),
    }
}

/// Contexts that have ended, of all threads.
static ENDED: AtomicU64 = AtomicU64::new(0);

/// A context is about to end.
pub fn one_ends() {
    ENDED.fetch_add(1, Ordering::AcqRel);
}

/// What never changes of a context.
#[derive(Clone, Copy)]
pub struct Fixed {
    pub device: i32,
    pub id: u64,
}

/// That of a context that is there. A thread that asks again needs no lock, for it may do so in a signal handler that came while it
/// held the lock itself: profilers' timers call cudaGetDevice.
pub fn fixed(context: Handle) -> Option<Fixed> {
    let (asked, before, known) = STACK.with(|s| s.asked.get());
    if context == Handle::NULL || (asked, before) == (context.0, ENDED.load(Ordering::Acquire)) {
        return (context != Handle::NULL).then_some(known);
    }
    // The first time no handler may come while the lock is held here.
    // SAFETY: two sets of our own.
    unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let found = ask(context);
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        found
    }
}

fn ask(context: Handle) -> Option<Fixed> {
    let world = driver_state();
    let known = world.contexts.get(&context).map(|c| Fixed { device: c.device, id: c.id })?;
    STACK.with(|s| s.asked.set((context.0, ENDED.load(Ordering::Acquire), known)));
    Some(known)
}

/// The current context's device.
pub fn device() -> Answer<i32> {
    match get() {
        Handle::NULL => Err(Fault::INVALID_CONTEXT),
        context => fixed(context).map(|c| c.device).ok_or(Fault::CONTEXT_IS_DESTROYED),
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
