//! `cutap where`: where each thread is, since when, and what it waits for: of programs that run, and of recordings of
//! programs that were killed. It only reads.

use crate::args::JsonArgs;
use crate::input::readable;
use crate::inputs::{names_process, of_pid};
use crate::stdout::written;
use cutap_collect::{Error, Result, has_thread, output_file, print_notice, stopped, system_call};
use cutap_report::{EventSink, HangDocument, HangState, LiveThread, write_documents};
use cutap_trace::{Filter, ReaderOptions, Runs};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub struct Where {
    #[command(flatten)]
    json: JsonArgs,
    /// PIDs, run directories, recordings, or files of where --json; several are the ranks of one job
    #[arg(value_name = "RUN", default_value = "run.cutap")]
    runs: Vec<PathBuf>,
}

impl Where {
    pub fn run(self) -> Result<()> {
        let (mut documents, mut unread) = (Vec::new(), 0);
        for run in &self.runs {
            match documents_of(run) {
                Ok(of_run) => documents.extend(of_run),
                Err(e) if self.runs.len() == 1 => return Err(e),
                // What the other ranks say is of use without it.
                Err(e) => {
                    print_notice(&e.to_string());
                    unread += 1;
                }
            }
        }
        let mut out = BufWriter::new(io::stdout());
        let lines = match self.json.json {
            true => documents.iter().try_for_each(|document| {
                serde_json::to_writer(&mut out, document)?;
                writeln!(out)
            }),
            false => write_documents(&documents, &mut out),
        };
        written(lines.and_then(|()| out.flush()))?;
        match unread {
            0 => Ok(()),
            _ => Err(Error::own(format!(
                "{unread} of {} runs could not be read; the answer is without",
                self.runs.len()
            ))),
        }
    }
}

/// What is known of a run, or stands in a file of `where --json`.
fn documents_of(run: &Path) -> Result<Vec<HangDocument>> {
    if !names_process(run) && is_json(run) {
        return saved_documents(run);
    }
    let path = of_pid(run)?;
    readable(&path)?;
    let mut state = HangState::default();
    let runs = Runs::open(std::slice::from_ref(&path))?;
    // All that was recorded, whatever filter the run was made with.
    let options = ReaderOptions { filter: Filter::default(), all_recorded: true, ..ReaderOptions::default() };
    // The calls that never ended are in what is known at the end.
    let mut run_ends = runs.events(&options, &mut |event| {
        state.event(&event);
        ControlFlow::Continue(())
    })?;
    let end = run_ends.pop().map(|of| of.end).unwrap_or_default();
    let is_live = names_process(run) || !end.processes.running.is_empty() || output_file::is_locked(&path);
    let live_thread = |pid: u32, tid: u32| LiveThread {
        is_there: has_thread(pid, tid),
        stopped: stopped(pid, tid),
        system_call: system_call(pid, tid),
    };
    let live: Option<&dyn Fn(u32, u32) -> LiveThread> = if is_live { Some(&live_thread) } else { None };
    Ok(vec![state.document(&path.display().to_string(), &end, live)])
}

/// A file of which a line begins as JSON does. What starts programs on many nodes may have written other lines.
fn is_json(path: &Path) -> bool {
    let mut first = Vec::new();
    let is_file = std::fs::metadata(path).is_ok_and(|data| data.is_file());
    let mut read = || File::open(path).and_then(|file| file.take(1 << 16).read_to_end(&mut first));
    is_file && read().is_ok() && (first.starts_with(b"{") || first.windows(3).any(|bytes| bytes == b"\n{\""))
}

fn saved_documents(path: &Path) -> Result<Vec<HangDocument>> {
    let refuse = |why: String| {
        let path = path.display();
        Error::own(format!("{path} is no answer of cutap where --json ({why}); give one, a recording, or a PID"))
    };
    let text = std::fs::read(path).map_err(|e| refuse(e.to_string()))?;
    let text = String::from_utf8_lossy(&text);
    let whole = serde_json::Deserializer::from_str(&text).into_iter::<HangDocument>();
    let whole: serde_json::Result<Vec<HangDocument>> = whole.collect();
    let why = match whole {
        Ok(documents) if documents.iter().all(HangDocument::is_one) => return Ok(documents),
        Ok(_) => "its type is another".to_owned(),
        Err(why) => why.to_string(),
    };
    let of_line = |line: &str| serde_json::from_str(line).ok().filter(HangDocument::is_one);
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let documents: Vec<HangDocument> = lines().filter_map(of_line).collect();
    if documents.is_empty() {
        return Err(refuse(why));
    }
    let left_out = lines().count() - documents.len();
    let (lines, are) = if left_out == 1 { ("1 line".to_owned(), "is") } else { (format!("{left_out} lines"), "are") };
    let path = path.display();
    print_notice(&format!("{lines} of {path} {are} left out: only answers of cutap where --json are read"));
    Ok(documents)
}
