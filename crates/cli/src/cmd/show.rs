//! `cutap show`: prints the calls of run directories or recordings, while the program runs or later. It only reads, so
//! it shows the same again the next time.

use crate::args::{FilterArgs, InputArgs, OutputArgs};
use crate::inputs::{all_whole, say_counted, say_filter_of_run, say_notes};
use crate::pager::Pager;
use crate::reader_thread::write_all;
use crate::stdout::written;
use cutap_collect::hooks::{crash_notes, not_called};
use cutap_collect::{OutputFormat, Result, output, say, scan_executables, summary};
use cutap_report::{CallRows, Counts, Output, Summary, write_csv};
use cutap_trace::{End, Ended, Filter, ReaderOptions, Runs, monotonic};
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
        let wanted = self.filter.text();
        let filter = self.filter.of_reader(form.text.all || form.text.verbose)?;
        let is_data = form.json || self.csv;
        let runs = self.input.open()?;
        let is_several = runs.paths().len() > 1;
        // The answer to a question is a few lines, and the notes on the whole run would be most of the output. Of several
        // runs each note says which it is about.
        let is_answer = !is_data && (is_several || wanted.is_some() && !form.text.verbose);
        form.text.silent |= is_answer;
        let pager = (!is_data).then(Pager::start);
        let (ended, done) = match (self.csv, form.summary) {
            (true, _) => as_csv(&runs, form, filter)?,
            (false, true) => summed(&runs, form, &filter)?,
            (false, false) => {
                let mut output = output(form, false);
                each_call(&runs, form, filter, &mut *output)?
            }
        };
        drop(pager);
        let whole = all_whole(&ended);
        if done.is_ok() {
            if is_answer || self.csv {
                say_notes(&runs, &ended);
            }
            say_filter_of_run(&ended);
            if !form.counts && !form.json {
                say_counted(&runs, &ended);
            }
        }
        for run in runs.paths() {
            not_called(run).into_iter().chain(crash_notes(run, None)).for_each(|line| say(&line));
        }
        written(done)?;
        whole
    }
}

/// What is known at the end of each run, and what writing said.
type Read = (Vec<Ended>, io::Result<()>);

/// Hands each event to the output.
fn each_call(runs: &Runs, form: OutputFormat, filter: Filter, output: &mut dyn Output) -> Result<Read> {
    let options = ReaderOptions { consume: false, filter, decode: !form.counts, ..ReaderOptions::default() };
    let now = monotonic();
    let (ended, lines) = write_all(runs, &options, output)?;
    let done = lines.and_then(|()| output.tick(now)).and_then(|()| output.ends(&scanned(&ended)));
    Ok((ended, done))
}

/// Adds the calls up. A summary needs no event of each call.
fn summed(runs: &Runs, form: OutputFormat, filter: &Filter) -> Result<Read> {
    let mut summary = summary(form);
    let ended = runs.calls(filter, &mut summary)?;
    let done = summary.ends(&scanned(&ended));
    Ok((ended, done))
}

/// Comma-separated values, whatever the rows are.
fn as_csv(runs: &Runs, form: OutputFormat, filter: Filter) -> Result<Read> {
    let mut lines = Vec::new();
    let ended = if form.summary {
        let mut summary = Summary::json(&mut lines);
        let ended = runs.calls(&filter, &mut summary)?;
        (summary.ends(&scanned(&ended)), ended)
    } else if form.counts {
        let mut counts = Counts::new(&mut lines, true, false);
        let (ended, done) = each_call(runs, form, filter, &mut counts)?;
        (done, ended)
    } else {
        let mut rows = CallRows::new(BufWriter::with_capacity(1 << 16, stdout()));
        return each_call(runs, form, filter, &mut rows);
    };
    let (done, ended) = ended;
    Ok((ended, done.and_then(|()| write_csv(&lines, &mut stdout().lock()))))
}

/// The ends, with what only the programs' files can tell.
fn scanned(ended: &[Ended]) -> Vec<End> {
    let mut ends: Vec<End> = ended.iter().map(|of| of.end.clone()).collect();
    ends.iter_mut().for_each(scan_executables);
    ends
}
