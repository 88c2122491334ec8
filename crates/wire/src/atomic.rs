//! The atomics of a ring. They are the processor's. In this crate's own tests each access is a place where
//! a signal may come (`stepping`), and with the feature `loom` they are loom's, which tries all orders in
//! which another processor may see them. The algorithm in `ring.rs` is the same text for all three.

#[cfg(not(any(test, feature = "loom")))]
pub use core::sync::atomic::{AtomicU32, AtomicU64};
#[cfg(feature = "loom")]
pub use loom::sync::atomic::{AtomicU32, AtomicU64};
#[cfg(all(test, not(feature = "loom")))]
pub use stepping::{AtomicU32, AtomicU64};

/// Atomics that call a handler in the middle of whoever uses them.
#[cfg(all(test, not(feature = "loom")))]
pub mod stepping {
    use core::sync::atomic::{self, Ordering};
    use std::cell::{Cell, RefCell};

    type Handler = fn(u32);

    thread_local! {
        /// Accesses until the next interruption; none: no more.
        static LEFT: Cell<Option<u32>> = const { Cell::new(None) };
        /// Accesses of the handler after which it is interrupted itself, the outermost last.
        static NESTED: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
        static HANDLER: Cell<Option<Handler>> = const { Cell::new(None) };
        static STEPS: Cell<u32> = const { Cell::new(0) };
    }

    /// Interrupts at access `steps[0]` by `handler(1)`, that one at its access `steps[1]` by `handler(2)`, ...
    pub fn interrupt(steps: &[u32], handler: Handler) {
        STEPS.set(0);
        HANDLER.set(Some(handler));
        LEFT.set(steps.first().copied());
        NESTED.replace(steps.iter().skip(1).rev().copied().collect());
    }

    /// Accesses of whoever is not a handler, since `interrupt`.
    pub fn steps() -> u32 {
        STEPS.get()
    }

    /// Runs something during which no signal comes.
    pub fn blocked<T>(work: impl FnOnce() -> T) -> T {
        let remaining = LEFT.take();
        let result = work();
        LEFT.set(remaining);
        result
    }

    fn step() {
        STEPS.set(STEPS.get() + 1);
        match LEFT.get() {
            Some(0) => {
                let (steps, depth) = (STEPS.get(), NESTED.with_borrow(|n| n.len()) as u32);
                LEFT.set(NESTED.with_borrow_mut(|n| n.pop()));
                if let Some(handler) = HANDLER.get() {
                    handler(depth);
                }
                LEFT.set(None);
                STEPS.set(steps);
            }
            Some(n) => LEFT.set(Some(n - 1)),
            None => {}
        }
    }

    macro_rules! atomics {
        ($($name:ident $value:ident),*) => { $(
            /// See the module.
            #[repr(transparent)]
            #[derive(Debug)]
            pub struct $name(atomic::$name);
            impl $name {
                /// Loads.
                pub fn load(&self, order: Ordering) -> $value {
                    step();
                    self.0.load(order)
                }
                /// Stores.
                pub fn store(&self, value: $value, order: Ordering) {
                    step();
                    self.0.store(value, order);
                }
                /// Where it is, for one instruction.
                pub fn as_ptr(&self) -> *mut $value {
                    step();
                    self.0.as_ptr()
                }
            }
        )* };
    }
    atomics!(AtomicU32 u32, AtomicU64 u64);
}
