//! What tells of calls that were made and left no record: whom the library reached, which processes loaded the driver and show no call, and
//! which other runs began inside this one. It counts; why that may be is for whoever writes it down.

use crate::bytes::{u32_at, u64_at};
use crate::end::End;
use crate::event::Process;
use crate::opened::Opened;
use crate::pages::ProcPage;
use cutap_wire::control::{self, Control};
use cutap_wire::count;
use std::mem::offset_of;
use std::sync::Arc;

/// Calls that were seen and could not be recorded: each reason has a line of its own.
const NOT_RECORDED: [usize; 8] = [
    count::NO_RING,
    count::NESTED_IN_START,
    count::CALL_DROPPED,
    count::CALL_DROPPED_LOSSY,
    count::NOT_WRITTEN,
    count::CALL_WAITED,
    count::NOT_COUNTED,
    count::RECORD_DROPPED,
];

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Unseen {
    /// Programs in which the library began its work; none where nobody counted them, or where processes of a flight recorder were left out.
    pub entered: Option<u32>,
    /// Runs of cutap that programs of this one started.
    pub inner: u32,
    /// The children of the program were left alone.
    pub children_left: bool,
    /// The run has recorded by a filter.
    pub by_filter: bool,
    /// Nothing is recorded: only hooks work, recording was switched off, or it could not be written any more.
    pub is_off: bool,
    /// Processes that loaded the driver.
    drivers: u32,
    /// Those of them without a call.
    without_calls: Vec<Arc<Process>>,
}

impl Unseen {
    /// What the control page says.
    pub(crate) fn of(opened: &Opened) -> Unseen {
        let Ok(page) = opened.store.control() else { return Unseen::default() };
        let flags = u64_at(&page, offset_of!(Control, flags));
        if flags & control::COUNTS_ENTERED == 0 {
            return Unseen::default();
        }
        let is_whole = opened.forgotten().unwrap_or(0) == 0;
        Unseen {
            entered: is_whole.then(|| u32_at(&page, offset_of!(Control, entered))),
            inner: u32_at(&page, offset_of!(Control, inner)),
            children_left: flags & control::NO_FOLLOW != 0,
            is_off: !matches!(
                u32_at(&page, offset_of!(Control, recording)),
                control::RECORDING_ON | control::RECORDING_COUNT
            ),
            by_filter: u32_at(&page, offset_of!(Control, rules_len)) > 0,
            ..Unseen::default()
        }
    }

    /// Takes over what a process's page says.
    pub(crate) fn process(&mut self, page: &ProcPage, process: &Arc<Process>) {
        if !page.driver {
            return;
        }
        self.drivers += 1;
        let lost = NOT_RECORDED.iter().any(|reason| page.counters[*reason] > 0);
        if page.rings == 0 && !lost {
            self.without_calls.push(process.clone());
        }
    }
}

impl End {
    /// No call of the run was seen, and no process is known that loaded the driver: how many programs the library began its work in.
    pub fn nobody(&self) -> Option<u32> {
        let seen = self.rings > 0 || self.overwritten > 0 || self.failed > 0 || self.unseen.drivers > 0;
        self.unseen
            .entered
            .filter(|entered| !seen && self.unseen.inner == 0 && (*entered > 0 || self.processes.is_empty()))
    }

    /// Processes that loaded the driver and of which no call was seen, where nothing else says why: no filter, no switch.
    pub fn without_calls(&self) -> &[Arc<Process>] {
        if self.unseen.by_filter || self.is_partial() { &[] } else { &self.unseen.without_calls }
    }

    /// The driver was loaded, and what the run recorded by its filter is nothing.
    pub fn filter_left_nothing(&self) -> bool {
        let nothing = self.rings == 0 && !self.unseen.without_calls.is_empty();
        nothing && self.unseen.by_filter && !self.is_partial()
    }

    /// Calls passed unrecorded because that was asked for.
    fn is_partial(&self) -> bool {
        self.unseen.is_off || self.range || !self.switched.0.is_empty() || self.switched.1 > 0
    }
}
