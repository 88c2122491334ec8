//! Calls that never ended: the program hangs in them, or ended there.

use super::activity::waits;
use super::seen::ObservedCall;
use super::site::Site;
use super::{Finding, Rank, Rule};
use crate::format::units::time;
use cutap_trace::{State, printable};
use std::collections::BTreeMap;

/// A shorter one did not hang: the program ended in it.
const HANGS_NS: u64 = 100_000_000;

pub(super) fn rule() -> Box<dyn Rule> {
    Box::new(UnfinishedCalls::default())
}

#[derive(Default)]
struct UnfinishedCalls {
    /// By the thread's key: the innermost call, which comes first.
    threads: BTreeMap<u32, OpenCall>,
    runs_on: bool,
}

struct OpenCall {
    site: Site,
    waits: bool,
    ns: u64,
    range: Option<String>,
}

impl Rule for UnfinishedCalls {
    fn name(&self) -> &'static str {
        "unfinished_calls"
    }

    fn call(&mut self, seen: &ObservedCall<'_>) {
        if seen.exit.state != State::Unfinished {
            return;
        }
        let (thread, ns) = (seen.call().thread.key, seen.exit.took_ns().unwrap_or(0));
        let range = seen.range.map(str::to_owned);
        let open = OpenCall { site: Site::of(seen), waits: false, ns, range };
        let open = self.threads.entry(thread).or_insert(open);
        // The outermost one comes last, and has lasted longest.
        open.waits |= waits(seen.function());
        open.ns = open.ns.max(ns);
    }

    fn runs_on(&mut self) {
        self.runs_on = true;
    }

    fn findings(&self, _: u64) -> Vec<Finding> {
        self.threads.values().map(|open| finding(open, self.runs_on)).collect()
    }
}

fn finding(open: &OpenCall, runs_on: bool) -> Finding {
    let name = open.site.path().first().cloned().unwrap_or_default();
    let (lasted, hangs) = (time(open.ns), open.ns >= HANGS_NS);
    let evidence = match hangs {
        _ if runs_on => format!("its thread is in it now, so far for {lasted}"),
        true => format!("its thread was in it for {lasted}, until the end of the run"),
        // The last record is that of the call, and no collector saw the end of the program.
        false if open.ns == 0 => "nothing was recorded after it, and when the program ended is not known".to_owned(),
        false => format!("the program ended {lasted} after the call began"),
    };
    let in_range = open.range.iter().map(|name| format!("the program is in its range \"{}\"", printable(name)));
    let advice = match (hangs, open.waits) {
        (true, true) => {
            "Look for a kernel or a host function that does not end: cutap where names the oldest work before it."
        }
        (true, false) => "Look where the process is in it: cutap show --stack, or gdb -p PID while it runs.",
        (false, _) if runs_on => "It may return yet: cutap where PID has the call of each thread.",
        (false, _) => "Look why the program ended there: a signal, or exit in another thread.",
    };
    Finding {
        title: match runs_on {
            true => format!("A call that has not returned yet: {name}"),
            false => format!("A call that never returned: {name}"),
        },
        cost_ns: open.ns,
        rank: Rank::NeverReturned,
        evidence: std::iter::once(evidence).chain(in_range).collect(),
        site: open.site.clone(),
        advice,
        other_places: (0, 0),
        times: 1,
    }
}
