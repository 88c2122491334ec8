//! Which call made the node that a row is, by the number of the node. A row that is not of that call says that calls of
//! the capture were not recorded, by a filter for example. Then no number of this graph leads to its call for certain.

use super::graphs::{ExecutableGraph, NodeOrigin};
use super::work::{SubmittedBy, WorkRow};
use cutap_wire::rows::RowContent;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The origins of the rows of a process.
#[derive(Debug, Default)]
pub struct Origins {
    /// Executable graphs whose list of calls lacks some.
    incomplete: HashSet<*const ExecutableGraph>,
}

impl Origins {
    /// The call that made the node of a launched graph.
    pub fn of(&mut self, row: &WorkRow, executable: Option<&Arc<ExecutableGraph>>) -> Option<Arc<NodeOrigin>> {
        let executable = executable?;
        let origin = executable.graph.nodes.get(row.graph_node().node as u32 as usize)?;
        let bytes = match row.row.content {
            RowContent::Copy(copy) => copy.bytes,
            RowContent::Set { bytes, .. } => bytes,
            _ => 0,
        };
        let is_its_row = origin.expected.fits(row.row.content, row.kernel.as_ref(), bytes);
        if !is_its_row && !executable.is_changed.load(Relaxed) {
            self.incomplete.insert(Arc::as_ptr(executable));
        }
        is_its_row.then(|| origin.clone())
    }

    /// Whether origins of rows of this launch can be believed. To be asked when all rows were taken.
    pub fn are_certain(&self, launch: Option<&SubmittedBy>) -> bool {
        let executable = launch.and_then(|launch| launch.executable.as_ref());
        executable.is_some_and(|executable| !self.incomplete.contains(&Arc::as_ptr(executable)))
    }
}
