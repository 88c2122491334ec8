//! What `cutap where` says of a run, as data: text is written from it, and JSON is it. One document is self-contained,
//! so those of many hosts can be joined. A field that another version of cutap does not write has its default.

use crate::collectives::RunCollectives;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The word in `type`, by which such a file is known.
pub const TYPE: &str = "where";

/// A run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HangDocument {
    /// Always `TYPE`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The file or folder that was read.
    pub run: String,
    /// Rank of the run in its job.
    pub rank: Option<u32>,
    /// Where it was made.
    pub host: Option<String>,
    pub boot_id: Option<String>,
    /// Variables of the launcher, by name.
    pub launcher: BTreeMap<String, String>,
    /// Its processes run now.
    pub is_live: bool,
    /// Since when no call has ended but such as ask whether work is done.
    pub quiet_ns: u64,
    /// Why the work before a wait may not be known; none where all calls are there.
    pub lacks: Option<String>,
    /// Why collectives may be missing.
    pub lacks_collectives: Option<String>,
    pub processes: Vec<ProcessState>,
    /// How its program ended.
    pub program_end: Option<String>,
    /// The last moment of which something is known, on the clock of its host.
    pub last_ns: u64,
    /// Until when all its calls are known.
    pub known_ns: u64,
    /// Its collectives, without the older ones.
    pub collectives: RunCollectives,
    /// What the same question was answered while the program hung: `record --on-hang`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved: Option<Box<HangDocument>>,
}

/// A process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessState {
    pub pid: u32,
    /// File name of its program.
    pub program: String,
    pub threads: Vec<ThreadState>,
}

/// A thread.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ThreadState {
    pub tid: u32,
    pub name: Option<String>,
    /// Open calls and ranges, the outermost first.
    pub open: Vec<OpenEntry>,
    /// Which of them the line of the thread names: the outermost call that waits, or else the innermost call.
    pub named: Option<usize>,
    /// What the named call waits for.
    pub waits_for: Vec<StreamWait>,
    /// Outside of calls: since when, and which call ended last.
    pub idle_ns: Option<u64>,
    pub last_call: Option<String>,
    /// Why it does not run on by itself: a signal or a debugger has stopped it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// The system call that it sleeps in; known of a thread that runs now, on this machine.
    pub system_call: Option<String>,
}

/// A call or a range that is open.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OpenEntry {
    /// Function, or name of the range.
    pub name: String,
    pub is_range: bool,
    pub layer: String,
    pub library: String,
    /// As in a trace: `name=value, name=value`.
    pub arguments: String,
    pub open_ns: u64,
    /// Why it may wait.
    pub waits: Option<String>,
    /// Frames, the innermost first.
    pub stack: Vec<String>,
}

/// What a wait waits for in one stream.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StreamWait {
    /// `stream#1`, `default stream`.
    pub stream: String,
    /// How the wait leads there, if not directly: `event#2 of stream#3`.
    pub through: Vec<String>,
    /// The oldest work that is not known complete.
    pub oldest: Option<WorkState>,
    /// The oldest collective.
    pub collective: Option<WorkState>,
    /// The first pieces of work behind the oldest one: function or kernel.
    pub next: Vec<String>,
    /// How many pieces of work are not known complete.
    pub pieces: u64,
    /// Older ones that were forgotten for their number.
    pub forgotten: u64,
}

/// A piece of work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkState {
    /// What it is, with arguments.
    pub text: String,
    /// The kernel.
    pub kernel: Option<String>,
    /// The thread that submitted it, and how long ago.
    pub tid: u32,
    pub submitted_ns: u64,
    /// The program's call that submitted it, if that is another one.
    pub made_by: Option<String>,
    /// The range that it was submitted in.
    pub range: Option<String>,
    /// Which call of its communicator it is, if it is a collective.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<CollectivePlace>,
}

/// A collective by its number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CollectivePlace {
    /// As in a trace of the run: `comm#1`.
    pub communicator: String,
    /// From 1.
    pub number: u64,
}

impl ProcessState {
    fn threads_of(&self) -> impl Iterator<Item = (&ProcessState, &ThreadState)> {
        self.threads.iter().map(move |thread| (self, thread))
    }
}

impl ThreadState {
    /// The entry that the line of the thread names.
    pub fn named_entry(&self) -> Option<&OpenEntry> {
        self.open.get(self.named?)
    }
}

impl HangDocument {
    /// Whether JSON that was read is such a document.
    pub fn is_one(&self) -> bool {
        self.kind == TYPE
    }

    /// Why a thread of the run does not run on by itself.
    pub fn stopped(&self) -> Option<&str> {
        self.processes.iter().flat_map(ProcessState::threads_of).find_map(|(_, thread)| thread.stopped.as_deref())
    }

    /// The thread that has waited longest inside a call, with its process; none if no thread waits.
    pub fn longest_wait(&self) -> Option<(&ProcessState, &ThreadState)> {
        let threads = self.processes.iter().flat_map(ProcessState::threads_of);
        let waiting = threads.filter_map(|(process, thread)| {
            let entry = thread.named_entry().filter(|entry| entry.waits.is_some() || !thread.waits_for.is_empty())?;
            Some((entry.open_ns, process, thread))
        });
        waiting.max_by_key(|(open_ns, ..)| *open_ns).map(|(_, process, thread)| (process, thread))
    }
}
