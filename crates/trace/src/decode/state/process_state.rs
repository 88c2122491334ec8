//! The state of a process at one moment of its trace: handles by number, allocations, the device of each thread. Calls
//! are followed in the order of their time, and their results are believed.

use super::allocations::Places;
use super::devices::Devices;
use super::ending::Ending;
use super::graphs::Graphs;
use super::handles::Handles;
use super::logs::Logs;

/// A process at a moment of its trace.
#[derive(Debug, Default)]
pub struct ProcessState {
    pub handles: Handles,
    pub places: Places,
    pub devices: Devices,
    pub graphs: Graphs,
    pub logs: Logs,
    pub ending: Ending,
    /// When: of the event that is looked at.
    pub now: u64,
}
