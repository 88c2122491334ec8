//! `cutap explain`: likely problems of a recording or a run directory, the worst first. It only reads.

use crate::args::{
    BaselineArgs, ExitCodeArgs, FilterArgs, InputArgs, JsonArgs, baseline_notice, check_baseline, why_no_stacks,
};
use crate::input::{readable, whole};
use crate::inputs::{all_whole, named, say_notes, some_call_in_window};
use crate::pager::Pager;
use crate::progress::Progress;
use crate::reading::{read_events, read_run};
use crate::stdout::written;
use clap::builder::PossibleValuesParser;
use cutap_collect::{Result, filter, print_notice};
use cutap_report::{Baseline, EventSink, Explain, SelectedFunctions, may_lack_frees};
use cutap_trace::{End, ReaderOptions, Runs};
use std::io::{self, BufWriter, Write};
use std::path::Path;

#[derive(Debug, clap::Args)]
pub struct ExplainArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// Also findings that take less than 1 % of the time, and more than ten
    #[arg(short, long)]
    all: bool,
    /// Only findings of this rule; several rules are possible
    #[arg(long = "rule", value_name = "NAME", value_parser = PossibleValuesParser::new(Explain::rule_names()))]
    rules: Vec<String>,
    #[command(flatten)]
    exit_code: ExitCodeArgs,
    #[command(flatten)]
    baseline: BaselineArgs,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten)]
    input: InputArgs,
}

/// The rule whose findings a missing call may clear.
const IGNORED_ERROR: &str = "ignored_error";

impl ExplainArgs {
    pub fn run(self) -> Result<()> {
        let json = self.json.json;
        // The rules see all calls, and the filter chooses findings.
        let listed = self.filter.text().map(|text| filter(Some(&text))).transpose()?;
        let filter = filter(None)?.during(self.input.window()?);
        let runs = self.input.open()?;
        let window = self.input.window()?.map(|window| runs.window(window)).transpose()?;
        let options = ReaderOptions { filter, ..ReaderOptions::default() };
        let mut explain = Explain::default();
        explain.only_rules(&self.rules);
        if let Some(filter) = listed.as_ref().filter(|filter| filter.asks_calls()) {
            let options = ReaderOptions { filter: filter.clone(), ..ReaderOptions::default() };
            read_events(&runs, &options, &mut |event| explain.only_failures(event))?;
        }
        let progress = Progress::reading(&runs);
        if let Some(times) = runs.gpu_times()? {
            explain.gpu_times(&times.work_in(window));
        }
        let run_ends = read_events(&runs, &options, &mut |event| explain.event(event))?;
        if let Some(old) = &self.baseline.baseline {
            let (known_problems, old_end) = self.problems_of(old)?;
            let without = why_no_stacks(old, &old_end, &runs, &run_ends)?;
            print_notice(&baseline_notice(old, without.as_deref()));
            explain.leave_out(if without.is_some() { known_problems.without_stacks() } else { known_problems });
        }
        if self.input.names_process() || run_ends.iter().any(|of| !of.end.processes.running.is_empty()) {
            explain.runs_on();
        }
        drop(progress);
        let mut listed_ends = None;
        let selecting = listed.clone();
        if let Some(filter) = listed {
            let _progress = Progress::of("reading again, for the calls of the filter,", &runs);
            let mut selected = SelectedFunctions::of(&filter);
            let options = ReaderOptions { filter, ..ReaderOptions::default() };
            listed_ends = Some(read_events(&runs, &options, &mut |event| selected.event(event))?);
            explain.only_functions(selected);
        }
        let pager = (!json).then(Pager::start);
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout());
        let result = match json {
            true => explain.write_json(self.all, &mut out),
            false => {
                let filtered = run_ends.iter().any(|of| of.end.filtered.is_some() || of.end.coverage.filter.is_some());
                explain.write_text(&named(&runs), filtered, self.all, &mut out)
            }
        };
        written(result.and_then(|()| out.flush()))?;
        drop((out, pager));
        // What was not recorded cannot be explained.
        say_notes(&runs, &run_ends);
        all_whole(&run_ends)?;
        if self.exit_code.is_wanted() {
            some_call_in_window(&runs, self.input.window()?)?;
        }
        if let (Some(filter), Some(listed_ends)) = (&selecting, &listed_ends) {
            self.exit_code.some_call_is_selected(filter, listed_ends)?;
        }
        let is_each_partial = run_ends.iter().all(|of| may_lack_frees(&[&of.end]));
        if let [rule] = &explain.rules_that_found()[..]
            && *rule == IGNORED_ERROR
            && is_each_partial
        {
            self.exit_code.lacks_later_calls("the program may have asked for the error", 1, &run_ends)?;
        }
        self.exit_code.end(explain.problems(self.all) as u64, explain.has_calls(), &run_ends)
    }

    /// The findings of an older run.
    fn problems_of(&self, old: &Path) -> Result<(Baseline, End)> {
        readable(old)?;
        let mut explain = Explain::default();
        explain.only_rules(&self.rules);
        if let Some(times) = Runs::open(&[old.to_owned()])?.gpu_times()? {
            explain.gpu_times(&times.work_in(None));
        }
        let end = read_run(old, filter(None)?, &mut |event| explain.event(event))?;
        whole(old, &end)?;
        check_baseline(old, explain.has_calls(), &end, false)?;
        Ok((Baseline::new(explain.problem_keys()), end))
    }
}
