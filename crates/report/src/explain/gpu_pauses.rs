//! Pauses of the GPU, by the call that ended each: a call of the driver whose work could not be in the queue when the
//! GPU became idle.

use crate::statistics::idle::{Busy, Pause, work_by_device};
use cutap_trace::{Call, WorkRows};
use std::collections::HashMap;

/// The pauses of all devices.
#[derive(Debug, Default)]
pub struct GpuPauses {
    /// By process, thread and beginning of the call.
    by_call: HashMap<(u32, u32, u64), Pause>,
}

impl GpuPauses {
    /// Those of some runs.
    pub fn of(work: &WorkRows<'_>) -> GpuPauses {
        let mut by_call = HashMap::new();
        for work in work_by_device(work).into_values() {
            for pause in Busy::of(work.iter().map(|row| (row.start_ns, row.end_ns))).pauses {
                let next = work.get(pause.next);
                let Some((row, by)) = next.and_then(|row| row.submission.as_ref().map(|by| (row, by))) else {
                    continue;
                };
                if by.end_ns > pause.from_ns {
                    by_call.entry((row.process.key, by.tid, by.start_ns)).or_insert(pause);
                }
            }
        }
        GpuPauses { by_call }
    }

    /// No pause is known: the run has no GPU times, or nothing to find in them.
    pub fn is_empty(&self) -> bool {
        self.by_call.is_empty()
    }

    /// The pause that ended with the work of this call.
    pub fn ended_by(&self, call: &Call) -> Option<&Pause> {
        self.by_call.get(&(call.thread.process.key, call.thread.tid, call.start_ns))
    }
}
