//! Numbers of processes in a file for a viewer, which takes processes of one number for one. Those of different PID
//! namespaces or hosts may have the same PID.

use cutap_trace::{Process, printable};
use std::collections::{BTreeMap, BTreeSet};

/// The largest PID of Linux.
const LARGEST: u32 = 4_194_304;

/// The numbers that are in use.
#[derive(Debug, Default)]
pub(super) struct Pids {
    used: BTreeSet<u32>,
    /// Later processes with a PID in use, by key, and the PIDs that they get here.
    replacements: BTreeMap<u32, u32>,
}

impl Pids {
    /// A process is new: its name for people, with its run, if several are read, and its PID, if it gets another one.
    pub fn name(&mut self, process: &Process) -> String {
        let program = printable(process.exe.rsplit('/').next().unwrap_or(&process.exe)).into_owned();
        let name = match &process.run {
            Some(run) => format!("{run}: {program}"),
            None => program,
        };
        if self.used.insert(process.pid) {
            return name;
        }
        self.replacements.insert(process.key, LARGEST.saturating_add(self.replacements.len() as u32).saturating_add(1));
        format!("{name} (process {})", process.pid)
    }

    /// The PID of a process in the file.
    pub fn number(&self, process: &Process) -> u32 {
        self.replacements.get(&process.key).copied().unwrap_or(process.pid)
    }
}
