//! How much of a run was seen, by its control page and the pages of its processes: programs that loaded the library,
//! processes that loaded the driver, runs inside this one. The report says why calls may be missing.

use super::program_end::ProgramEnd;
use crate::io::bytes::{u32_at, u64_at};
use cutap_wire::control::{self, Control};
use cutap_wire::diagnostic;
use std::collections::BTreeSet;
use std::mem::offset_of;

/// Calls that were seen and could not be recorded. The report has a line for each reason.
pub const NOT_RECORDED: [usize; 8] = [
    diagnostic::NO_RING,
    diagnostic::NESTED_IN_START,
    diagnostic::CALL_DROPPED,
    diagnostic::CALL_DROPPED_LOSSY,
    diagnostic::NOT_WRITTEN,
    diagnostic::CALL_WAITED,
    diagnostic::NOT_COUNTED,
    diagnostic::RECORD_DROPPED,
];

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct RunCoverage {
    /// Programs in which the library began its work. None without a count, or if processes of a flight recorder were
    /// left out.
    pub entered: Option<u32>,
    /// Runs of cutap that programs of this run started.
    pub inner: u32,
    /// Programs that were started without cutap in their environment.
    pub cleaned: u32,
    /// How the program that cutap started ended; none if it runs, or if that is not known.
    pub program_end: Option<ProgramEnd>,
    /// The children of the program were left alone.
    pub children_left: bool,
    /// The target decides by rules what it records.
    pub by_filter: bool,
    /// The text of the filter that these rules are from; none if the run does not keep it.
    pub filter: Option<String>,
    /// Nothing is recorded: only hooks work, recording was switched off, or the output cannot be written any more.
    pub is_off: bool,
    /// Of these: only hooks work, or recording was switched off.
    pub is_switched_off: bool,
    /// Processes that loaded the driver.
    pub(crate) drivers: u32,
    /// Numbers of processes, and names of their folders, that forked one whose calls were seen.
    parents: BTreeSet<(u32, String)>,
}

impl RunCoverage {
    /// By the control page. `all_are_here` unless processes were left out.
    pub(crate) fn of(page: &[u8], all_are_here: bool) -> RunCoverage {
        let flags = u64_at(page, offset_of!(Control, flags));
        if flags & control::COUNTS_ENTERED == 0 {
            return RunCoverage::default();
        }
        let recording = u32_at(page, offset_of!(Control, recording));
        RunCoverage {
            entered: all_are_here.then(|| u32_at(page, offset_of!(Control, entered))),
            inner: u32_at(page, offset_of!(Control, inner)),
            cleaned: u32_at(page, offset_of!(Control, cleaned)),
            program_end: ProgramEnd::of_word(u32_at(page, offset_of!(Control, program_end))),
            children_left: flags & control::NO_FOLLOW != 0,
            by_filter: u32_at(page, offset_of!(Control, rules_len)) > 0,
            is_switched_off: recording == control::RECORDING_OFF,
            is_off: !matches!(recording, control::RECORDING_ON | control::RECORDING_COUNT),
            ..RunCoverage::default()
        }
    }

    /// Notes whom a forked child with calls has its program from. The folder's name is empty if the parent had no
    /// folder then.
    pub(crate) fn parent(&mut self, pid: u32, folder: &str) {
        self.parents.insert((pid, folder.to_owned()));
    }

    /// Takes over what is known of processes that have ended.
    pub(crate) fn plus(&mut self, retired: &RunCoverage) {
        self.drivers += retired.drivers;
        self.parents.extend(retired.parents.iter().cloned());
    }

    /// A child of this process, which runs the same program, has made calls that were seen.
    pub(crate) fn has_child_with_calls(&self, pid: u32, folder: &str) -> bool {
        self.parents.iter().any(|(of, name)| if name.is_empty() { *of == pid } else { name == folder })
    }

    /// Counts a process that loaded the driver. True if no call of it was seen: it has no ring, and counted none that
    /// was lost.
    pub(crate) fn is_without_calls(&mut self, rings: u32, counters: &[u64]) -> bool {
        self.drivers += 1;
        let is_lost = |reason: &usize| counters.get(*reason).is_some_and(|count| *count > 0);
        rings == 0 && !NOT_RECORDED.iter().any(is_lost)
    }
}
