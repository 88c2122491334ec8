//! `cutap explain`: likely problems of a recording or a run directory, the worst first. It only reads.

use crate::args::{ExitCodeArgs, FilterArgs, InputArgs, JsonArgs};
use crate::inputs::{all_whole, named, say_notes};
use crate::pager::Pager;
use crate::progress::Progress;
use crate::reading::read_events;
use crate::stdout::written;
use clap::builder::PossibleValuesParser;
use cutap_collect::{Result, filter};
use cutap_report::{EventSink, Explain, SelectedFunctions};
use cutap_trace::ReaderOptions;
use std::io::{self, BufWriter, Write};

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
    json: JsonArgs,
    #[command(flatten)]
    input: InputArgs,
}

impl ExplainArgs {
    pub fn run(self) -> Result<()> {
        let json = self.json.json;
        // The rules see all calls, and the filter chooses findings.
        let listed = self.filter.text().map(|text| filter(Some(&text))).transpose()?;
        let filter = filter(None)?.during(self.input.window()?);
        let runs = self.input.open()?;
        let progress = Progress::reading(&runs);
        let mut explain = Explain::default();
        explain.only_rules(&self.rules);
        let options = ReaderOptions { filter, ..ReaderOptions::default() };
        let run_ends = read_events(&runs, &options, &mut |event| explain.event(event))?;
        if self.input.names_process() || run_ends.iter().any(|of| !of.end.processes.running.is_empty()) {
            explain.runs_on();
        }
        drop(progress);
        if let Some(filter) = listed {
            let _progress = Progress::of("reading again, for the calls of the filter,", &runs);
            let mut selected = SelectedFunctions::of(&filter);
            let options = ReaderOptions { filter, ..ReaderOptions::default() };
            read_events(&runs, &options, &mut |event| selected.event(event))?;
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
        self.exit_code.end(explain.problems(self.all) as u64, explain.has_calls(), &run_ends)
    }
}
