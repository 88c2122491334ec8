//! `cutap report`: questions about what a run left, beside its calls one by one. It only reads.

use crate::error::{Error, Result, reason, say};
use crate::filter::filter;
use crate::output::{colour, scan_executables};
use crate::show::{readable, say_counted, whole};
use cutap_report::{
    BY, By, CallPaths, CallTree, Folded, Groups, Leaks, Streams, Tables, Tree, Weight, end_line, end_notes,
    undecoded_report, write_table, write_table_json,
};
use cutap_trace::{Aggregator, CallSink, End, Event, EventReader, Filter, ReaderOptions};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

/// What is asked.
#[derive(Debug, Clone)]
pub enum Ask {
    /// A table.
    By(By),
    /// The call tree.
    Tree,
    /// Who calls the functions of this name.
    Callers(String),
    /// Calls that failed.
    Errors,
    /// Calls that may block the host.
    Sync,
    /// What was never freed.
    Leaks,
    /// What was shown raw.
    Raw,
    /// Stacks, for flame graphs.
    Folded(Weight),
}

impl Ask {
    /// Stacks, counted by this word.
    pub fn folded(word: &str) -> Result<Ask> {
        match word {
            "calls" => Ok(Ask::Folded(Weight::Calls)),
            "time" => Ok(Ask::Folded(Weight::Time)),
            _ => Err(Error::own(format!("stacks cannot be added up by {word}; --folded takes calls or time"))),
        }
    }
    /// The table by this word.
    pub fn by(word: &str) -> Result<Ask> {
        let known = BY.iter().find(|(known, _)| *known == word).map(|(_, by)| Ask::By(*by));
        known.ok_or_else(|| {
            let words: Vec<&str> = BY.iter().map(|(word, _)| *word).collect();
            Error::own(format!("there is no table by {word}; --by takes one of {}", words.join(", ")))
        })
    }
}

/// What `cutap report` was asked.
#[derive(Debug)]
pub struct ReportOptions {
    /// The run directory or the recording.
    pub run: PathBuf,
    /// The filter's text; none wants all.
    pub filter: Option<String>,
    /// One JSON object a line.
    pub json: bool,
    /// The question.
    pub ask: Ask,
}

/// Answers on standard output. A reader that leaves is a clean end.
pub fn report(options: &ReportOptions) -> Result<()> {
    let filter = filter(options.filter.as_deref())?;
    readable(&options.run)?;
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout());
    let (mut recording, mut damaged) = (None, 0);
    let mut read = |end: End| {
        (recording, damaged) = (end.recording.clone(), end.damaged);
        end
    };
    let written = match &options.ask {
        Ask::By(By::Stream) => {
            let mut streams = Streams::default();
            let end = read(follow(options, filter, &mut |event| streams.event(event))?);
            table(options, streams.tables(), &end, &mut out)
        }
        Ask::By(by) => {
            let mut tables = Tables::new(*by);
            let end = read(scan(options, &filter, &mut tables)?);
            end.counted.iter().for_each(|counted| tables.counted(counted));
            table(options, &tables, &end, &mut out)
        }
        Ask::Leaks => {
            let mut leaks = Leaks::default();
            let end = read(follow(options, filter, &mut |event| leaks.event(event))?);
            let body = if options.json { leaks.write_json(&mut out) } else { leaks.write_text(&mut out) };
            body.and_then(|()| close(options, &end, &mut out))
        }
        Ask::Folded(weight) => {
            let none = || {
                let run = options.run.display();
                Error::own(format!("{run} has no stacks; they are kept with cutap record --stack"))
            };
            let mut folded = Folded::default();
            let mut follow = open(options, filter)?;
            // Reading a long run only to say so takes a while.
            if follow.opened().keeps_no_stacks() {
                return Err(none());
            }
            let end = read(read_all(&mut follow, &mut |event| folded.event(event))?);
            if folded.is_empty() {
                return Err(none());
            }
            let body = if options.json { folded.write_json(&mut out) } else { folded.write_text(*weight, &mut out) };
            body.and_then(|()| close(options, &end, &mut out))
        }
        Ask::Raw if options.json => {
            let end = read(follow(options, filter, &mut |_| ())?);
            close(options, &end, &mut out)
        }
        Ask::Raw => {
            let end = read(follow(options, filter, &mut |_| ())?);
            out.write_all(undecoded_report(&end).as_bytes())
        }
        Ask::Tree | Ask::Callers(_) | Ask::Errors | Ask::Sync => {
            let mut paths = CallTree::default();
            let end = read(scan(options, &filter, &mut paths)?);
            chains(options, &paths.chains(), &mut out)?.and_then(|()| close(options, &end, &mut out))
        }
    };
    match written.and_then(|()| out.flush()) {
        Err(e) if e.raw_os_error() != Some(libc::EPIPE) => {
            Err(Error::own(format!("cannot write to standard output: {}; write elsewhere", reason(&e))))
        }
        _ => whole(&options.run, recording, damaged),
    }
}

fn table(options: &ReportOptions, tables: &Tables, end: &End, out: &mut dyn Write) -> io::Result<()> {
    match options.json {
        true => write_table_json(tables, out)?,
        false => write_table(tables, colour(), out)?,
    }
    close(options, end, out)
}

/// What is read off the chains of calls. The outer result is a question that has no answer.
fn chains(options: &ReportOptions, chains: &CallPaths, out: &mut dyn Write) -> Result<io::Result<()>> {
    let (groups, none) = match &options.ask {
        Ask::Tree => return Ok(tree(options, &Tree::down(chains), out)),
        Ask::Callers(function) if function.is_empty() => {
            return Err(Error::own("no function is named behind --callers; give one as --callers cuMemAlloc"));
        }
        Ask::Callers(function) => {
            let matches = |name: &str| named(function, name);
            let tree = Tree::up(chains, &matches).ok_or_else(|| {
                let run = options.run.display();
                Error::own(format!(
                    "{run} has no call of {function}; cutap report {run} lists the functions that it has"
                ))
            })?;
            return Ok(self::tree(options, &tree, out));
        }
        Ask::Errors => (Groups::failed(chains), "no call failed"),
        _ => (Groups::blocking(chains, &cutap_calls::blocks), "no call that is known to block the host"),
    };
    Ok(match options.json {
        true => groups.write_json(out),
        false if groups.is_empty() => writeln!(out, "{none}"),
        false => groups.write_text(out),
    })
}

fn tree(options: &ReportOptions, tree: &Tree, out: &mut dyn Write) -> io::Result<()> {
    if options.json { tree.write_json(out) } else { tree.write_text(out) }
}

/// Whether a name is meant: with * in it, or any form of the plain one.
fn named(asked: &str, name: &str) -> bool {
    let form = |rest: &str| rest.is_empty() || rest.starts_with('_');
    cutap_calls::glob(asked.as_bytes(), name.as_bytes()) || name.strip_prefix(asked).is_some_and(form)
}

/// Reads all calls without their arguments.
fn scan(options: &ReportOptions, filter: &Filter, calls: &mut dyn CallSink) -> Result<End> {
    let mut scan = Aggregator::open(&options.run, filter)?;
    let end = scan.run(calls);
    Ok(end)
}

/// Reads all events, in the order of their time and with their arguments.
fn follow(options: &ReportOptions, filter: Filter, sink: &mut dyn FnMut(&Event)) -> Result<End> {
    read_all(&mut open(options, filter)?, sink)
}

fn open(options: &ReportOptions, filter: Filter) -> Result<EventReader> {
    Ok(EventReader::open(&options.run, ReaderOptions { filter, ..ReaderOptions::default() })?)
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
fn close(options: &ReportOptions, end: &End, out: &mut dyn Write) -> io::Result<()> {
    if options.json {
        let mut end = end.clone();
        scan_executables(&mut end);
        return end_line(&end, out);
    }
    out.flush()?;
    end_notes(end).iter().for_each(|note| say(note));
    if !matches!(options.ask, Ask::By(By::Function | By::Layer | By::Library)) {
        say_counted(&options.run, end);
    }
    Ok(())
}
