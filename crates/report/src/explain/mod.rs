//! `cutap explain`: likely problems of a run, the worst first, each with evidence and advice. A rule is one file here
//! and one line in `rules!` below. Rules see finished calls in the order of time; they know no file and no command
//! line.

mod seen;
mod site;

use crate::open_calls::OpenCalls;
use crate::units::time;
use cutap_trace::{Event, Exit};
use seen::Seen;
use serde_json::json;
use site::Site;
use std::io;

/// Findings that are printed.
const MOST: usize = 10;

/// Declares the modules, and lists their rules.
macro_rules! rules {
    ($($module:ident),* $(,)?) => {
        $(mod $module;)*
        fn rules() -> Vec<Box<dyn Rule>> {
            vec![$($module::rule()),*]
        }
    };
}

rules! {
    ignored_error,
    sync_in_loop,
    pageable_copies,
    small_copies,
    allocation_churn,
    recreated_objects,
    idle_waits,
}

/// Looks for one kind of problem.
trait Rule {
    /// The word for it in JSON.
    fn name(&self) -> &'static str;
    /// Takes a finished call.
    fn call(&mut self, seen: &Seen<'_>);
    /// What it has found.
    fn findings(&self) -> Vec<Finding>;
}

/// A likely problem.
struct Finding {
    /// What is wrong, in a few words.
    title: String,
    /// Nanoseconds that it costs, by which findings are sorted.
    cost_ns: u64,
    /// It may make results wrong: printed before all that only takes time.
    is_wrong: bool,
    /// Numbers, a sentence each.
    evidence: Vec<String>,
    site: Site,
    advice: &'static str,
}

/// All rules at work on one run.
pub struct Explain {
    open: OpenCalls,
    rules: Vec<Box<dyn Rule>>,
    first_ns: u64,
    last_ns: u64,
    calls: u64,
}

impl Default for Explain {
    fn default() -> Explain {
        Explain { open: OpenCalls::default(), rules: rules(), first_ns: u64::MAX, last_ns: 0, calls: 0 }
    }
}

impl Explain {
    /// Takes one event.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Enter(call) => {
                self.first_ns = self.first_ns.min(call.start_ns);
                self.open.enter(call);
            }
            Event::Exit(exit) => self.exit(exit),
            _ => {}
        }
    }

    fn exit(&mut self, exit: &Exit) {
        self.open.exit(exit);
        self.calls += 1;
        self.last_ns = self.last_ns.max(exit.end_ns);
        let around: Vec<_> = self.open.around(exit.call.thread.key).collect();
        let seen = Seen { exit, around: &around };
        self.rules.iter_mut().for_each(|rule| rule.call(&seen));
    }

    fn findings(&self) -> Vec<(&'static str, Finding)> {
        let of = |rule: &dyn Rule| rule.findings().into_iter().map(|f| (rule.name(), f)).collect::<Vec<_>>();
        let mut all: Vec<_> = self.rules.iter().flat_map(|rule| of(&**rule)).collect();
        all.sort_by_key(|(_, finding)| (!finding.is_wrong, std::cmp::Reverse(finding.cost_ns)));
        all.truncate(MOST);
        all
    }

    /// Writes the findings for people.
    pub fn write_text(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let findings = self.findings();
        let wall = self.last_ns.saturating_sub(self.first_ns);
        if findings.is_empty() {
            return match self.calls {
                0 => writeln!(out, "no problem found: no call was recorded"),
                n => {
                    writeln!(out, "no problem found in {n} calls of {}; {} rules looked", time(wall), self.rules.len())
                }
            };
        }
        for (n, (_, finding)) in findings.iter().enumerate() {
            let part = match (wall, finding.cost_ns) {
                (0, _) | (_, 0) => String::new(),
                (wall, cost) => {
                    format!(", {} of {} ({:.1}%)", time(cost), time(wall), 100.0 * cost as f64 / wall as f64)
                }
            };
            writeln!(out, "{}. {}{part}", n + 1, finding.title)?;
            finding.evidence.iter().try_for_each(|line| writeln!(out, "   {line}"))?;
            finding.site.lines().iter().try_for_each(|line| writeln!(out, "   {line}"))?;
            writeln!(out, "   -> {}\n", finding.advice)?;
        }
        writeln!(out, "times are host times; a finding is a hint, no proof")
    }

    /// One JSON object a finding.
    pub fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.findings().iter().try_for_each(|(rule, finding)| {
            let line = json!({
                "type": "finding", "rule": rule, "title": finding.title, "cost_ns": finding.cost_ns,
                "evidence": finding.evidence, "path": finding.site.path(), "stack": finding.site.stack(),
                "advice": finding.advice,
            });
            writeln!(out, "{line}")
        })
    }
}
