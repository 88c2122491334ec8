//! A reader of events by their kind. A kind that a reader has no method for does nothing, so a new kind of event
//! changes only the readers that need it.

use super::call::{Call, Exit};
use super::gpu_row::GpuRow;
use super::lookup::Lookup;
use super::process::{Instance, Module, Process};
use std::sync::Arc;

/// A result of a visitor's methods: `()`, or a `Result` of nothing.
pub trait Outcome {
    /// The result where nothing was done.
    fn of_nothing() -> Self;
}

impl Outcome for () {
    fn of_nothing() {}
}

impl<E> Outcome for Result<(), E> {
    fn of_nothing() -> Result<(), E> {
        Ok(())
    }
}

/// Takes events. One method for each kind; [`super::Event::visit`] calls it.
pub trait EventVisitor<O: Outcome = ()> {
    /// A process was seen for the first time.
    fn process(&mut self, _: &Arc<Process>) -> O {
        O::of_nothing()
    }
    /// A runtime instance was found at this time, CLOCK_MONOTONIC.
    fn instance(&mut self, _: &Arc<Instance>, _ns: u64) -> O {
        O::of_nothing()
    }
    /// A call began.
    fn enter(&mut self, _: &Call) -> O {
        O::of_nothing()
    }
    /// A call began whose end is never recorded.
    fn enter_without_exit(&mut self, call: &Call) -> O {
        self.enter(call)
    }
    /// Something became known of an open call.
    fn update(&mut self, _: &Call) -> O {
        O::of_nothing()
    }
    /// A call ended.
    fn exit(&mut self, _: &Exit) -> O {
        O::of_nothing()
    }
    /// A look-up was answered.
    fn lookup(&mut self, _: &Lookup) -> O {
        O::of_nothing()
    }
    /// A row of GPU time was delivered.
    fn row(&mut self, _: &GpuRow) -> O {
        O::of_nothing()
    }
    /// A module image was kept.
    fn module(&mut self, _: &Module) -> O {
        O::of_nothing()
    }
}
