//! When calls of a process were not recorded because recording was switched off. Ranges are recorded all the time.

use cutap_trace::{End, FinishedRun, Process, RunName, Switched, SwitchedTo};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The times of all runs.
#[derive(Debug, Default)]
pub(crate) struct OffTimes(Vec<OffTime>);

#[derive(Debug)]
struct OffTime {
    run: Option<Arc<RunName>>,
    /// The process that was switched alone, with what it started; none: all processes.
    of: Option<Vec<u32>>,
    from_ns: u64,
    to_ns: u64,
}

impl OffTimes {
    /// Those of these runs.
    pub fn of(runs: &[FinishedRun]) -> OffTimes {
        OffTimes(runs.iter().flat_map(|run| of_run(&run.end)).collect())
    }

    /// Whether some calls of a process at this time were not recorded.
    pub fn overlap(&self, process: &Process, (start_ns, end_ns): (u64, u64)) -> bool {
        self.0.iter().any(|off| {
            let is_of = off.of.as_ref().is_none_or(|of| of.contains(&process.pid));
            off.run == process.run && is_of && off.from_ns < end_ns && start_ns < off.to_ns
        })
    }
}

fn of_run(end: &End) -> Vec<OffTime> {
    let mut times = Vec::new();
    let mut add = |pid: u32, from_ns: u64, to_ns: u64| {
        let of = (pid != 0).then(|| with_children(end, pid));
        times.push(OffTime { run: end.run.clone(), of, from_ns, to_ns });
    };
    // By the process that was switched alone; 0: all.
    let mut off: BTreeMap<u32, u64> = BTreeMap::new();
    let mut is_first = true;
    for Switched { ns, to, pid } in &end.settings.switched.0 {
        match to {
            SwitchedTo::Off => {
                off.entry(*pid).or_insert(*ns);
            }
            SwitchedTo::On => match off.remove(pid) {
                Some(from) => add(*pid, from, *ns),
                // It was off from the start.
                None if is_first => add(*pid, 0, *ns),
                None => {}
            },
            SwitchedTo::Filter | SwitchedTo::NoFilter => continue,
        }
        if *pid == 0 && *to == SwitchedTo::On {
            std::mem::take(&mut off).into_iter().for_each(|(pid, from)| add(pid, from, *ns));
        }
        is_first = false;
    }
    off.into_iter().for_each(|(pid, from)| add(pid, from, u64::MAX));
    times
}

fn with_children(end: &End, pid: u32) -> Vec<u32> {
    let mut family = vec![pid];
    // Parents come before their children.
    for process in &end.processes.all {
        if family.contains(&process.ppid) && !family.contains(&process.pid) {
            family.push(process.pid);
        }
    }
    family
}
