//! `cutap report`: adds up the calls of a run directory or a recording. It answers one question at a time; without a
//! question, the table by function. The questions and their flags are the list `cutap_report::REPORTS`. It only reads.

use crate::args::{FilterArgs, InputArgs, JsonArgs, number};
use crate::input::{readable, say_counted, say_filter_of_run, say_notes, whole};
use crate::pager::Pager;
use crate::progress::Progress;
use crate::stdout::written;
use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser};
use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Command, FromArgMatches};
use cutap_collect::{Error, Result, TextOptions, colour, scan_executables};
use cutap_report::{
    EventSink, Input, Kind, REPORTS, Rows, Takes, UnderCalls, UnderEvents, end_line, end_lines, write_csv,
};
use cutap_trace::{Aggregator, End, Event, EventReader, Filter, ReaderOptions};
use std::fmt::{self, Debug, Formatter};
use std::io::{self, BufWriter, Write};
use std::path::Path;

#[derive(Debug, clap::Args)]
pub struct Report {
    #[command(flatten)]
    question: Question,
    #[command(flatten)]
    filter: FilterArgs,
    /// Only calls of FUNCTION (* allowed) and those made inside it
    #[arg(long, value_name = "FUNCTION", value_parser = NonEmptyStringValueParser::new())]
    under: Option<String>,
    /// Sort rows by this column, the largest first
    #[arg(long, value_name = "COLUMN", value_parser = PossibleValuesParser::new(Rows::words()))]
    sort: Option<String>,
    /// Only the first N rows; in a tree the first N below each call
    #[arg(long, value_name = "N", value_parser = number)]
    top: Option<usize>,
    /// Only N levels of a tree
    #[arg(long, value_name = "N", value_parser = number)]
    depth: Option<usize>,
    /// Also calls that the filter of the run leaves out; and the start-up calls of --slowest
    #[arg(short, long)]
    all: bool,
    /// Comma-separated values instead of text
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// The notes on what the run lacks, all of them, instead of a table
    #[arg(long, conflicts_with_all = ["csv", "json", GROUP])]
    notes: bool,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten)]
    input: InputArgs,
}

/// The report that was asked for, and the value of its flag.
struct Question {
    report: &'static Kind,
    value: String,
}

impl Debug for Question {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "--{} {}", self.report.flag, self.value)
    }
}

/// The flag of a report.
fn arg(kind: &'static Kind) -> Arg {
    let arg = Arg::new(kind.flag).long(kind.flag).help(kind.help).group(GROUP);
    match kind.value {
        Takes::Nothing => arg.action(ArgAction::SetTrue),
        Takes::Text(name) => arg.value_name(name).value_parser(NonEmptyStringValueParser::new()),
        Takes::OneOf(name, words) => arg.value_name(name).value_parser(PossibleValuesParser::new(words)),
        Takes::Optional(name, words) => {
            let first = words.first().copied().unwrap_or_default();
            let arg = arg.value_name(name).num_args(0..=1).require_equals(true).default_missing_value(first);
            arg.value_parser(PossibleValuesParser::new(words))
        }
    }
}

const GROUP: &str = "question";

impl clap::Args for Question {
    fn augment_args(command: Command) -> Command {
        command.group(ArgGroup::new(GROUP).multiple(false)).args(REPORTS.iter().map(|kind| arg(kind)))
    }
    fn augment_args_for_update(command: Command) -> Command {
        Question::augment_args(command)
    }
}

impl FromArgMatches for Question {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Question, clap::Error> {
        let value = |kind: &'static Kind| match kind.value {
            Takes::Nothing => matches.get_flag(kind.flag).then(String::new),
            _ => matches.get_one::<String>(kind.flag).cloned(),
        };
        let mut asked = REPORTS.iter().filter_map(|kind| Some(Question { report: kind, value: value(kind)? }));
        let first = || REPORTS.first().map(|report| Question { report, value: String::new() });
        asked.next().or_else(first).ok_or_else(|| clap::Error::new(clap::error::ErrorKind::MissingRequiredArgument))
    }
    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> std::result::Result<(), clap::Error> {
        *self = Question::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Report {
    /// Answers on standard output.
    pub fn run(self) -> Result<()> {
        let Report { question, filter: wanted, under, sort, top, depth, all, csv, notes, json, input } = self;
        let (json, run) = (json.json, input.run);
        let mut report = (question.report.new)(&question.value);
        let filter = wanted.of_reader(all || report.reads_all())?;
        readable(&run)?;
        let rows = Rows { sort: sort.as_deref().and_then(Rows::column), top, depth };
        if !rows.is_default() && !report.rows(rows) {
            let flag = question.report.flag;
            let sentence = match depth {
                Some(_) => format!("--depth is for --tree and --callers; leave it out with --{flag}"),
                None => format!(
                    "--sort is for --by, --tree and --callers, --top for these, --slowest, --leaks and --allocations; \
                     leave them out with --{flag}"
                ),
            };
            return Err(Error::own(sentence));
        }
        if all {
            report.all();
        }
        let mut end = read(&mut *report, &run, filter, under.as_deref())?;
        // A pager takes the terminal's place on standard output.
        report.lines(TextOptions::default().format());
        let _pager = (!json && !csv).then(Pager::start);
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout());
        if notes {
            scan_executables(&mut end);
            let lines = end_lines(&end);
            let none = lines.is_empty().then_some("nothing is known to be missing");
            let mut lines = lines.iter().map(String::as_str).chain(none);
            written(lines.try_for_each(|line| writeln!(out, "{line}")).and_then(|()| out.flush()))?;
        } else if csv {
            let mut lines = Vec::new();
            written(
                report.write_json(&mut lines).and_then(|()| write_csv(&lines, &mut out)).and_then(|()| out.flush()),
            )?;
        } else {
            written(write(&*report, &run, &end, under.as_deref(), json, &mut out).and_then(|()| out.flush()))?;
        }
        drop(out);
        say_filter_of_run(&end);
        whole(&run, end.recording.clone(), end.damage())
    }
}

/// Reads the run for a report that has an answer.
fn read(report: &mut dyn cutap_report::Report, run: &Path, filter: Filter, under: Option<&str>) -> Result<End> {
    let refused = |report: &dyn cutap_report::Report| {
        report.refusal(&run.display().to_string()).map_or(Ok(()), |why| Err(Error::own(why)))
    };
    let progress = Progress::reading(run);
    let needs_stacks = report.needs_stacks();
    let end = match report.input() {
        Input::Calls(sink) => match under {
            Some(function) => Aggregator::open(run, &filter)?.run(&mut UnderCalls { sink, function }),
            None => Aggregator::open(run, &filter)?.run(sink),
        },
        Input::Events(sink) => {
            let mut inside;
            let sink: &mut dyn EventSink = match under {
                Some(function) => {
                    inside = UnderEvents::new(sink, function);
                    &mut inside
                }
                None => sink,
            };
            let mut reader =
                EventReader::open(run, ReaderOptions { filter: filter.clone(), ..ReaderOptions::default() })?;
            // Reading a long run only to refuse it takes a while.
            if needs_stacks && reader.opened().keeps_no_stacks() {
                refused(report)?;
                return Ok(reader.end());
            }
            reader.poll(true, &mut |event| sink.event(event))?;
            let end = reader.end();
            end.unfinished.iter().for_each(|exit| sink.event(&Event::Exit(Box::new(exit.clone()))));
            end
        }
    };
    drop(progress);
    read_selected(report, run, &filter)?;
    read_stacks(report, run, filter, under)?;
    end.counted.iter().for_each(|counted| report.counted(counted));
    refused(report)?;
    Ok(end)
}

/// Reads the run once more for the arguments of the calls that the report has selected.
fn read_selected(report: &mut dyn cutap_report::Report, run: &Path, filter: &Filter) -> Result<()> {
    let Some((only, sink)) = report.selected() else { return Ok(()) };
    let _progress = Progress::new(format!("reading {} again, for the arguments of these calls", run.display()));
    let options = ReaderOptions { filter: filter.clone(), only: Some(only), ..ReaderOptions::default() };
    let mut reader = EventReader::open(run, options)?;
    reader.poll(true, &mut |event| sink.event(event))?;
    reader.end().unfinished.into_iter().for_each(|exit| sink.event(&Event::Exit(Box::new(exit))));
    Ok(())
}

/// Reads the run once more for its stacks, if it keeps any and the report has a place for them.
fn read_stacks(report: &mut dyn cutap_report::Report, run: &Path, filter: Filter, under: Option<&str>) -> Result<()> {
    let Some(sink) = report.stacks() else { return Ok(()) };
    let mut inside;
    let sink: &mut dyn EventSink = match under {
        Some(function) => {
            inside = UnderEvents::new(sink, function);
            &mut inside
        }
        None => sink,
    };
    let _progress = Progress::new(format!("reading the stacks of {}", run.display()));
    let mut reader = EventReader::open(run, ReaderOptions { filter, ..ReaderOptions::default() })?;
    if !reader.opened().keeps_no_stacks() {
        reader.poll(true, &mut |event| sink.event(event))?;
        reader.end().unfinished.into_iter().for_each(|exit| sink.event(&Event::Exit(Box::new(exit))));
    }
    Ok(())
}

/// What may be the reason for an empty answer; a filter without a match has a note.
fn why_nothing(end: &End, under: Option<&str>) -> String {
    if let Some(function) = under {
        return format!("; only calls of {function} and those inside it were read");
    }
    match &end.filtered {
        Some(filtered) if !filtered.is_kept && filtered.shown > 0 => {
            format!("; only calls of the filter {} were read", filtered.text)
        }
        Some(filtered) if !filtered.is_kept => String::new(),
        _ if end.unseen.by_filter => "; the filter of record -e left out other calls of the program".to_owned(),
        _ => String::new(),
    }
}

/// Writes the answer, and what is missing from it.
fn write(
    report: &dyn cutap_report::Report,
    run: &Path,
    end: &End,
    under: Option<&str>,
    json: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    if json {
        report.write_json(out)?;
        let mut end = end.clone();
        scan_executables(&mut end);
        return end_line(&end, out);
    }
    let nothing = report.nothing();
    match nothing {
        Some(sentence) => writeln!(out, "{sentence}{}", why_nothing(end, under))?,
        None => report.write_text(end, colour(), out)?,
    }
    if nothing.is_none() && report.has_times() {
        writeln!(out, "times are host times: a launch returns before its kernel has run")?;
    }
    out.flush()?;
    if report.has_notes() {
        say_notes(run, end);
        if !report.has_counted() {
            say_counted(run, end);
        }
    }
    Ok(())
}
