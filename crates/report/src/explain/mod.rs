//! `cutap explain`: likely problems of a run, the worst first, each with evidence and advice. A rule is one file here
//! and one line in `rules!` below. Rules see finished calls in the order of time; they know no file and no command
//! line.

mod activity;
mod durations;
mod gpu_pauses;
mod seen;
mod site;

pub(crate) use activity::{Activity, TimeSpent, activity, is_start_up};

use crate::format::runs::RunCounts;
use crate::format::units::{bytes, time};
use crate::nesting::call_place::{CallPlace, place_of_call};
use crate::nesting::open_calls::OpenCalls;
use crate::nesting::open_ranges::OpenRanges;
use crate::nesting::source_line::flag_of;
use crate::resources::baseline::{Baseline, ProblemKey, ProblemSize};
use crate::resources::leaks::Leaks;
use crate::resources::selected_functions::SelectedFunctions;
use crate::statistics::failures::{Failures, outcome};
use cutap_trace::{Call, Event, EventVisitor, Exit, Returned, WorkRows};
use gpu_pauses::GpuPauses;
use seen::ObservedCall;
use serde_json::json;
use site::Site;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::sync::Arc;

/// Findings that are printed.
const MOST: usize = 10;
/// Part of the time below which a finding is left out.
const LEAST: f64 = 0.01;
/// Part of the time below which CUDA calls cannot be what makes it slow.
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
    unfinished_calls,
    ignored_error,
    device_waits,
    module_loading,
    sync_in_loop,
    pageable_copies,
    small_copies,
    small_kernels,
    launch_bound,
    idle_after_wait,
    synchronous_copies,
    allocation_churn,
    recreated_objects,
    instantiated_again,
    idle_waits,
    registered_again,
}

/// Looks for one kind of problem.
trait Rule {
    /// The word for it in JSON.
    fn name(&self) -> &'static str;
    /// Takes the pauses of the GPU, before calls; of a run without GPU time it gets none.
    fn gpu_pauses(&mut self, _: &Arc<GpuPauses>) {}
    /// Takes a finished call.
    fn call(&mut self, seen: &ObservedCall<'_>);
    /// The program runs on: what is open may end.
    fn runs_on(&mut self) {}
    /// What it has found in a run whose threads took so many nanoseconds together.
    fn findings(&self, whole_ns: u64) -> Vec<Finding>;
}

/// A likely problem.
struct Finding {
    /// What is wrong, in a few words.
    title: String,
    /// Nanoseconds that it costs, by which findings are sorted.
    cost_ns: u64,
    rank: Rank,
    /// Numbers, a sentence each.
    evidence: Vec<String>,
    site: Site,
    advice: &'static str,
    /// Other places whose findings read the same, and their nanoseconds.
    other_places: (u64, u64),
    /// How often it happened, where a baseline compares that; else 1.
    times: u64,
}

/// How bad a finding is. The worst comes first; within a rank that which takes most time,
/// and of equal ones that whose first call was first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// The program hangs, or ended in a call.
    NeverReturned,
    /// It may make results wrong.
    Wrong,
    /// It takes time.
    Slow,
}

/// What rules look for, in a few words.
const LOOKED_FOR: [&str; 4] = [
    "they look for calls that never returned, ignored errors, long waits, waits in a loop or for an idle stream,",
    "module loading, synchronous, small and pageable copies, allocation in the steady state, objects,",
    "graphs and registered memory that are made again and again; in a run with --gpu-time also for small",
    "kernels, launch-bound stretches, and waits after which the GPU has nothing to do",
];

/// A finding of a rule.
struct Found {
    rule: &'static str,
    finding: Finding,
    /// What it costs in each run, if several are read.
    runs: RunCounts,
}

/// Findings of one rule that read the same are one: places without a stack that differs. So are those of one place in
/// several runs, however their numbers differ: they have the numbers of the worst one.
fn merged(found: Vec<(&'static str, Finding)>) -> Vec<Found> {
    let mut merged: Vec<Found> = Vec::new();
    for (rule, finding) in found {
        let same = |known: &&mut Found| {
            let (one, two) = (known.finding.site.run(), finding.site.run());
            let reads_the_same = known.finding.title == finding.title || one.is_some() && one != two;
            known.rule == rule && reads_the_same && known.finding.site.lines() == finding.site.lines()
        };
        let (run, cost_ns) = (finding.site.run().cloned(), finding.cost_ns);
        let runs = match merged.iter_mut().find(same) {
            Some(known) => {
                known.finding.cost_ns += cost_ns;
                known.finding.other_places = (known.finding.other_places.0 + 1, known.finding.other_places.1 + cost_ns);
                Some(&mut known.runs)
            }
            None => {
                merged.push(Found { rule, runs: RunCounts::default(), finding });
                merged.last_mut().map(|found| &mut found.runs)
            }
        };
        runs.zip(run).into_iter().for_each(|(runs, run)| runs.add_run(&run, cost_ns));
    }
    merged
}

/// A title names the kind of problem, and the call and status. Of a finding with numbers in it only the words count.
fn problem(finding: &Finding) -> (ProblemKey, ProblemSize) {
    let title: String = finding.title.chars().filter(|c| !c.is_ascii_digit()).collect();
    let key = ProblemKey::new(&title, finding.site.path(), finding.site.stack());
    (key, ProblemSize { count: finding.times, bytes: 0 })
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1}%", 100.0 * part as f64 / whole.max(1) as f64)
}

/// All rules at work on one run.
pub struct Explain {
    open: OpenCalls,
    ranges: OpenRanges,
    rules: Vec<Box<dyn Rule>>,
    /// By the thread's key.
    failures: BTreeMap<u32, Failures>,
    leaks: Leaks,
    first_ns: u64,
    last_ns: u64,
    calls: u64,
    spent: TimeSpent,
    has_stacks: bool,
    /// The flag of `record` that has the lines of the program.
    flag: Option<&'static str>,
    /// The program runs on.
    runs_on: bool,
    /// The functions that a filter selects; none without a filter.
    selected: Option<SelectedFunctions>,
    /// Failed calls that the filter selects by their arguments; none where it has no such condition.
    selected_failures: Option<HashSet<CallPlace>>,
    baseline: Baseline,
    has_baseline: bool,
    /// A call has its time on the GPU.
    has_gpu_time: bool,
    /// Only some rules are wanted, and not where the time went.
    is_limited: bool,
}

impl Default for Explain {
    fn default() -> Explain {
        Explain {
            open: OpenCalls::default(),
            ranges: OpenRanges::default(),
            rules: rules(),
            failures: BTreeMap::new(),
            leaks: Leaks::default(),
            first_ns: u64::MAX,
            last_ns: 0,
            calls: 0,
            spent: TimeSpent::default(),
            has_stacks: false,
            flag: None,
            runs_on: false,
            selected: None,
            selected_failures: None,
            baseline: Baseline::default(),
            has_baseline: false,
            has_gpu_time: false,
            is_limited: false,
        }
    }
}

impl EventVisitor for Explain {
    fn enter(&mut self, call: &Call) {
        // Ranges of NVTX are no calls: rules see only their names.
        if call.function.range.is_some() {
            return self.ranges.enter(call);
        }
        self.leaks.enter(call);
        self.first_ns = self.first_ns.min(call.start_ns);
        self.open.enter(call);
        self.spent.enter(call);
    }

    fn exit(&mut self, exit: &Exit) {
        if exit.call.function.range.is_some() {
            return self.ranges.exit(exit);
        }
        self.leaks.exit(exit);
        self.finish_call(exit);
    }
}

impl Explain {
    /// The program that made these calls runs on.
    pub fn runs_on(&mut self) {
        self.runs_on = true;
        self.rules.iter_mut().for_each(|rule| rule.runs_on());
    }

    /// Takes the GPU times of the runs, before their events.
    pub fn gpu_times(&mut self, work: &WorkRows<'_>) {
        let pauses = Arc::new(GpuPauses::of(work));
        self.rules.iter_mut().for_each(|rule| rule.gpu_pauses(&pauses));
    }

    /// The names of all rules.
    pub fn rule_names() -> Vec<&'static str> {
        rules().iter().map(|rule| rule.name()).collect()
    }

    /// Only these rules are at work; all if there is no name.
    pub fn only_rules(&mut self, names: &[String]) {
        if !names.is_empty() {
            self.is_limited = true;
            self.rules.retain(|rule| names.iter().any(|name| name == rule.name()));
        }
    }

    /// Only findings on these functions are listed. The rules see all calls.
    pub fn only_functions(&mut self, selected: SelectedFunctions) {
        self.selected = Some(selected);
    }

    /// The names of the rules whose findings are listed.
    pub fn rules_that_found(&self) -> Vec<&'static str> {
        let (findings, _) = self.findings(true);
        let names: BTreeSet<&str> = findings.iter().map(|found| found.rule).collect();
        names.into_iter().collect()
    }

    /// All findings.
    pub fn problem_keys(&self) -> Vec<(ProblemKey, ProblemSize)> {
        let whole = self.spent.whole_ns();
        self.rules.iter().flat_map(|rule| rule.findings(whole)).map(|finding| problem(&finding)).collect()
    }

    /// Leaves out findings that an older run has.
    pub fn leave_out(&mut self, baseline: Baseline) {
        (self.baseline, self.has_baseline) = (baseline, true);
    }

    /// Only these failures are findings, by events of an earlier reading with a filter that has conditions.
    pub fn only_failures(&mut self, event: &Event) {
        let selected = self.selected_failures.get_or_insert_default();
        if let Event::Exit(exit) = event
            && exit.is_error()
        {
            selected.insert(place_of_call(&exit.call));
        }
    }

    /// Whether a call was read.
    pub fn has_calls(&self) -> bool {
        self.calls > 0
    }

    fn finish_call(&mut self, exit: &Exit) {
        self.open.exit(exit);
        self.calls += 1;
        self.has_gpu_time |= exit.gpu.is_some();
        self.last_ns = self.last_ns.max(exit.end_ns);
        let counted = self.spent.exit(exit);
        let outer_calls: Vec<_> = self.open.open_calls(exit.call.thread.key).collect();
        self.has_stacks |= exit.call.stack().is_some();
        self.flag.get_or_insert_with(|| flag_of(&exit.call.thread.process));
        let status = match exit.returned() {
            Some(Returned::Status(status)) => Some(status),
            _ => None,
        };
        let failures = self.failures.entry(exit.call.thread.key).or_default();
        failures.record_end(outer_calls.len() as u32 + 1, 0, outcome(&exit.call.function, status), exit.late);
        let is_selected = |selected: &HashSet<CallPlace>| selected.contains(&place_of_call(&exit.call));
        if exit.is_error() && !self.selected_failures.as_ref().is_none_or(is_selected) {
            return;
        }
        let seen = ObservedCall { exit, counted, outer_calls: &outer_calls, range: self.ranges.innermost(&exit.call) };
        self.rules.iter_mut().for_each(|rule| rule.call(&seen));
    }

    /// Calls that failed and that no call around them handled; one that passes a failure on counts once with it.
    fn failed(&self) -> u64 {
        self.failures.values().flat_map(|of| of.counts().values()).map(|count| count.calls).sum()
    }

    fn wall_ns(&self) -> u64 {
        self.last_ns.saturating_sub(self.first_ns)
    }

    /// The findings, the worst first, and the number of those that are left out. With `all` none is.
    fn findings(&self, all: bool) -> (Vec<Found>, usize) {
        let whole = self.spent.whole_ns();
        let of = |rule: &dyn Rule| rule.findings(whole).into_iter().map(|f| (rule.name(), f)).collect::<Vec<_>>();
        let mut findings: Vec<_> = self.rules.iter().flat_map(|rule| of(&**rule)).collect();
        if let Some(selected) = &self.selected {
            findings.retain(|(_, finding)| selected.selects(finding.site.process(), finding.site.path()));
        }
        self.baseline.retain_new(&mut findings, |(_, finding)| problem(finding));
        let worst = |finding: &Finding| (finding.rank, Reverse(finding.cost_ns), finding.site.first_ns());
        findings.sort_by_key(|(_, finding)| worst(finding));
        let mut findings = merged(findings);
        findings.sort_by_key(|found| worst(&found.finding));
        let number = findings.len();
        if !all {
            let least = (LEAST * whole as f64) as u64;
            findings.retain(|Found { finding, .. }| finding.rank < Rank::Slow || finding.cost_ns >= least);
            findings.truncate(MOST);
        }
        let omitted = number - findings.len();
        (findings, omitted)
    }

    /// How many findings are listed. While the program runs, a call that has not returned is none.
    pub fn problems(&self, all: bool) -> usize {
        let (found, _) = self.findings(all);
        found.iter().filter(|found| !(self.runs_on && found.finding.rank == Rank::NeverReturned)).count()
    }

    /// Writes the findings for people. `run` is the name of the run; a filter may have left out some of its calls.
    pub fn write_text(&self, run: &str, filtered: bool, all: bool, out: &mut dyn io::Write) -> io::Result<()> {
        let ((findings, left), whole) = (self.findings(all), self.spent.whole_ns());
        if self.calls == 0 {
            writeln!(out, "no problem found: no call was recorded")?;
            return writeln!(out, "next: cutap report --notes {run}, for what the run lacks");
        }
        if !self.is_limited {
            self.spent.write_text(self.wall_ns(), out)?;
        }
        if findings.is_empty() {
            return self.write_nothing(run, filtered, left, out);
        }
        for (n, Found { finding, runs, .. }) in findings.iter().enumerate() {
            let part = match (whole, finding.cost_ns) {
                (0, _) | (_, 0) => String::new(),
                (whole, cost) => format!(", {} of {} ({})", time(cost), time(whole), percent(cost, whole)),
            };
            writeln!(out, "{}. {}{part}", n + 1, finding.title)?;
            match (runs.text(), finding.site.run()) {
                (Some(names), Some(_)) if finding.other_places.0 == 0 => writeln!(out, "   in {names}")?,
                (Some(names), Some(worst)) => writeln!(out, "   in {names}; of {worst}:")?,
                _ => {}
            }
            finding.evidence.iter().try_for_each(|line| writeln!(out, "   {line}"))?;
            match finding.other_places {
                (0, _) => {}
                _ if finding.site.run().is_some() => {}
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
        self.write_counts(run, filtered, "", out)?;
        let but_gpu = if self.has_gpu_time { ", but for those of the GPU" } else { "" };
        writeln!(out, "times are host times{but_gpu}; a finding is a hint, no proof")
    }

    /// Lines on what is no finding, and has a report that lists it.
    fn write_counts(&self, run: &str, filtered: bool, indent: &str, out: &mut dyn io::Write) -> io::Result<()> {
        if self.has_baseline || self.selected.is_some() {
            return Ok(());
        }
        match self.failed() {
            0 => {}
            1 => writeln!(out, "{indent}1 call failed: cutap report --errors {run}")?,
            n => writeln!(out, "{indent}{n} calls failed: cutap report --errors {run}")?,
        }
        // A filter may have left out the calls that free.
        let leaked_bytes: u64 = self.leaks.groups().iter().map(|group| group.bytes).sum();
        if leaked_bytes > 0 && !filtered {
            writeln!(out, "{indent}{} of memory were not freed: cutap report --leaks {run}", bytes(leaked_bytes))?;
        }
        if filtered {
            writeln!(out, "{indent}a filter (-e) left out calls: without it the rules may find more")?;
        }
        Ok(())
    }

    /// What was looked at without a finding, and what to do next.
    fn write_nothing(&self, run: &str, filtered: bool, left: usize, out: &mut dyn io::Write) -> io::Result<()> {
        let calls = if self.calls == 1 { "1 call".to_owned() } else { format!("{} calls", self.calls) };
        let on_these = if self.selected.is_some() { ", of the functions that the filter selects" } else { "" };
        let problem = if self.has_baseline { "problem beside those of the baseline" } else { "problem" };
        match &self.rules[..] {
            [rule] => writeln!(out, "no {problem} found by the rule {} in {calls}{on_these}", rule.name())?,
            rules => writeln!(out, "no {problem} found by {} rules in {calls}{on_these}", rules.len())?,
        }
        if self.rules.len() == rules().len() {
            LOOKED_FOR.iter().try_for_each(|line| writeln!(out, "  {line}"))?;
        }
        match left {
            0 => {}
            1 => writeln!(out, "  1 finding of less than 1 % of the time is left out: --all shows it")?,
            n => writeln!(out, "  {n} findings of less than 1 % of the time are left out: --all shows them")?,
        }
        self.write_counts(run, filtered, "  ", out)?;
        if self.is_limited {
            return Ok(());
        }
        if (self.spent.inside_ns() as f64) < FEW * self.spent.whole_ns() as f64 {
            writeln!(out, "next: a profiler of the host (perf), since the host is rarely in CUDA calls")?;
        } else {
            writeln!(out, "next: cutap report {run}, for the functions with the most time")?;
        }
        if !self.has_stacks {
            let flag = self.flag.unwrap_or("--stack");
            writeln!(out, "      cutap record {flag}, which tells places of the program apart")?;
        }
        match self.has_gpu_time {
            true => writeln!(out, "      cutap report --gaps {run}, for the time that the GPU was idle"),
            false => writeln!(out, "      cutap record --gpu-time, for the time of kernels on the GPU"),
        }
    }

    /// One JSON object an activity, and one a finding.
    pub fn write_json(&self, all: bool, out: &mut dyn io::Write) -> io::Result<()> {
        self.spent.write_json(out)?;
        self.findings(all).0.iter().try_for_each(|Found { rule, finding, runs }| {
            let mut line = json!({
                "type": "finding", "rule": rule, "title": finding.title, "cost_ns": finding.cost_ns,
                "evidence": finding.evidence, "path": finding.site.path(), "stack": finding.site.stack(),
                "advice": finding.advice, "other_places": finding.other_places.0,
            });
            runs.to_json("cost_ns", &mut line);
            writeln!(out, "{line}")
        })
    }
}
