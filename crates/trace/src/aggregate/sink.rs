//! The interface of those who add up calls, and the data that they get for each.

use crate::event::gpu_row::GpuWork;
use crate::event::{Function, Instance, State, Thread};
use std::sync::Arc;

/// Who adds up.
pub trait CallSink {
    /// A call that is shown begins inside the one of `place`: what this returned for it, 0 for none.
    fn enter(&mut self, place: u32, function: &Arc<Function>) -> u32;
    /// A call that is shown is over.
    fn exit(&mut self, call: &FinishedCall<'_>);
    /// All calls of a thread's ring were handed out but those that never ended. These come after all rings.
    fn ring_ends(&mut self) {}
    /// Whether it wants to know which object makes each outermost call.
    fn wants_callers(&self) -> bool {
        false
    }
    /// Code of this object makes the outermost call that begins next: the place that the call is inside.
    fn called_from(&mut self, _object: &Arc<str>) -> u32 {
        0
    }
    /// Whether it wants to be told of launches.
    fn wants_launches(&self) -> bool {
        false
    }
    /// A launch of a kernel has finished: told once of each, however many calls it is made of.
    fn launched(&mut self, _launch: &KernelLaunch) {}
    /// The GPU did something: a row of GPU time.
    fn gpu_row(&mut self) {}
    /// The rows of a process are kept, or why they are not (`cutap_wire::rows::reason`). Times may be invented.
    fn gpu_collection(&mut self, _reason: u32, _is_simulated: bool) {}
    /// Calls of this function went to this instance. Said at the end, of each function that was called.
    fn function_instance(&mut self, function: &Arc<Function>, instance: &Arc<Instance>);
}

/// A call that is over.
#[derive(Debug)]
pub struct FinishedCall<'a> {
    /// What [`CallSink::enter`] returned for it.
    pub place: u32,
    /// Its number in the thread's ring.
    pub number: u32,
    /// What was called.
    pub function: &'a Arc<Function>,
    /// Who called.
    pub thread: &'a Arc<Thread>,
    /// How long it took; of an unfinished one until the end of the run. `None` when nothing is known of its end.
    pub took_ns: Option<u64>,
    /// How much of this the calls inside it took that are shown.
    pub inside_ns: u64,
    /// The same with ranges of NVTX inside it.
    pub inside_ranges_ns: u64,
    /// The result register.
    pub result: u64,
    /// How it ended. A noted one has only a beginning, and is done.
    pub state: State,
    /// It was handed out as unwound before.
    pub late: bool,
    /// What the GPU did for it and the calls inside it, in a run with GPU time.
    pub gpu: Option<GpuWork>,
    /// Functions of the shown calls around it, the innermost first. Only a call for which the GPU worked has them.
    pub outer_functions: &'a [Arc<Function>],
}

impl FinishedCall<'_> {
    /// The status that it returned, if that is what it returns.
    pub fn status(&self) -> Option<i32> {
        self.function.status(self.result).filter(|_| self.state == State::Returned && self.took_ns.is_some())
    }

    /// The status with which it failed.
    pub fn failure(&self) -> Option<i32> {
        self.status().filter(|status| self.function.is_failure(*status))
    }
}

/// A launch: the outermost of its calls that are shown.
#[derive(Debug, Clone)]
pub struct KernelLaunch {
    /// What one of its calls says, shown or not.
    pub kernel: Option<Arc<str>>,
    /// How long it took; of an unfinished one until the end of the run. `None` when nothing is known of its end.
    pub took_ns: Option<u64>,
    /// How much of this the calls inside it took that are shown.
    pub inside_ns: u64,
    /// It never ended.
    pub unfinished: bool,
    /// It failed.
    pub error: bool,
    /// It was told as one that did not return before.
    pub late: bool,
}

impl KernelLaunch {
    pub(super) fn of(call: &FinishedCall<'_>) -> KernelLaunch {
        let error = call.failure().is_some();
        let unfinished = call.state == State::Unfinished;
        KernelLaunch {
            kernel: None,
            took_ns: call.took_ns,
            inside_ns: call.inside_ns,
            unfinished,
            error,
            late: call.late,
        }
    }
}
