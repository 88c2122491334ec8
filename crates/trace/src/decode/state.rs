//! What a process has at a moment of its trace: handles by number, allocations, each thread's device.
//! Follows calls in the order of their time and believes what they returned.

use super::device::Devices;
use super::graphs::Graphs;
use super::handles::Handles;
use super::logs::Logs;
use super::places::Places;

/// A process at a moment of its trace.
#[derive(Debug, Default)]
pub struct State {
    pub handles: Handles,
    pub places: Places,
    pub devices: Devices,
    pub graphs: Graphs,
    pub logs: Logs,
    /// When: of the event that is looked at.
    pub now: u64,
}
