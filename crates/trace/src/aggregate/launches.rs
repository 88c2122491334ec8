//! Launches of kernels, each told once: a runtime's launch has the driver's inside it, and often only one of the two says the
//! kernel's name, or is shown.

use super::aggregator::{FinishedCall, Frame, Lane};
use crate::pair::call_stack::Shown;
use std::sync::Arc;

/// A launch: the outermost of its calls that are shown.
#[derive(Debug, Clone)]
pub struct KernelLaunch {
    /// What one of its calls says, shown or not.
    pub kernel: Option<Arc<str>>,
    /// How long it took; `None` when it did not return.
    pub took_ns: Option<u64>,
    /// How much of this the calls inside it took that are shown.
    pub inside_ns: u64,
    /// It returned a status other than 0.
    pub error: bool,
    /// It was told as one that did not return before.
    pub late: bool,
}

impl KernelLaunch {
    pub(super) fn of(done: &FinishedCall<'_>) -> KernelLaunch {
        let error = done.status().is_some_and(|s| s != 0);
        KernelLaunch { kernel: None, took_ns: done.took_ns, inside_ns: done.inside_ns, error, late: done.late }
    }
}

/// A call that launches a kernel, and is not over.
#[derive(Debug, Clone)]
pub(super) struct Launching {
    /// Inside a call that launches it too.
    inside: bool,
    /// Launches inside it that are over, as long as it may have to do with them.
    over: Vec<KernelCall>,
}

/// A call of a launch that is over.
#[derive(Debug, Clone)]
pub(super) enum KernelCall {
    Shown(KernelLaunch),
    /// All that counts of it is the name.
    Hidden(Arc<str>),
}

impl KernelCall {
    fn kernel(&self) -> Option<&Arc<str>> {
        match self {
            KernelCall::Shown(launch) => launch.kernel.as_ref(),
            KernelCall::Hidden(name) => Some(name),
        }
    }
}

impl Lane<'_> {
    /// A call that launches a kernel begins now.
    pub(super) fn launching(&self) -> Launching {
        Launching { inside: self.stack.open().any(|frame| frame.launch.is_some()), over: Vec::new() }
    }

    /// A call of a launch is over, the name that it said, and what it was if it is shown. Told in its place is a call around it that launches
    /// the kernel too, if that is shown in the end. `around` did not return either.
    pub(super) fn launched(
        &mut self,
        launch: Launching,
        said: Option<Arc<str>>,
        around: &mut [Frame],
        done: Option<KernelLaunch>,
        late: bool,
    ) {
        // What the driver's call says comes first: old runtimes say another kernel's name at times.
        let kernel = launch.over.iter().find_map(|l| l.kernel().cloned()).or(said);
        // Of one that returns after all, the call around it has been told, or will be.
        if late && launch.inside {
            return;
        }
        let launches = |frame: &Frame| frame.launch.is_some();
        let around = around.iter_mut().find(|f| launches(f)).or_else(|| self.stack.innermost(launches));
        let Some(around) = around.filter(|_| !late) else {
            match done {
                Some(done) => self.calls.launched(&KernelLaunch { kernel, ..done }),
                None => launch.over.iter().for_each(|call| {
                    if let KernelCall::Shown(launch) = call {
                        self.calls.launched(launch);
                    }
                }),
            }
            return;
        };
        let over = match done {
            Some(done) => vec![KernelCall::Shown(KernelLaunch { kernel, ..done })],
            None if launch.over.is_empty() => kernel.map(KernelCall::Hidden).into_iter().collect(),
            None => launch.over,
        };
        match &mut around.launch {
            _ if around.shown == Shown::Yes && around.kernel.is_some() => {
                around.kernel = over.iter().find_map(|l| l.kernel().cloned()).or(around.kernel.take());
            }
            Some(around) => around.over.extend(over),
            None => {}
        }
    }
}
