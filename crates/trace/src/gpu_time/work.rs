//! What the GPU did: for a call, and piece by piece.

use super::graphs::{ExecutableGraph, NodeOrigin};
use super::submissions::Label;
use crate::event::process::Process;
use cutap_wire::rows::{GraphPlace, Row};
use std::sync::Arc;

/// A kernel, copy or set, with its call.
#[derive(Debug, Clone)]
pub struct WorkRow {
    /// As CUPTI reported it.
    pub row: Row,
    /// The demangled name of the kernel.
    pub kernel: Option<Arc<str>>,
    /// The process.
    pub process: Arc<Process>,
    /// The call that submitted it, if that is known for certain.
    pub submission: Option<Arc<SubmittedBy>>,
    /// The call that made the node of a graph that this is.
    pub origin: Option<Arc<NodeOrigin>>,
    /// Beginning, CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// End, CLOCK_MONOTONIC.
    pub end_ns: u64,
}

impl WorkRow {
    /// The node of a graph that it is.
    pub fn graph_node(&self) -> GraphPlace {
        self.row.graph_node()
    }

    /// Nanoseconds; none if its times cannot be.
    pub fn took_ns(&self) -> Option<u64> {
        let place = &self.row.place;
        place.end.checked_sub(place.start).filter(|_| place.start != 0)
    }
}

/// The call that submitted work.
#[derive(Debug)]
pub struct SubmittedBy {
    /// The thread.
    pub tid: u32,
    /// Its beginning, CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// Its end.
    pub end_ns: u64,
    /// The calls around it, the outermost first, and the call.
    pub path: Arc<[Label]>,
    /// The executable graph that it launches.
    pub executable: Option<Arc<ExecutableGraph>>,
}
