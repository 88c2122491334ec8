//! When a run was switched by `cutap ctl`: calls of that time are missing, and a reader has to know.

use crate::units::time;
use cutap_trace::{End, Switched, SwitchedTo};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A sentence for each time without calls, and for each change of the filter.
pub fn switched_lines(end: &End) -> Vec<String> {
    let (switched, more) = &end.switched;
    let start = end.processes.iter().map(|p| p.start_ns).min().unwrap_or(0);
    let after = |ns: u64| time(ns.saturating_sub(start));
    let mut lines = Vec::new();
    // Since when each process is off that was switched alone; 0: all.
    let mut off: BTreeMap<u32, u64> = BTreeMap::new();
    for Switched { ns, to, pid } in switched {
        let whose = whose(*pid);
        match (to, off.get(pid)) {
            (SwitchedTo::Off, None) => {
                off.insert(*pid, *ns);
            }
            (SwitchedTo::On, Some(from)) => {
                lines.push(was_off(*pid, after(*from), after(*ns)));
                off.remove(pid);
            }
            (SwitchedTo::On, None) if lines.is_empty() && *ns > start => {
                lines.push(format!(
                    "recording{whose} was off until {} after the start (cutap ctl): calls made before are missing",
                    after(*ns)
                ));
            }
            (SwitchedTo::Filter, _) => lines.push(format!(
                "the filter{whose} was changed {} after the start (cutap ctl): from then on calls that it leaves out are missing",
                after(*ns)
            )),
            (SwitchedTo::NoFilter, _) => {
                lines.push(format!("the filter{whose} was taken away {} after the start (cutap ctl)", after(*ns)));
            }
            _ => {}
        }
        // All are switched: those that were switched alone before, too.
        if *pid == 0 && *to == SwitchedTo::On {
            for (pid, from) in std::mem::take(&mut off) {
                lines.push(was_off(pid, after(from), after(*ns)));
            }
        }
    }
    if *more > 0 {
        lines.push(format!("it was switched {more} more times by cutap ctl: more calls may be missing"));
    } else {
        lines.extend(off.into_iter().map(|(pid, from)| {
            format!(
                "recording{} was off from {} after the start (cutap ctl) to the end: calls made then are missing",
                whose(pid),
                after(from)
            )
        }));
    }
    lines
}

fn was_off(pid: u32, from: String, to: String) -> String {
    let whose = whose(pid);
    format!("recording{whose} was off from {from} to {to} after the start (cutap ctl): calls made then are missing")
}

fn whose(pid: u32) -> String {
    if pid == 0 { String::new() } else { format!(" of process {pid} and what it started") }
}

/// The moments as a list.
pub fn switched_json(end: &End) -> Value {
    let word = |to| match to {
        SwitchedTo::Off => "off",
        SwitchedTo::On => "on",
        SwitchedTo::Filter | SwitchedTo::NoFilter => "filter",
    };
    end.switched
        .0
        .iter()
        .map(|s| json!({"ns": s.ns, "to": word(s.to), "pid": Some(s.pid).filter(|p| *p != 0)}))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(all: &[(u64, SwitchedTo)], more: u32) -> String {
        let switched = all.iter().map(|(ns, to)| Switched { ns: *ns, to: *to, pid: 0 }).collect();
        switched_lines(&End { switched: (switched, more), ..End::default() }).join("; ")
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
        let both = switched_lines(&End { switched: (both, 0), ..End::default() }).join("; ");
        assert!(both.starts_with("recording of process 7 and what it started was off from 1ns to 3ns"), "{both}");
        assert!(both.contains("of process 8 and what it started was off from 2ns to 4ns"), "{both}");
        let many = lines(&[(1, Off), (2, On), (3, Off)], 9);
        assert!(many.ends_with("9 more times by cutap ctl: more calls may be missing") && !many.contains("to the end"));
    }
}
