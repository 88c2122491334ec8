//! What the lanes of a GPU share: the context, its last launches, and the fault that ended it.

use super::fault;
use cutap_cudest::Context;
use cutap_driver::abi::{Answer, Fault};
use cutap_driver::engine::Fence;
use cutap_machine::print_to_stderr;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What lanes need of their space.
pub struct Shared {
    /// The number of the device.
    pub device: i32,
    pub context: Context,
    pub launches: Launches,
    /// The result of the fault that ended the context; 0 while there is none.
    lost: AtomicU32,
}

impl Shared {
    pub fn new(device: i32, context: Context) -> Self {
        Self { device, context, launches: Launches::default(), lost: AtomicU32::new(0) }
    }

    /// The result of an error. The first one that ended the context is reported with the kernel that ran.
    pub fn fault(&self, error: &cutap_cudest::Error, subject: &str) -> Fault {
        let result = fault::of(error, subject);
        let cutap_cudest::Error::Lost(loss) = error else { return result };
        match self.lost.compare_exchange(0, result.0, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                // The error has the kernel, unless neither an SM nor the lanes say it.
                let unfinished = || self.launches.first_unfinished(&self.context);
                let kernel = if loss.kernel.is_some() { None } else { unfinished() };
                let kernel = kernel.map_or_else(String::new, |name| format!("; it ran {name}"));
                print_to_stderr(&format!("cutap-cudest: error {} ended the context: {loss}{kernel}", result.0));
                result
            }
            Err(first) => Fault(first),
        }
    }

    /// The error that ended the context.
    pub fn check(&self) -> Answer {
        match self.lost.load(Ordering::Acquire) {
            0 => Ok(()),
            code => Err(Fault(code)),
        }
    }

    pub fn fence(&self, fence: cutap_cudest::Fence) -> Fence {
        Fence { device: self.device, timeline: fence.timeline(), value: fence.value() }
    }

    pub fn wait(&self, fence: Fence) -> Answer {
        self.check()?;
        let result = self.context.wait(own(fence), None);
        result.map_err(|why| self.fault(&why, "a wait"))
    }
}

/// cudest's form of a fence.
pub fn own(fence: Fence) -> cutap_cudest::Fence {
    cutap_cudest::Fence::of(fence.timeline, fence.value)
}

/// The last launches, so that a fault can name its kernel.
#[derive(Default)]
pub struct Launches(Mutex<VecDeque<(cutap_cudest::Fence, Arc<str>)>>);

impl Launches {
    /// Operations that a lane can hold.
    const MOST: usize = 1024;

    pub fn add(&self, fence: cutap_cudest::Fence, kernel: Arc<str>) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.len() == Self::MOST {
            last.pop_front();
        }
        last.push_back((fence, kernel));
    }

    /// The oldest kernel that has not ended.
    pub fn first_unfinished(&self, context: &cutap_cudest::Context) -> Option<String> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let unfinished = last.iter().find(|(fence, _)| !context.reached(*fence).unwrap_or(false));
        unfinished.map(|(_, kernel)| kernel.to_string())
    }
}
