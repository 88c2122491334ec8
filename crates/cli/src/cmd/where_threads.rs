//! `cutap where`: where each thread is, since when, and what it waits for: of programs that run, and of recordings of
//! programs that were killed. It only reads.

use crate::args::JsonArgs;
use crate::input::readable;
use crate::inputs::{names_process, of_pid};
use crate::stdout::written;
use cutap_collect::{Error, Result, has_thread, output_file, system_call};
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
        let mut documents = Vec::new();
        for run in &self.runs {
            documents.extend(documents_of(run)?);
        }
        let mut out = BufWriter::new(io::stdout());
        let lines = match self.json.json {
            true => documents.iter().try_for_each(|document| {
                serde_json::to_writer(&mut out, document)?;
                writeln!(out)
            }),
            false => write_documents(&documents, &mut out),
        };
        written(lines.and_then(|()| out.flush()))
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
    let live_thread =
        |pid: u32, tid: u32| LiveThread { is_there: has_thread(pid, tid), system_call: system_call(pid, tid) };
    let live: Option<&dyn Fn(u32, u32) -> LiveThread> = if is_live { Some(&live_thread) } else { None };
    Ok(vec![state.document(&path.display().to_string(), &end, live)])
}

/// A file that begins as JSON does.
fn is_json(path: &Path) -> bool {
    let mut first = [0];
    let is_file = std::fs::metadata(path).is_ok_and(|data| data.is_file());
    is_file && File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok() && first == *b"{"
}

fn saved_documents(path: &Path) -> Result<Vec<HangDocument>> {
    let refuse = |why: String| {
        let path = path.display();
        Error::own(format!("{path} is no answer of cutap where --json ({why}); give one, a recording, or a PID"))
    };
    let text = std::fs::read_to_string(path).map_err(|e| refuse(e.to_string()))?;
    let documents = serde_json::Deserializer::from_str(&text).into_iter::<HangDocument>();
    let documents: Vec<HangDocument> =
        documents.collect::<serde_json::Result<_>>().map_err(|e| refuse(e.to_string()))?;
    match documents.iter().all(HangDocument::is_one) {
        true => Ok(documents),
        false => Err(refuse("its type is another".to_owned())),
    }
}
