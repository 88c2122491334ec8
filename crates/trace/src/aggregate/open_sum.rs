//! The data of an open call that its sums need.

use super::sink::KernelLaunch;
use std::sync::Arc;

/// What is kept of an open call.
#[derive(Debug, Clone)]
pub struct OpenSum {
    /// Its place, or that of the call around it if it is not shown.
    pub place: u32,
    /// Nanoseconds of the calls inside that are shown. Each counts when it ends, so that no part of one is lost or
    /// counts twice.
    pub inside: u64,
    /// The same with the time of ranges of NVTX, which is more than that of the calls in them.
    pub inside_ranges: u64,
    /// It launches a kernel, and the sink wants to know of launches.
    pub launch: Option<Box<OpenLaunch>>,
}

/// A call that launches a kernel, and is not over.
#[derive(Debug, Clone)]
pub struct OpenLaunch {
    /// Inside a call that launches it too.
    pub inside: bool,
    /// Launches inside it that are over, as long as it may have to do with them.
    pub finished_inside: Vec<KernelCall>,
}

/// A call of a launch that is over.
#[derive(Debug, Clone)]
pub enum KernelCall {
    Shown(KernelLaunch),
    /// All that counts of it is the name.
    Hidden(Arc<str>),
}

impl KernelCall {
    pub fn kernel(&self) -> Option<&Arc<str>> {
        match self {
            KernelCall::Shown(launch) => launch.kernel.as_ref(),
            KernelCall::Hidden(name) => Some(name),
        }
    }
}
