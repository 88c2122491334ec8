//! What is known when reading ends: what never finished, what was not seen and why.

use crate::decode::RawFunction;
use crate::event::{Exit, Instance, Process};
use std::sync::Arc;

/// A reason of `cutap_wire::count` and how often it was counted, over all processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count {
    /// Its number.
    pub reason: usize,
    /// What it says to a person.
    pub text: &'static str,
    /// How often.
    pub count: u64,
}

/// Something that was reached but not seen, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// Reason of `cutap_wire::count`.
    pub reason: usize,
    /// Process id.
    pub pid: u32,
    /// Object or function.
    pub what: String,
    /// More about it.
    pub more: String,
}

/// A filter and what it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filtered {
    /// Its text.
    pub text: String,
    /// Calls and look-ups that it let through.
    pub shown: u64,
    /// Calls that were recorded and not shown.
    pub left_out: u64,
    /// Unknown names in it, with names that they may have meant.
    pub near: Vec<(String, Vec<String>)>,
}

/// The end of a trace.
#[derive(Debug, Clone, Default)]
pub struct End {
    /// Calls that never ended, thread by thread, the innermost first.
    pub unfinished: Vec<Exit>,
    /// Reasons that were counted.
    pub counts: Vec<Count>,
    /// What was listed by name.
    pub gaps: Vec<Gap>,
    /// All processes, in the order in which they were found.
    pub processes: Vec<Arc<Process>>,
    /// All runtime instances.
    pub instances: Vec<Arc<Instance>>,
    /// Processes of which a thread still lives.
    pub running: Vec<Arc<Process>>,
    /// Slots that records named and whose name was not found.
    pub nameless: u64,
    /// Chunks that a collector had read and given back before this reader came.
    pub chunks_taken: u64,
    /// Chunks that were written over, or whose bytes made no sense.
    pub chunks_lost: u64,
    /// Processes that could not make their folder: nothing of them was recorded.
    pub failed: u32,
    /// The filter, if there was one.
    pub filtered: Option<Filtered>,
    /// Functions of which arguments were shown raw, or that have no description; one row for each slot.
    pub raw: Vec<RawFunction>,
    /// Records that a killed or stopped thread never finished.
    pub records_cut: u64,
}

impl End {
    /// What a reason says to a person.
    pub fn reason(&self, reason: usize) -> &'static str {
        cutap_wire::count::text(reason).unwrap_or("counted for a reason that this version does not know")
    }

    /// Programs and libraries into which a runtime is linked, each once: a forked child has the same
    /// ones again. No callback reports `__cudaRegister*` and `__cudaPushCallConfiguration` there.
    pub fn linked_in(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for instance in self.instances.iter().filter(|i| !i.shared) {
            if !names.contains(&&*instance.library) {
                names.push(&instance.library);
            }
        }
        names
    }
}
