//! Collects what the page shows, from one reading of calls and one or two of events.

use crate::call_fan::CallFan;
use crate::held::HeldMemory;
use crate::html::Page;
use crate::paths::paths;
use crate::sections::{Section, json_lines, parsed};
use crate::timeline::Timeline;
use cutap_report::{
    Allocations, By, CallTree, EventSink, Explain, Tables, end_line, end_lines, host_line, notes_of_runs,
    program_end_note,
};
use cutap_trace::{CountedFunction, End, Event, FinishedRun, Instance, Process, WorkRows};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

/// What the page says of itself.
#[derive(Debug, Default)]
pub struct About {
    /// The names of the runs.
    pub runs: Vec<String>,
    /// The version of cutap.
    pub version: String,
    /// The filter and the time that were asked for.
    pub filter: Option<String>,
    pub window: Option<(u64, u64)>,
    /// Sentences on what could not be read.
    pub damage: Vec<String>,
}

/// All that a page shows.
pub struct Picture {
    sections: Vec<Section>,
    /// The durations of functions.
    functions: Tables,
    paths: CallTree,
    explain: Explain,
    allocations: Allocations,
    held_memory: HeldMemory,
    timeline: Timeline,
    processes: BTreeMap<u32, Arc<Process>>,
    devices: BTreeSet<u32>,
}

impl Picture {
    /// An empty one, for so many runs.
    pub fn new(has_gpu_time: bool, runs: usize) -> Picture {
        Picture {
            sections: Section::all(has_gpu_time, runs),
            functions: Tables::new(By::Function),
            paths: CallTree::with_ranges(),
            explain: Explain::default(),
            allocations: Allocations::with_steps(),
            held_memory: HeldMemory::default(),
            timeline: Timeline::default(),
            processes: BTreeMap::new(),
            devices: BTreeSet::new(),
        }
    }

    /// Takes the GPU times, first of all.
    pub fn gpu_times(&mut self, work: &WorkRows<'_>) {
        self.sections.iter_mut().for_each(|section| section.gpu_times(work));
        self.explain.gpu_times(work);
        self.devices.extend(work.rows().map(|row| row.row.place.device));
    }

    /// Where calls go that are read without arguments.
    pub fn calls(&mut self) -> CallFan<'_> {
        let mut sinks = vec![&mut self.functions as _, &mut self.paths as _];
        sinks.extend(self.sections.iter_mut().filter_map(Section::calls));
        CallFan::new(sinks)
    }

    /// Takes functions whose calls were only counted, after the calls.
    pub fn counted(&mut self, counted: &CountedFunction) {
        self.functions.counted(counted);
        self.sections.iter_mut().for_each(|section| section.report.counted(counted));
    }

    /// Takes an event that the filter selects, after the calls.
    pub fn selected_event(&mut self, event: &Event) {
        self.sections.iter_mut().filter(|section| !section.reads_all()).for_each(|section| section.event(event));
        self.timeline.event(event);
        if let Event::Process(process) = event {
            self.processes.insert(process.key, process.clone());
        }
    }

    /// Takes any event: rules and lists of memory follow all calls.
    pub fn event(&mut self, event: &Event) {
        self.sections.iter_mut().filter(|section| section.reads_all()).for_each(|section| section.event(event));
        self.explain.event(event);
        self.allocations.event(event);
        self.held_memory.add(self.allocations.take_steps());
    }

    /// Takes what is known of the runs, after all events.
    pub fn run_ends(&mut self, run_ends: &[FinishedRun]) {
        self.sections.iter_mut().for_each(|section| section.run_ends(run_ends));
    }

    /// The page. `ends` are those of the runs, after all else is known of them.
    pub fn finish(self, about: &About, ends: &[End]) -> io::Result<Page> {
        let mut tables = Map::new();
        tables.insert("run".to_owned(), self.run(about, ends)?);
        let mut list = |name: &str, lines: Vec<Value>| {
            if !lines.is_empty() {
                tables.insert(name.to_owned(), lines.into());
            }
        };
        for section in &self.sections {
            list(section.name, json_lines(&*section.report)?);
        }
        list("allocations", json_lines(&self.allocations)?);
        let mut findings = Vec::new();
        self.explain.write_json(true, &mut findings)?;
        list("findings", parsed(&findings)?);
        let durations = self.functions.rows().iter().map(|row| json!(row.sums.times.octaves())).collect();
        list("durations", durations);
        let origin_ns = self.timeline.origin_ns();
        tables.insert("held".to_owned(), self.held_memory.json(&self.allocations, origin_ns));
        tables.insert("paths".to_owned(), paths(&self.paths));
        let title = about.runs.join(" ");
        let timeline = self.timeline.finish()?;
        tables.insert("timeline".to_owned(), timeline.head);
        let mut page = Page::new(&title);
        page.json("tables", &Value::Object(tables))?;
        page.add("boxes", &timeline.boxes)?;
        page.add("sums", &timeline.sums)?;
        page.add_if_room("details", &timeline.details)?;
        Ok(page)
    }

    /// What ran, where, and what was not seen.
    fn run(&self, about: &About, ends: &[End]) -> io::Result<Value> {
        let end_refs: Vec<&End> = ends.iter().collect();
        let mut end_text = Vec::new();
        ends.iter().try_for_each(|end| end_line(end, &mut end_text))?;
        let origin_ns = self.timeline.origin_ns();
        let process = |of: &Arc<Process>| {
            json!({
                "process": of.key, "pid": of.pid, "exe": &*of.exe, "arguments": of.arguments, "forked": of.forked,
                "start_ns": of.start_ns.saturating_sub(origin_ns), "started": of.start_realtime_ns / 1_000_000,
                "run": of.run.as_ref().map(|run| run.to_string()),
            })
        };
        let instances = ends.iter().flat_map(|end| &end.processes.instances);
        let runtimes: BTreeSet<String> = instances.map(|instance| runtime(instance)).collect();
        let hosts: BTreeSet<&str> = ends.iter().filter_map(|end| end.host.name.as_deref()).collect();
        let program_ends = notes_of_runs(&end_refs, &|end| program_end_note(end).into_iter().collect());
        Ok(json!({
            "runs": about.runs, "version": about.version, "filter": about.filter,
            "damage": about.damage,
            "window": about.window.map(|(from, to)| json!([from, (to != u64::MAX).then_some(to)])),
            "origin_ns": origin_ns, "length_ns": self.timeline.length_ns(),
            "processes": self.processes.values().map(process).collect::<Vec<_>>(),
            "runtimes": runtimes, "hosts": hosts, "devices": self.devices, "program_ends": program_ends,
            "notes": notes_of_runs(&end_refs, &end_lines),
            "hosted": notes_of_runs(&end_refs, &|end| host_line(end).into_iter().collect()),
            "ends": parsed(&end_text)?,
        }))
    }
}

/// `13.0 in libcudart.so.13 (shared)`.
fn runtime(instance: &Instance) -> String {
    let version = instance.version.as_deref().unwrap_or("of unknown version");
    format!("{version} in {} ({})", instance.library, instance.linkage())
}
