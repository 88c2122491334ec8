//! When a run was switched by `cutap ctl`: calls of that time are missing, and a reader has to know.

use crate::units::time;
use cutap_trace::{End, Switched, SwitchedTo};
use serde_json::{Value, json};

/// A sentence for each time without calls, and for each change of the filter.
pub fn switched_lines(end: &End) -> Vec<String> {
    let (switched, more) = &end.switched;
    let start = end.processes.iter().map(|p| p.start_ns).min().unwrap_or(0);
    let after = |ns: u64| time(ns.saturating_sub(start));
    let mut lines = Vec::new();
    let mut off: Option<u64> = None;
    for Switched { ns, to } in switched {
        match (to, off) {
            (SwitchedTo::Off, None) => off = Some(*ns),
            (SwitchedTo::On, Some(from)) => {
                lines.push(format!(
                    "recording was off from {} to {} after the start (cutap ctl): calls made then are missing",
                    after(from),
                    after(*ns)
                ));
                off = None;
            }
            (SwitchedTo::On, None) if lines.is_empty() && *ns > start => {
                lines.push(format!(
                    "recording was off until {} after the start (cutap ctl): calls made before are missing",
                    after(*ns)
                ));
            }
            (SwitchedTo::Filter, _) => lines.push(format!(
                "the filter was changed {} after the start (cutap ctl): from then on calls that it leaves out are missing",
                after(*ns)
            )),
            _ => {}
        }
    }
    if *more > 0 {
        lines.push(format!("it was switched {more} more times by cutap ctl: more calls may be missing"));
    } else if let Some(from) = off {
        lines.push(format!(
            "recording was off from {} after the start (cutap ctl) to the end: calls made then are missing",
            after(from)
        ));
    }
    lines
}

/// The moments as a list.
pub fn switched_json(end: &End) -> Value {
    let word = |to| match to {
        SwitchedTo::Off => "off",
        SwitchedTo::On => "on",
        SwitchedTo::Filter => "filter",
    };
    end.switched.0.iter().map(|s| json!({"ns": s.ns, "to": word(s.to)})).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(all: &[(u64, SwitchedTo)], more: u32) -> String {
        let switched = all.iter().map(|(ns, to)| Switched { ns: *ns, to: *to }).collect();
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
        let many = lines(&[(1, Off), (2, On), (3, Off)], 9);
        assert!(many.ends_with("9 more times by cutap ctl: more calls may be missing") && !many.contains("to the end"));
    }
}
