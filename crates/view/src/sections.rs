//! The lists of the page that are reports of `cutap report`: their lines are those of `--json`.

use cutap_report::{EventSink, Input, REPORTS, Report, gpu_kernels};
use cutap_trace::{CallSink, Event, FinishedRun, WorkRows};
use serde_json::Value;
use std::io;

/// A list of the page.
pub struct Section {
    /// The noun of the list.
    pub name: &'static str,
    pub report: Box<dyn Report>,
}

/// A noun, and the flag of its report with a value.
type Listed = (&'static str, &'static str, &'static str);

/// Lists of each run.
const LISTS: [Listed; 12] = [
    ("functions", "by", "function"),
    ("layers", "by", "layer"),
    ("libraries", "by", "library"),
    ("instances", "by", "instance"),
    ("kernels", "by", "kernel"),
    ("threads", "by", "thread"),
    ("processes", "by", "process"),
    ("errors", "errors", ""),
    ("waits", "blocking", ""),
    ("streams", "by", "stream"),
    ("ranges", "by", "range"),
    ("leaks", "leaks", ""),
];

/// The lists of several runs.
const RANKS: [Listed; 2] = [("ranks", "by", "rank"), ("collectives", "collectives", "")];

/// Lists of a run with GPU time.
const GPU_LISTS: [Listed; 3] = [("copies", "copies", ""), ("gaps", "gaps", ""), ("graphs", "graphs", "")];

impl Section {
    fn new((name, flag, value): Listed) -> Option<Section> {
        let kind = REPORTS.iter().find(|kind| kind.flag == flag)?;
        Some(Section { name, report: (kind.new)(value) })
    }

    /// The lists of runs.
    pub fn all(has_gpu_time: bool, runs: usize) -> Vec<Section> {
        let ranks = RANKS.into_iter().filter(|_| runs > 1);
        let of_gpu = GPU_LISTS.into_iter().filter(|_| has_gpu_time);
        let mut all: Vec<Section> = LISTS.into_iter().chain(ranks).chain(of_gpu).filter_map(Section::new).collect();
        if has_gpu_time {
            all.push(Section { name: "gpu_kernels", report: gpu_kernels() });
        }
        all
    }

    /// Whether its report gets all calls, whatever a filter leaves out.
    pub fn reads_all(&self) -> bool {
        self.report.reads_all()
    }

    /// Takes the GPU times, before the calls.
    pub fn gpu_times(&mut self, work: &WorkRows<'_>) {
        if self.report.needs_gpu_times() {
            self.report.gpu_times(work);
        }
    }

    /// What is known of the runs, after their events.
    pub fn run_ends(&mut self, run_ends: &[FinishedRun]) {
        self.report.run_ends(run_ends);
    }

    /// Where calls go that are read without arguments, if it reads these.
    pub fn calls(&mut self) -> Option<&mut dyn CallSink> {
        match self.report.input() {
            Input::Calls(sink) => Some(sink),
            Input::Events(_) => None,
        }
    }

    /// Takes an event, after the calls.
    pub fn event(&mut self, event: &Event) {
        if let Input::Events(sink) = self.report.input() {
            sink.event(event);
        }
        // It looks for stacks in a second reading.
        if let Some(sink) = self.report.stacks() {
            EventSink::event(sink, event);
        }
    }
}

/// The lines of `--json`; none if the report has no answer.
pub fn json_lines(report: &dyn Report) -> io::Result<Vec<Value>> {
    if report.refusal("").is_some() {
        return Ok(Vec::new());
    }
    let mut text = Vec::new();
    report.write_json(&mut text)?;
    parsed(&text)
}

/// Lines of JSON.
pub fn parsed(text: &[u8]) -> io::Result<Vec<Value>> {
    Ok(serde_json::Deserializer::from_slice(text).into_iter().collect::<Result<_, _>>()?)
}
