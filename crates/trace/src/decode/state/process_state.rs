//! The state of a process at one moment of its trace: handles by number, allocations, the device of each thread. Calls
//! are followed in the order of their time, and their results are believed.

use super::allocations::Allocations;
use super::devices::Devices;
use super::graphs::Graphs;
use super::handles::Handles;
use super::pending_ends::PendingEnds;
use std::collections::HashMap;
use std::ops::Range;

/// A process at a moment of its trace.
#[derive(Debug, Default)]
pub struct ProcessState {
    pub handles: Handles,
    pub allocations: Allocations,
    pub devices: Devices,
    pub graphs: Graphs,
    pub linker_logs: LinkerLogs,
    pub pending_ends: PendingEnds,
    /// When: of the event that is looked at.
    pub now: u64,
}

/// Where the logs of linkers are, by handle: the addresses that each may fill. Set when a linker is made, and filled by
/// its later calls.
#[derive(Debug, Default)]
pub struct LinkerLogs(pub HashMap<u64, [Range<u64>; 2]>);
