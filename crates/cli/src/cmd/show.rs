//! `cutap show`: prints the calls of a run directory or a recording, while the program runs or later. It only reads, so
//! it shows the same again the next time.

use crate::args::{FilterArgs, InputArgs, OutputArgs};
use crate::input::{readable, say_counted, say_filter_of_run, say_notes, whole};
use crate::pager::Pager;
use crate::reader_thread::write_all;
use crate::stdout::written;
use cutap_collect::hooks::{crash_notes, not_called};
use cutap_collect::{OutputFormat, Result, output, say, scan_executables, summary};
use cutap_report::Output;
use cutap_trace::{Aggregator, End, EventReader, Filter, ReaderOptions, Recording};
use std::io;
use std::path::Path;

#[derive(Debug, clap::Args)]
pub struct Show {
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    input: InputArgs,
}

impl Show {
    pub fn run(self) -> Result<()> {
        let (run, mut form) = (&self.input.run, self.output.format());
        let wanted = self.filter.text();
        let filter = self.filter.of_reader(form.text.all || form.text.verbose)?;
        // The answer to a question is a few lines, and the notes on the whole run would be most of the output.
        let is_answer = wanted.is_some() && !form.json && !form.text.verbose;
        form.text.silent |= is_answer;
        readable(run)?;
        let pager = (!form.json).then(Pager::start);
        let (end, recording, ended) = match form.summary {
            true => summed(run, form, &filter)?,
            false => each_call(run, form, filter)?,
        };
        drop(pager);
        let whole = whole(run, recording, end.as_ref().map(End::damage).unwrap_or_default());
        if let Some(end) = end.as_ref().filter(|_| is_answer) {
            say_notes(run, end);
        }
        end.iter().for_each(say_filter_of_run);
        if let Some(end) = end.filter(|_| !form.counts && !form.json) {
            say_counted(run, &end);
        }
        not_called(run).into_iter().chain(crash_notes(run, None)).for_each(|line| say(&line));
        written(ended)?;
        whole
    }
}

/// What is known at the end of the run if the output could be written, how the recording ended, and what writing said.
type Read = (Option<End>, Option<Recording>, io::Result<()>);

/// Hands each event to the output.
fn each_call(run: &Path, form: OutputFormat, filter: Filter) -> Result<Read> {
    let options = ReaderOptions { consume: false, filter, decode: !form.counts, ..ReaderOptions::default() };
    let mut reader = EventReader::open(run, options)?;
    let mut output = output(form, false);
    let lines = write_all(&mut reader, &mut *output)?;
    let mut end = None;
    let ended = lines.and_then(|()| output.tick(reader.horizon())).and_then(|()| {
        let end = end.insert(reader.end());
        scan_executables(end);
        output.end(end)
    });
    let recording = end.as_ref().map_or_else(|| reader.opened().recording(), |end| end.recording.clone());
    Ok((end, recording, ended))
}

/// Adds the calls up. A summary needs no event of each call.
fn summed(run: &Path, form: OutputFormat, filter: &Filter) -> Result<Read> {
    let mut summary = summary(form);
    let mut end = Aggregator::open(run, filter)?.run(&mut summary);
    scan_executables(&mut end);
    let ended = summary.end(&end);
    let recording = end.recording.clone();
    Ok((Some(end), recording, ended))
}
