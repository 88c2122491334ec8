//! `cutap show`: prints the calls of run directories or recordings, while the program runs or later. It only reads, so
//! it shows the same again the next time.

use crate::args::{FilterArgs, InputArgs, OutputArgs};
use crate::inputs::{all_whole, say_counted, say_filter_of_run, say_notes};
use crate::pager::Pager;
use crate::reader_thread::write_all;
use crate::stdout::written;
use cutap_collect::hooks::{crash_notes, not_called};
use cutap_collect::{OutputFormat, Result, output, print_notice, scan_executables, summary};
use cutap_report::{CallRows, Counts, Output, Summary, write_csv};
use cutap_trace::{End, Filter, FinishedRun, ReaderOptions, Runs, monotonic};
use std::io::{self, BufWriter, stdout};

#[derive(Debug, clap::Args)]
pub struct Show {
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    output: OutputArgs,
    /// Comma-separated values, a row for each call
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    #[command(flatten)]
    input: InputArgs,
}

impl Show {
    pub fn run(self) -> Result<()> {
        let mut form = self.output.format();
        let filter_text = self.filter.text();
        let filter =
            self.filter.of_reader(form.text.all || form.text.verbose, &self.input)?.during(self.input.window()?);
        let is_data = form.json || self.csv;
        let runs = self.input.open()?;
        let is_several = runs.paths().len() > 1;
        // The answer to a question is a few lines, and the notes on the whole run would be most of the output. Of
        // several runs each note says which it is about.
        let is_answer = !is_data && (is_several || filter_text.is_some() && !form.text.verbose);
        form.text.silent |= is_answer;
        form.text.is_past = true;
        let pager = (!is_data).then(Pager::start);
        let (run_ends, output_result) = match (self.csv, form.summary) {
            (true, _) => as_csv(&runs, form, filter)?,
            (false, true) => summed(&runs, form, &filter)?,
            (false, false) => {
                let mut output = output(form, false);
                each_call(&runs, form, filter, &mut *output)?
            }
        };
        drop(pager);
        let whole = all_whole(&run_ends);
        if output_result.is_ok() {
            if is_answer || self.csv {
                say_notes(&runs, &run_ends);
            }
            say_filter_of_run(&run_ends);
            if !form.counts && !form.json {
                say_counted(&runs, &run_ends);
            }
        }
        for run in runs.paths() {
            not_called(run).into_iter().chain(crash_notes(run, None)).for_each(|line| print_notice(&line));
        }
        written(output_result)?;
        whole
    }
}

/// What is known at the end of each run, and what writing said.
type Read = (Vec<FinishedRun>, io::Result<()>);

/// Hands each event to the output.
fn each_call(runs: &Runs, form: OutputFormat, filter: Filter, output: &mut dyn Output) -> Result<Read> {
    let options = ReaderOptions { consume: false, filter, decode: !form.counts, ..ReaderOptions::default() };
    let now = monotonic();
    let (run_ends, lines) = write_all(runs, &options, output)?;
    let output_result =
        lines.and_then(|()| output.tick(now)).and_then(|()| output.end_runs(&with_scanned_executables(&run_ends)));
    Ok((run_ends, output_result))
}

/// Adds the calls up. A summary needs no event of each call.
fn summed(runs: &Runs, form: OutputFormat, filter: &Filter) -> Result<Read> {
    let mut summary = summary(form);
    let run_ends = runs.calls(filter, &mut summary)?;
    let output_result = summary.end_runs(&with_scanned_executables(&run_ends));
    Ok((run_ends, output_result))
}

/// Comma-separated values, whatever the rows are.
fn as_csv(runs: &Runs, form: OutputFormat, filter: Filter) -> Result<Read> {
    let mut lines = Vec::new();
    let run_ends = if form.summary {
        let mut summary = Summary::json(&mut lines);
        let run_ends = runs.calls(&filter, &mut summary)?;
        (summary.end_runs(&with_scanned_executables(&run_ends)), run_ends)
    } else if form.counts {
        let mut counts = Counts::new(&mut lines, true, false);
        let (run_ends, output_result) = each_call(runs, form, filter, &mut counts)?;
        (output_result, run_ends)
    } else {
        let mut rows = CallRows::new(BufWriter::with_capacity(1 << 16, stdout()));
        return each_call(runs, form, filter, &mut rows);
    };
    let (output_result, run_ends) = run_ends;
    Ok((run_ends, output_result.and_then(|()| write_csv(&lines, &mut stdout().lock()))))
}

/// The ends of the runs, with what only the programs' files can tell.
fn with_scanned_executables(run_ends: &[FinishedRun]) -> Vec<End> {
    let mut scanned_ends: Vec<End> = run_ends.iter().map(|of| of.end.clone()).collect();
    scanned_ends.iter_mut().for_each(scan_executables);
    scanned_ends
}
