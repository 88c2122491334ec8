//! The parts of what is known at the end of a trace, by purpose.

use super::counted::CountedFunction;
use super::run_coverage::NOT_RECORDED;
use crate::decode::undecoded::UndecodedFunction;
use crate::event::{Instance, Process};
use crate::ring::lost_calls::LostCalls;
use crate::run::facts::{Diagnostic, Switched};
use std::sync::Arc;

/// A reason of `cutap_wire::diagnostic` and how often it was counted, over all processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count {
    /// Its number.
    pub reason: usize,
    /// How often.
    pub count: u64,
}

impl Count {
    /// Calls that were seen and could not be recorded.
    pub fn is_loss(&self) -> bool {
        NOT_RECORDED.contains(&self.reason)
    }
}

/// What processes counted and listed about themselves.
#[derive(Debug, Clone, Default)]
pub struct Diagnostics {
    /// Reasons that were counted.
    pub counts: Vec<Count>,
    /// What was listed by name.
    pub gaps: Vec<Diagnostic>,
}

/// The processes of a run.
#[derive(Debug, Clone, Default)]
pub struct RunProcesses {
    /// All, in the order in which they were found.
    pub all: Vec<Arc<Process>>,
    /// All runtime instances.
    pub instances: Vec<Arc<Instance>>,
    /// Those of which a thread still lives; of a recording none is known.
    pub running: Vec<Arc<Process>>,
    /// A process of a run directory runs now, on this machine.
    pub has_live: bool,
    /// Those that loaded the driver and of which no call was seen, for whatever reason.
    pub silent: Vec<Arc<Process>>,
    /// How many could not make their folder: nothing of them was recorded.
    pub failed: u32,
}

/// What is missing in the rings and names of a run.
#[derive(Debug, Clone, Default)]
pub struct MissingRecords {
    /// Slots that records named and whose name was not found.
    pub nameless: u64,
    /// Chunks that a collector had read and given back before this reader came.
    pub chunks_taken: u64,
    /// Chunks that were given back or written over: which of the two the control page told, and it is missing.
    pub chunks_unknown: u64,
    /// Chunks that were written over, or whose bytes made no sense.
    pub chunks_lost: u64,
    /// Those of them that are damaged, to which nobody writes any more.
    pub damaged_chunks: u64,
    /// Calls that are missing in what is damaged or lost.
    pub lost_calls: LostCalls,
    /// Calls that a flight recorder has written over by newer ones.
    pub overwritten: u64,
    /// Records that a killed or stopped thread never finished.
    pub records_cut: u64,
    /// Records of kinds that a newer cutap writes.
    pub records_unknown: u64,
    /// What of a run directory could not be opened, and why, for a sentence.
    pub unopened: Option<String>,
}

/// What was asked for when a run was recorded.
#[derive(Debug, Clone, Default)]
pub struct RunSettings {
    /// A thread whose ring was full dropped what came (--lossy).
    pub is_lossy: bool,
    /// Recording was to begin with cuProfilerStart (--capture-range=cudaProfilerApi).
    pub has_range: bool,
    /// Calls of functions that start no work were counted, and recorded only where they failed (--chatter=count).
    pub counts_chatter: bool,
    /// When the run was switched, and how often beyond the times that are known.
    pub switched: (Vec<Switched>, u32),
}

/// Functions of whose calls less than all was shown.
#[derive(Debug, Clone, Default)]
pub struct IncompleteFunctions {
    /// Those of which arguments were shown raw, or that have no description; one row for each slot.
    pub undecoded: Vec<UndecodedFunction>,
    /// Those whose calls were only counted.
    pub counted: Vec<CountedFunction>,
}
