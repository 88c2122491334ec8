//! Facts about a run beside its calls: how far a recording can be read, when the run was switched, what was reached and
//! not recorded.

use cutap_file::Cut;
use std::collections::BTreeMap;

/// Something that was reached but not seen, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Reason of `cutap_wire::diagnostic`.
    pub reason: usize,
    /// Process id.
    pub pid: u32,
    /// Object or function.
    pub name: String,
    /// More about it.
    pub detail: String,
}

/// How much of a recording could be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordingCoverage {
    /// How far, and why not further.
    pub cut: Cut,
    /// Blocks before that are damaged: what they held is missing.
    pub damaged: u32,
    /// It was cut off, at this byte, and then added to; and so many parts of what had stood there are not in it (0: not
    /// known).
    pub completed: Option<(u64, u64)>,
    /// Parts of rings that are not in it: between others that are, or damaged when it was made.
    pub holes: u64,
    /// Parts of rings that a collector had read for its own output before this recording was begun.
    pub read_before: u64,
    /// Files of the run directory that could not be read when it was made, for a sentence.
    pub unread: Option<String>,
}

impl RecordingCoverage {
    /// It was made of what did not have all any more.
    pub fn is_incomplete(&self) -> bool {
        self.completed.is_some() || self.holes + self.read_before > 0 || self.unread.is_some()
    }
}

/// What `cutap ctl` switched a run to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SwitchedTo {
    /// Calls pass.
    Off,
    /// Calls are recorded or counted.
    On,
    /// Another filter.
    Filter,
    /// No filter any more.
    NoFilter,
}

/// A moment in which a run was switched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switched {
    /// CLOCK_MONOTONIC.
    pub ns: u64,
    /// To what.
    pub to: SwitchedTo,
    /// Of which process alone; 0: of all.
    pub pid: u32,
}

/// Where a run was made, and what the launcher of its job told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunHost {
    /// Name of the host.
    pub name: Option<String>,
    /// Which start of the host: two runs with the same one have the same clock.
    pub boot_id: Option<String>,
    /// The run's rank in its job.
    pub rank: Option<u32>,
    /// Variables of the launcher, by name.
    pub launcher: BTreeMap<String, String>,
}

impl RunHost {
    /// From lines `NAME=VALUE`.
    pub(crate) fn parse(text: &str, rank: Option<u32>) -> RunHost {
        let mut host = RunHost { rank, ..RunHost::default() };
        for (name, value) in text.lines().filter_map(|line| line.split_once('=')) {
            match name {
                "host" => host.name = Some(value.to_owned()),
                "boot_id" => host.boot_id = Some(value.to_owned()),
                _ => drop(host.launcher.insert(name.to_owned(), value.to_owned())),
            }
        }
        host
    }
}
