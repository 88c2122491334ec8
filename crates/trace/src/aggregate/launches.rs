//! Kernel launches, each counted once. A launch of the runtime has one of the driver inside, and often only one of the
//! two names the kernel or is shown.

use super::open_sum::{KernelCall, Launching, OpenSum};
use super::sink::KernelLaunch;
use crate::pair::call_stack::CallStack;
use crate::pair::open_call::{OpenCall, Shown};
use crate::pair::sink::Ended;
use std::sync::Arc;

/// A call that launches a kernel begins now.
pub fn launching(stack: &CallStack<OpenSum>) -> Launching {
    Launching { inside: stack.open().any(|open| open.data.launch.is_some()), over: Vec::new() }
}

/// A call of a launch is over: `named` is the kernel that it named, `done` what it was if it is shown. A call around it
/// that launches the kernel too counts in its place, if that is shown in the end.
pub fn launched(
    launch: Launching,
    named: Option<Arc<str>>,
    ring: &mut Ended<'_, OpenSum>,
    done: Option<KernelLaunch>,
    late: bool,
    count: &mut dyn FnMut(&KernelLaunch),
) {
    // What the driver's call says comes first: old runtimes name another kernel at times.
    let kernel = launch.over.iter().find_map(|l| l.kernel().cloned()).or(named);
    // Where one returns after all, the call around it has been counted, or will be.
    if late && launch.inside {
        return;
    }
    let launches = |open: &&mut OpenCall<OpenSum>| open.data.launch.is_some();
    let around = ring.around.iter_mut().find(launches).or_else(|| ring.stack.open_mut().find(launches));
    let Some(around) = around.filter(|_| !late) else {
        match done {
            Some(done) => count(&KernelLaunch { kernel, ..done }),
            None => launch.over.iter().for_each(|call| {
                if let KernelCall::Shown(launch) = call {
                    count(launch);
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
    match &mut around.data.launch {
        _ if around.shown == Shown::Yes && around.kernel.is_some() => {
            around.kernel = over.iter().find_map(|l| l.kernel().cloned()).or(around.kernel.take());
        }
        Some(around) => around.over.extend(over),
        None => {}
    }
}
