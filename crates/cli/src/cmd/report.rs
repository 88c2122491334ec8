//! `cutap report`: adds up the calls of a run directory or a recording. One question at a time; without any, the
//! table by function. It only reads.

use crate::args::{FilterArgs, InputArgs, JsonArgs};
use crate::input::{readable, say_counted, whole};
use crate::stdout::written;
use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser, TypedValueParser};
use cutap_collect::{Error, Result, colour, filter, say, scan_executables};
use cutap_report::{
    BY, By, CallPaths, CallTree, Folded, Groups, Leaks, Streams, Tables, Tree, Weight, end_line, end_notes,
    undecoded_report, write_table, write_table_json,
};
use cutap_trace::{Aggregator, CallSink, End, Event, EventReader, Filter, ReaderOptions};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Report {
    #[command(flatten)]
    question: Question,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten)]
    input: InputArgs,
}

#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct Question {
    /// The table by one of these (default: function)
    #[arg(long, value_name = "WORD", value_parser = PossibleValuesParser::new(BY.map(|(word, _)| word)).map(by))]
    by: Option<By>,
    /// The call tree, calls with the same path merged
    #[arg(long)]
    tree: bool,
    /// Who calls FUNCTION (* allowed), and how much of its time each caller causes
    #[arg(long, value_name = "FUNCTION", value_parser = NonEmptyStringValueParser::new())]
    callers: Option<String>,
    /// Calls that failed, with the calls around them
    #[arg(long)]
    errors: bool,
    /// Calls that may block the host, with the calls around them
    #[arg(long)]
    blocking: bool,
    /// What was made and never freed, with the calls that made it
    #[arg(long)]
    leaks: bool,
    /// Arguments that were not decoded, and functions of which nothing is known, with the number of calls
    #[arg(long)]
    undecoded: bool,
    /// Calls of each stack that --stack kept, or their nanoseconds (=time), in the form from which flame graphs are
    /// drawn
    #[arg(long, value_name = "WEIGHT", num_args = 0..=1, require_equals = true, default_missing_value = "calls",
        value_parser = PossibleValuesParser::new(["calls", "time"]).map(weight))]
    folded: Option<Weight>,
}

/// The question that was asked.
enum Ask {
    By(By),
    Tree,
    Callers(String),
    Errors,
    Blocking,
    Leaks,
    Undecoded,
    Folded(Weight),
}

impl Question {
    fn ask(self) -> Ask {
        match self {
            Question { by: Some(by), .. } => Ask::By(by),
            Question { callers: Some(function), .. } => Ask::Callers(function),
            Question { folded: Some(weight), .. } => Ask::Folded(weight),
            Question { tree: true, .. } => Ask::Tree,
            Question { errors: true, .. } => Ask::Errors,
            Question { blocking: true, .. } => Ask::Blocking,
            Question { leaks: true, .. } => Ask::Leaks,
            Question { undecoded: true, .. } => Ask::Undecoded,
            _ => Ask::By(By::Function),
        }
    }
}

fn by(word: String) -> By {
    BY.iter().find(|(known, _)| *known == word).map_or(By::Function, |(_, by)| *by)
}

fn weight(word: String) -> Weight {
    if word == "time" { Weight::Time } else { Weight::Calls }
}

/// What is asked of which calls.
struct Request {
    ask: Ask,
    run: PathBuf,
    json: bool,
}

impl Report {
    pub fn run(self) -> Result<()> {
        let request = Request { ask: self.question.ask(), run: self.input.run, json: self.json.json };
        report(&request, filter(self.filter.text().as_deref())?)
    }
}

/// Answers on standard output.
fn report(request: &Request, filter: Filter) -> Result<()> {
    readable(&request.run)?;
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout());
    let (mut recording, mut damaged) = (None, 0);
    let mut read = |end: End| {
        (recording, damaged) = (end.recording.clone(), end.damaged);
        end
    };
    let done = match &request.ask {
        Ask::By(By::Stream) => {
            let mut streams = Streams::default();
            let end = read(follow(request, filter, &mut |event| streams.event(event))?);
            table(request, streams.tables(), &end, &mut out)
        }
        Ask::By(by) => {
            let mut tables = Tables::new(*by);
            let end = read(scan(request, &filter, &mut tables)?);
            end.counted.iter().for_each(|counted| tables.counted(counted));
            table(request, &tables, &end, &mut out)
        }
        Ask::Leaks => {
            let mut leaks = Leaks::default();
            let end = read(follow(request, filter, &mut |event| leaks.event(event))?);
            let body = if request.json { leaks.write_json(&mut out) } else { leaks.write_text(&mut out) };
            body.and_then(|()| close(request, &end, &mut out))
        }
        Ask::Folded(weight) => {
            let none = || {
                let run = request.run.display();
                Error::own(format!("{run} has no stacks; they are kept with cutap record --stack"))
            };
            let mut folded = Folded::default();
            let mut follow = open(request, filter)?;
            // Reading a long run only to say so takes a while.
            if follow.opened().keeps_no_stacks() {
                return Err(none());
            }
            let end = read(read_all(&mut follow, &mut |event| folded.event(event))?);
            if folded.is_empty() {
                return Err(none());
            }
            let body = if request.json { folded.write_json(&mut out) } else { folded.write_text(*weight, &mut out) };
            body.and_then(|()| close(request, &end, &mut out))
        }
        Ask::Undecoded if request.json => {
            let end = read(follow(request, filter, &mut |_| ())?);
            close(request, &end, &mut out)
        }
        Ask::Undecoded => {
            let end = read(follow(request, filter, &mut |_| ())?);
            out.write_all(undecoded_report(&end).as_bytes())
        }
        Ask::Tree | Ask::Callers(_) | Ask::Errors | Ask::Blocking => {
            let mut paths = CallTree::default();
            let end = read(scan(request, &filter, &mut paths)?);
            chains(request, &paths.chains(), &mut out)?.and_then(|()| close(request, &end, &mut out))
        }
    };
    written(done.and_then(|()| out.flush()))?;
    whole(&request.run, recording, damaged)
}

fn table(request: &Request, tables: &Tables, end: &End, out: &mut dyn Write) -> io::Result<()> {
    match request.json {
        true => write_table_json(tables, out)?,
        false => write_table(tables, colour(), out)?,
    }
    close(request, end, out)
}

/// What is read off the chains of calls. The outer result is a question that has no answer.
fn chains(request: &Request, chains: &CallPaths, out: &mut dyn Write) -> Result<io::Result<()>> {
    let (groups, none) = match &request.ask {
        Ask::Tree => return Ok(tree(request, &Tree::down(chains), out)),
        Ask::Callers(function) => {
            let matches = |name: &str| named(function, name);
            let tree = Tree::up(chains, &matches).ok_or_else(|| {
                let run = request.run.display();
                Error::own(format!(
                    "{run} has no call of {function}; cutap report {run} lists the functions that it has"
                ))
            })?;
            return Ok(self::tree(request, &tree, out));
        }
        Ask::Errors => (Groups::failed(chains), "no call failed"),
        _ => (Groups::blocking(chains, &cutap_calls::blocks), "no call that is known to block the host"),
    };
    Ok(match request.json {
        true => groups.write_json(out),
        false if groups.is_empty() => writeln!(out, "{none}"),
        false => groups.write_text(out),
    })
}

fn tree(request: &Request, tree: &Tree, out: &mut dyn Write) -> io::Result<()> {
    if request.json { tree.write_json(out) } else { tree.write_text(out) }
}

/// Whether a name is meant: with * in it, or any form of the plain one.
fn named(asked: &str, name: &str) -> bool {
    let form = |rest: &str| rest.is_empty() || rest.starts_with('_');
    cutap_calls::glob(asked.as_bytes(), name.as_bytes()) || name.strip_prefix(asked).is_some_and(form)
}

/// Reads all calls without their arguments.
fn scan(request: &Request, filter: &Filter, calls: &mut dyn CallSink) -> Result<End> {
    let mut scan = Aggregator::open(&request.run, filter)?;
    let end = scan.run(calls);
    Ok(end)
}

/// Reads all events, in the order of their time and with their arguments.
fn follow(request: &Request, filter: Filter, sink: &mut dyn FnMut(&Event)) -> Result<End> {
    read_all(&mut open(request, filter)?, sink)
}

fn open(request: &Request, filter: Filter) -> Result<EventReader> {
    Ok(EventReader::open(&request.run, ReaderOptions { filter, ..ReaderOptions::default() })?)
}

fn read_all(follow: &mut EventReader, sink: &mut dyn FnMut(&Event)) -> Result<End> {
    follow.poll(true, sink)?;
    let end = follow.end();
    for exit in &end.unfinished {
        sink(&Event::Exit(exit.clone()));
    }
    Ok(end)
}

/// The last lines: in JSON the end of every output, else what keeps the answer from being whole.
fn close(request: &Request, end: &End, out: &mut dyn Write) -> io::Result<()> {
    if request.json {
        let mut end = end.clone();
        scan_executables(&mut end);
        return end_line(&end, out);
    }
    out.flush()?;
    end_notes(end).iter().for_each(|note| say(note));
    if !matches!(request.ask, Ask::By(By::Function | By::Layer | By::Library)) {
        say_counted(&request.run, end);
    }
    Ok(())
}
