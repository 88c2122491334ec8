//! `cutap explain`: likely problems of a run, the worst first, each with evidence and advice. A rule is one file here
//! and one line in `rules!` below. Rules see finished calls in the order of time; they know no file and no command
//! line.

mod seen;
mod site;

use crate::failures::Failures;
use crate::leaks::Leaks;
use crate::open_calls::OpenCalls;
use crate::units::{bytes, time};
use cutap_trace::{Event, Exit, Returned};
use seen::Seen;
use serde_json::json;
use site::Site;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;

/// Findings that are printed.
const MOST: usize = 10;
/// Part of the run's time below which a finding is left out.
const LEAST: f64 = 0.001;
/// Part of the run's time below which CUDA calls cannot be what makes it slow.
const FEW: f64 = 0.1;

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
    synchronous_copies,
    allocation_churn,
    recreated_objects,
    idle_waits,
    registered_again,
}

/// Looks for one kind of problem.
trait Rule {
    /// The word for it in JSON.
    fn name(&self) -> &'static str;
    /// Takes a finished call.
    fn call(&mut self, seen: &Seen<'_>);
    /// What it has found in a run of so many nanoseconds.
    fn findings(&self, wall_ns: u64) -> Vec<Finding>;
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
    /// Other places whose findings read the same, and their nanoseconds.
    others: (u64, u64),
}

/// What rules look for, in a few words.
const LOOKED_FOR: [&str; 2] = [
    "they look for ignored errors, waits in a loop or for an idle stream, synchronous, small and pageable copies,",
    "allocation in the steady state, and objects and registered memory that are made again and again",
];

/// Findings of one rule that read the same are one: places without a stack that differs.
fn merged(found: Vec<(&'static str, Finding)>) -> Vec<(&'static str, Finding)> {
    let mut merged: Vec<(&'static str, Finding)> = Vec::new();
    for (rule, finding) in found {
        let same = |(of, known): &&mut (&str, Finding)| {
            *of == rule && known.title == finding.title && known.site.lines() == finding.site.lines()
        };
        match merged.iter_mut().find(same) {
            Some((_, known)) => {
                known.cost_ns += finding.cost_ns;
                known.others = (known.others.0 + 1, known.others.1 + finding.cost_ns);
            }
            None => merged.push((rule, finding)),
        }
    }
    merged
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1}%", 100.0 * part as f64 / whole.max(1) as f64)
}

/// All rules at work on one run.
pub struct Explain {
    open: OpenCalls,
    rules: Vec<Box<dyn Rule>>,
    /// By the thread's key.
    failures: BTreeMap<u32, Failures>,
    left: Leaks,
    first_ns: u64,
    last_ns: u64,
    calls: u64,
    /// Nanoseconds of the outermost calls.
    outermost_ns: u64,
    has_stacks: bool,
}

impl Default for Explain {
    fn default() -> Explain {
        Explain {
            open: OpenCalls::default(),
            rules: rules(),
            failures: BTreeMap::new(),
            left: Leaks::default(),
            first_ns: u64::MAX,
            last_ns: 0,
            calls: 0,
            outermost_ns: 0,
            has_stacks: false,
        }
    }
}

impl Explain {
    /// Takes one event.
    pub fn event(&mut self, event: &Event) {
        self.left.event(event);
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
        self.outermost_ns += exit.duration_ns.filter(|_| around.is_empty()).unwrap_or(0);
        self.has_stacks |= exit.call.stack().is_some();
        let status = match exit.returned() {
            Some(Returned::Status(status)) if exit.is_error() => Some(status),
            _ => None,
        };
        let failures = self.failures.entry(exit.call.thread.key).or_default();
        failures.ended(around.len() as u32 + 1, 0, status, exit.late);
        let seen = Seen { exit, around: &around };
        self.rules.iter_mut().for_each(|rule| rule.call(&seen));
    }

    /// Calls that failed; one that passes a failure on counts once with it.
    fn failed(&self) -> u64 {
        self.failures.values().flat_map(|of| of.counts().values()).map(|count| count.calls).sum()
    }

    fn wall_ns(&self) -> u64 {
        self.last_ns.saturating_sub(self.first_ns)
    }

    /// The findings, the worst first, and the number of those that are left out. With `all` none is.
    fn findings(&self, all: bool) -> (Vec<(&'static str, Finding)>, usize) {
        let wall = self.wall_ns();
        let of = |rule: &dyn Rule| rule.findings(wall).into_iter().map(|f| (rule.name(), f)).collect::<Vec<_>>();
        let mut found: Vec<_> = self.rules.iter().flat_map(|rule| of(&**rule)).collect();
        let worst = |(_, finding): &(_, Finding)| (!finding.is_wrong, Reverse(finding.cost_ns));
        found.sort_by_key(worst);
        let mut found = merged(found);
        found.sort_by_key(worst);
        let whole = found.len();
        if !all {
            let least = (LEAST * wall as f64) as u64;
            found.retain(|(_, finding)| finding.is_wrong || finding.cost_ns >= least);
            found.truncate(MOST);
        }
        let left = whole - found.len();
        (found, left)
    }

    /// Writes the findings for people. `run` is the name of the run; a filter may have left out some of its calls.
    pub fn write_text(&self, run: &str, filtered: bool, all: bool, out: &mut dyn io::Write) -> io::Result<()> {
        let ((findings, left), wall) = (self.findings(all), self.wall_ns());
        if findings.is_empty() {
            return self.write_nothing(run, filtered, left, out);
        }
        for (n, (_, finding)) in findings.iter().enumerate() {
            let part = match (wall, finding.cost_ns) {
                (0, _) | (_, 0) => String::new(),
                (wall, cost) => format!(", {} of {} ({})", time(cost), time(wall), percent(cost, wall)),
            };
            writeln!(out, "{}. {}{part}", n + 1, finding.title)?;
            finding.evidence.iter().try_for_each(|line| writeln!(out, "   {line}"))?;
            match finding.others {
                (0, _) => {}
                (1, ns) => writeln!(out, "   and 1 more place like it, {} of the time above", time(ns))?,
                (n, ns) => writeln!(out, "   and {n} more places like it, {} of the time above", time(ns))?,
            }
            finding.site.lines().iter().try_for_each(|line| writeln!(out, "   {line}"))?;
            writeln!(out, "   -> {}\n", finding.advice)?;
        }
        match left {
            0 => {}
            1 => writeln!(out, "1 smaller finding is left out: --all shows it")?,
            n => writeln!(out, "{n} smaller findings are left out: --all shows them")?,
        }
        writeln!(out, "times are host times; a finding is a hint, no proof")
    }

    /// What was looked at without a finding, and what to do next.
    fn write_nothing(&self, run: &str, filtered: bool, left: usize, out: &mut dyn io::Write) -> io::Result<()> {
        let wall = self.wall_ns();
        if self.calls == 0 {
            writeln!(out, "no problem found: no call was recorded")?;
            return writeln!(out, "next: cutap report --notes {run}, for what the run lacks");
        }
        let calls = if self.calls == 1 { "1 call".to_owned() } else { format!("{} calls", self.calls) };
        writeln!(out, "no problem found by {} rules in {calls} over {}", self.rules.len(), time(wall))?;
        LOOKED_FOR.iter().try_for_each(|line| writeln!(out, "  {line}"))?;
        match left {
            0 => {}
            1 => writeln!(out, "  1 finding of less than 0.1 % of the time is left out: --all shows it")?,
            n => writeln!(out, "  {n} findings of less than 0.1 % of the time are left out: --all shows them")?,
        }
        match self.failed() {
            0 => {}
            1 => writeln!(out, "  1 call failed: cutap report --errors {run}")?,
            n => writeln!(out, "  {n} calls failed: cutap report --errors {run}")?,
        }
        // A filter may have left out the calls that free.
        let left: u64 = self.left.groups().iter().map(|group| group.bytes).sum();
        if left > 0 && !filtered {
            writeln!(out, "  {} of memory were not freed: cutap report --leaks {run}", bytes(left))?;
        }
        if filtered {
            writeln!(out, "  a filter (-e) left out calls: without it the rules may find more")?;
        }
        let inside = self.outermost_ns;
        writeln!(out, "  the threads were in CUDA calls for {} ({} of the run)", time(inside), percent(inside, wall))?;
        if (inside as f64) < FEW * wall as f64 {
            writeln!(out, "next: a profiler of the host (perf), since the host is rarely in CUDA calls")?;
        } else {
            writeln!(out, "next: cutap report {run}, for the functions with the most time")?;
        }
        if !self.has_stacks {
            writeln!(out, "      cutap record --stack, which tells places of the program apart")?;
        }
        writeln!(out, "      Nsight Systems, for the time of kernels on the GPU, which cutap does not see")
    }

    /// One JSON object a finding.
    pub fn write_json(&self, all: bool, out: &mut dyn io::Write) -> io::Result<()> {
        self.findings(all).0.iter().try_for_each(|(rule, finding)| {
            let line = json!({
                "type": "finding", "rule": rule, "title": finding.title, "cost_ns": finding.cost_ns,
                "evidence": finding.evidence, "path": finding.site.path(), "stack": finding.site.stack(),
                "advice": finding.advice, "other_places": finding.others.0,
            });
            writeln!(out, "{line}")
        })
    }
}
