//! Kernel launches, each counted once. A launch of the runtime has one of the driver inside, and often only one of the
//! two names the kernel or is shown.

use super::open_sum::{KernelCall, OpenLaunch, OpenSum};
use super::sink::KernelLaunch;
use crate::pair::call_stack::CallStack;
use crate::pair::open_call::{OpenCall, Visibility};
use crate::pair::sink::RingState;
use std::sync::Arc;

/// A call that launches a kernel begins now.
pub fn begin_launch(stack: &CallStack<OpenSum>) -> OpenLaunch {
    OpenLaunch { inside: stack.open().any(|open| open.data.launch.is_some()), finished_inside: Vec::new() }
}

/// A call of a launch is over: `kernel_name` is the kernel that it named, `launch_end` what it was if it is shown. A
/// call around it that launches the kernel too counts in its place, if that is shown in the end.
pub fn finish_launch(
    launch: OpenLaunch,
    kernel_name: Option<Arc<str>>,
    ring: &mut RingState<'_, OpenSum>,
    launch_end: Option<KernelLaunch>,
    late: bool,
    count: &mut dyn FnMut(&KernelLaunch),
) {
    // What the driver's call says comes first: old runtimes name another kernel at times.
    let kernel = launch.finished_inside.iter().find_map(|l| l.kernel().cloned()).or(kernel_name);
    // Where one returns after all, the call around it has been counted, or will be.
    if late && launch.inside {
        return;
    }
    let launches = |open: &&mut OpenCall<OpenSum>| open.data.launch.is_some();
    let outer = ring.ended_parents.iter_mut().find(launches).or_else(|| ring.stack.open_mut().find(launches));
    let Some(outer) = outer.filter(|_| !late) else {
        match launch_end {
            Some(done) => count(&KernelLaunch { kernel, ..done }),
            None => launch.finished_inside.iter().for_each(|call| {
                if let KernelCall::Shown(launch) = call {
                    count(launch);
                }
            }),
        }
        return;
    };
    let finished = match launch_end {
        Some(done) => vec![KernelCall::Shown(KernelLaunch { kernel, ..done })],
        None if launch.finished_inside.is_empty() => kernel.map(KernelCall::Hidden).into_iter().collect(),
        None => launch.finished_inside,
    };
    match &mut outer.data.launch {
        _ if outer.visibility == Visibility::Shown && outer.kernel.is_some() => {
            outer.kernel = finished.iter().find_map(|l| l.kernel().cloned()).or(outer.kernel.take());
        }
        Some(outer_launch) => outer_launch.finished_inside.extend(finished),
        None => {}
    }
}
