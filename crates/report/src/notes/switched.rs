//! The times in which `cutap ctl` had switched recording off. Calls of these times are missing.

use crate::format::units::time;
use cutap_trace::{End, Process, Switched, SwitchedTo};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The largest difference of the clocks of two processes, unless they are in different time namespaces, or the machine
/// slept, or its time was set.
const SAME_NS: u64 = 2_000_000_000;

/// Times are shown relative to the start of the first process. `None` if there is no process, or if the clocks of the
/// processes differ: then some of them are not the clock of `cutap ctl`.
pub(super) fn start(end: &End) -> Option<u64> {
    let clock = |p: &Process| p.start_realtime_ns.wrapping_sub(p.start_ns) as i64;
    let first = clock(end.processes.all.first()?);
    let same = end.processes.all.iter().all(|p| clock(p).abs_diff(first) < SAME_NS);
    end.processes.all.iter().map(|p| p.start_ns).min().filter(|_| same)
}

/// A line for each time without calls, and for each change of the filter.
pub fn switched_lines(end: &End) -> Vec<String> {
    let (switched, more) = &end.settings.switched;
    let start = start(end);
    // A time before the first process, or of another clock, would mislead.
    let after = |ns: u64| start.and_then(|start| ns.checked_sub(start)).map(time);
    let at = |ns: u64| after(ns).map_or_else(|| "at some time".to_owned(), |t| format!("{t} after the start"));
    let was_off = |pid: u32, from: u64, to: u64| {
        let time = match (after(from), after(to)) {
            (Some(from), Some(to)) => format!("from {from} to {to} after the start"),
            (None, Some(to)) => format!("until {to} after the start"),
            (_, None) => "for a time".to_owned(),
        };
        format!("recording{} was off {time} (cutap ctl): calls made then are missing", process_suffix(pid))
    };
    let mut lines = Vec::new();
    // When recording of each process went off; 0 is all processes.
    let mut off: BTreeMap<u32, u64> = BTreeMap::new();
    for Switched { ns, to, pid } in switched {
        let suffix = process_suffix(*pid);
        match (to, off.get(pid)) {
            (SwitchedTo::Off, None) => {
                off.insert(*pid, *ns);
            }
            (SwitchedTo::On, Some(from)) => {
                lines.push(was_off(*pid, *from, *ns));
                off.remove(pid);
            }
            (SwitchedTo::On, None) if lines.is_empty() && after(*ns).is_some() => {
                let until = after(*ns).unwrap_or_default();
                lines.push(format!(
                    "recording{suffix} was off until {until} after the start (cutap ctl or --delay): \
                     calls made before are missing"
                ));
            }
            (SwitchedTo::Filter, _) => lines.push(format!(
                "the filter{suffix} was changed {} (cutap ctl): from then on calls that it leaves out are missing",
                at(*ns)
            )),
            (SwitchedTo::NoFilter, _) => {
                lines.push(format!("the filter{suffix} was taken away {} (cutap ctl)", at(*ns)));
            }
            _ => {}
        }
        // A switch of all processes includes those that were switched alone.
        if *pid == 0 && *to == SwitchedTo::On {
            for (pid, from) in std::mem::take(&mut off) {
                lines.push(was_off(pid, from, *ns));
            }
        }
    }
    if *more > 0 {
        let times = if *more == 1 { "once more".to_owned() } else { format!("{more} more times") };
        lines.push(format!("it was switched {times} by cutap ctl: more calls may be missing"));
    } else {
        lines.extend(off.into_iter().map(|(pid, from)| {
            let from = after(from).map_or_else(|| "some time on".to_owned(), |t| format!("{t} after the start"));
            format!(
                "recording{} was off from {from} (cutap ctl or --duration) to the end: calls made then are missing",
                process_suffix(pid)
            )
        }));
    }
    // A run directory may be that of cutap run, which records nothing.
    if switched.is_empty()
        && *more == 0
        && end.coverage.is_switched_off
        && end.processes.failed == 0
        && end.recording.is_some()
    {
        lines.push(
            "recording was off from the start to the end (--delay was not over): no call was recorded".to_owned(),
        );
    }
    lines
}

fn process_suffix(pid: u32) -> String {
    if pid == 0 { String::new() } else { format!(" of process {pid} and what it started") }
}

/// The switches as a JSON list.
pub fn switched_json(end: &End) -> Value {
    let word = |to| match to {
        SwitchedTo::Off => "off",
        SwitchedTo::On => "on",
        SwitchedTo::Filter | SwitchedTo::NoFilter => "filter",
    };
    end.settings
        .switched
        .0
        .iter()
        .map(|s| json!({"ns": s.ns, "to": word(s.to), "pid": Some(s.pid).filter(|p| *p != 0)}))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_trace::{RunProcesses, RunSettings};
    use std::sync::Arc;

    /// A process that began at `start_ns`, with this offset of its clock.
    fn process(start_ns: u64, clock: u64) -> Arc<Process> {
        Arc::new(Process {
            key: 0,
            folder: "p7-0".into(),
            run: None,
            pid: 7,
            ppid: 1,
            exe: "/bin/prog".into(),
            arguments: Vec::new(),
            forked: false,
            parent: None,
            start_ns,
            start_realtime_ns: start_ns + clock,
        })
    }

    fn of_run(switched: (Vec<Switched>, u32), all: Vec<Arc<Process>>) -> End {
        End {
            settings: RunSettings { switched, ..RunSettings::default() },
            processes: RunProcesses { all, ..RunProcesses::default() },
            ..End::default()
        }
    }

    fn lines_of(processes: &[(u64, u64)], all: &[(u64, SwitchedTo)], more: u32) -> String {
        let switched = all.iter().map(|(ns, to)| Switched { ns: *ns, to: *to, pid: 0 }).collect();
        let processes = processes.iter().map(|(start, clock)| process(*start, *clock)).collect();
        switched_lines(&of_run((switched, more), processes)).join("; ")
    }

    fn lines(all: &[(u64, SwitchedTo)], more: u32) -> String {
        lines_of(&[(0, 0)], all, more)
    }

    /// A time since boot would be useless.
    #[test]
    fn times_that_nobody_can_find_are_left_away() {
        use SwitchedTo::*;
        const HOUR: u64 = 3_600_000_000_000;
        let all = [(5_000, Filter), (6_000, Off), (7_000, On), (8_000, Off)];
        let no_time = "the filter was changed at some time (cutap ctl): from then on calls that it leaves out are \
                       missing; recording was off for a time (cutap ctl): calls made then are missing; \
                       recording was off from some time on (cutap ctl or --duration) to the end: \
                       calls made then are missing";
        assert_eq!(lines_of(&[], &all, 0), no_time, "no process");
        assert_eq!(lines_of(&[(HOUR, 0)], &all, 0), no_time, "before its first moment, or by a clock that is ahead");
        assert_eq!(lines_of(&[(4_000, HOUR), (HOUR, 9)], &all, 0), no_time, "two clocks");
        assert_eq!(lines_of(&[(4_000, HOUR), (5_000, HOUR + 9)], &all[1..3], 0).matches("from 2us to 3us").count(), 1);
        let until = lines_of(&[(6_500, HOUR)], &all[1..3], 0);
        assert!(until.starts_with("recording was off until 500ns after the start"), "{until}");
        assert!(
            lines(&[(1, Off), (2, On)], 1)
                .ends_with("it was switched once more by cutap ctl: more calls may be missing")
        );
    }

    #[test]
    fn what_is_missing_is_said() {
        use SwitchedTo::*;
        assert_eq!(lines(&[], 0), "");
        let off = lines(&[(1_000, Off), (3_000_000, On), (4_000_000_000, Off)], 0);
        assert!(
            off.starts_with("recording was off from 1us to 3ms after the start") && off.contains("from 4s after"),
            "{off}"
        );
        assert!(lines(&[(5, On)], 0).starts_with("recording was off until 5ns"));
        assert!(lines(&[(7, Filter)], 0).starts_with("the filter was changed 7ns after"));
        let all = lines(&[(7, Filter), (9, NoFilter)], 0);
        assert!(all.ends_with("; the filter was taken away 9ns after the start (cutap ctl)"), "{all}");
        let of = |ns, to, pid| Switched { ns, to, pid };
        let both = vec![of(1, Off, 7), of(2, Off, 8), of(3, On, 7), of(4, On, 0)];
        let end = of_run((both, 0), vec![process(0, 0)]);
        let both = switched_lines(&end).join("; ");
        assert!(both.starts_with("recording of process 7 and what it started was off from 1ns to 3ns"), "{both}");
        assert!(both.contains("of process 8 and what it started was off from 2ns to 4ns"), "{both}");
        let many = lines(&[(1, Off), (2, On), (3, Off)], 9);
        assert!(many.ends_with("9 more times by cutap ctl: more calls may be missing") && !many.contains("to the end"));
    }
}
