//! Counts and times by function, layer, library and so on: one row for each. Memory grows with the number of
//! functions, kernels and threads, not with the number of calls.

use crate::format::label::Label;
use crate::statistics::call_stats::{CallEnd, CallStats};
use crate::statistics::rows::Rows;
use cutap_trace::{
    CallSink, CountedFunction, FinishedCall, Function, Instance, KernelLaunch, Layer, RunName, Thread, printable,
};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What each row is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Functions.
    Function,
    /// Library, runtime, driver.
    Layer,
    /// Libraries, and programs with a static runtime.
    Library,
    /// Copies of the runtime.
    Instance,
    /// Kernels that were launched.
    Kernel,
    /// Threads.
    Thread,
    /// Processes.
    Process,
    /// Streams.
    Stream,
    /// Runs that are read together.
    Rank,
    /// Lines of the program.
    Line,
}

/// The words of [`By`].
pub const WORDS: [(&str, By); 10] = [
    ("function", By::Function),
    ("layer", By::Layer),
    ("library", By::Library),
    ("instance", By::Instance),
    ("kernel", By::Kernel),
    ("thread", By::Thread),
    ("process", By::Process),
    ("stream", By::Stream),
    ("rank", By::Rank),
    ("line", By::Line),
];

/// The sentence where a run, or what its filter left, has no calls.
pub(crate) const NO_CALL: &str = "there is no call to show";

/// The row of launches without a kernel name.
const NOT_KNOWN: &str = "(kernel not known)";

/// Adds up calls.
#[derive(Debug)]
pub struct Tables {
    by: By,
    /// By the function's key.
    functions: Vec<Option<OfFunction>>,
    /// By the thread's key.
    threads: Vec<Option<(Arc<Thread>, CallStats)>>,
    /// By the address of the name. Each name exists once and is kept, so addresses are unique.
    kernels: HashMap<usize, (Arc<str>, CallStats)>,
    named: BTreeMap<String, CallStats>,
    all_self_ns: u64,
    rows: Rows,
}

/// The counts and times of a function.
#[derive(Debug)]
struct OfFunction {
    function: Arc<Function>,
    /// The instance that its calls went to.
    instance: Option<Arc<Instance>>,
    /// The run that it is of, if several are read.
    run: Option<Arc<RunName>>,
    sums: CallStats,
}

/// A row of the table.
#[derive(Debug)]
pub struct Row {
    /// The function, if rows are functions.
    pub label: Option<Label>,
    /// The name of the row.
    pub name: String,
    /// The thread, if rows are threads.
    pub thread: Option<Arc<Thread>>,
    pub sums: CallStats,
    /// The sums of each run, if several are read and functions belong to the row.
    pub runs: RunSums,
}

/// Counts and times of each run.
#[derive(Debug, Clone, Default)]
pub struct RunSums(BTreeMap<u32, (Arc<RunName>, CallStats)>);

impl RunSums {
    fn add(&mut self, run: Option<&Arc<RunName>>, sums: &CallStats) {
        if let Some(run) = run {
            let of_run = self.0.entry(run.place).or_insert_with(|| (run.clone(), CallStats::default()));
            of_run.1.merge(sums);
        }
    }

    /// Runs and their sums, in the order of the command line.
    pub fn iter(&self) -> impl Iterator<Item = (&RunName, &CallStats)> {
        self.0.values().map(|(run, sums)| (&**run, sums))
    }
}

/// Sums that belong to one row.
#[derive(Debug, Clone, Default)]
struct Merged {
    sums: CallStats,
    runs: RunSums,
}

impl Merged {
    fn add(&mut self, of: &OfFunction) {
        self.sums.merge(&of.sums);
        self.runs.add(of.run.as_ref(), &of.sums);
    }
}

impl Tables {
    /// An empty table.
    pub fn new(by: By) -> Tables {
        Tables {
            by,
            functions: Vec::new(),
            threads: Vec::new(),
            kernels: HashMap::new(),
            named: BTreeMap::new(),
            all_self_ns: 0,
            rows: Rows::default(),
        }
    }

    /// What the rows are for.
    pub fn by(&self) -> By {
        self.by
    }

    /// The sentence for a table without rows.
    pub fn nothing(&self) -> Option<&'static str> {
        let is_empty = self.functions.is_empty() && self.threads.is_empty() && self.kernels.is_empty();
        (is_empty && self.named.is_empty()).then_some(match self.by {
            By::Kernel => "no call launched a kernel",
            By::Stream => "no call named a stream",
            _ => NO_CALL,
        })
    }

    /// Time in all calls. Each moment of a thread counts once.
    pub fn all_self_ns(&self) -> u64 {
        self.all_self_ns
    }

    /// Adds a call to the row of this name.
    pub fn named(&mut self, name: &str, end: CallEnd) {
        self.all_self_ns += end.self_ns();
        if !self.named.contains_key(name) {
            self.named.insert(name.to_owned(), CallStats::default());
        }
        if let Some(sums) = self.named.get_mut(name) {
            sums.add(end);
        }
    }

    /// Adds calls that were only counted, to the tables that need no thread, kernel or stream.
    pub fn counted(&mut self, counted: &CountedFunction) {
        match self.by {
            By::Function | By::Layer | By::Library => {
                let key = self.functions.len();
                self.functions.resize_with(key + 1, || None);
                let sums = CallStats { calls: counted.calls, ..CallStats::default() };
                let (function, instance) = (counted.function.clone(), counted.instance.clone());
                self.functions[key] = Some(OfFunction { function, instance, run: None, sums });
            }
            By::Instance | By::Kernel | By::Thread | By::Process | By::Stream | By::Rank | By::Line => {}
        }
    }

    /// The rows, those with the most self time first.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = match self.by {
            By::Function => self.by_label(),
            By::Thread => self.by_thread(),
            By::Process => self.by_process(),
            By::Rank => self.by_run(),
            _ => self.by_name(),
        };
        rows.sort_by(|a, b| {
            let key = |r: &Row| (std::cmp::Reverse(r.sums.self_ns), std::cmp::Reverse(r.sums.calls));
            key(a).cmp(&key(b)).then_with(|| (&a.name, &a.label).cmp(&(&b.name, &b.label)))
        });
        self.rows.apply_to_calls(&mut rows, |row| &row.sums);
        rows
    }

    /// Writes these rows only.
    pub fn want(&mut self, rows: Rows) {
        self.rows = rows;
    }

    fn by_process(&self) -> Vec<Row> {
        let mut merged: BTreeMap<u32, (Arc<Thread>, CallStats)> = BTreeMap::new();
        for (thread, sums) in self.threads.iter().flatten() {
            let key = thread.process.key;
            merged.entry(key).or_insert_with(|| (thread.clone(), CallStats::default())).1.merge(sums);
        }
        let row = |(thread, sums): (Arc<Thread>, CallStats)| {
            let exe = printable(&thread.process.exe);
            let program = exe.rsplit('/').next().unwrap_or(&exe);
            let run = thread.process.run.as_ref().map_or_else(String::new, |run| format!("{run} "));
            let name = format!("{run}{} ({program})", thread.process.pid);
            Row { label: None, name, thread: None, sums, runs: RunSums::default() }
        };
        merged.into_values().map(row).collect()
    }

    fn by_run(&self) -> Vec<Row> {
        let mut merged: BTreeMap<String, CallStats> = BTreeMap::new();
        for (thread, sums) in self.threads.iter().flatten() {
            let name = thread.process.run.as_ref().map_or_else(|| "(the only run)".to_owned(), |run| run.to_string());
            merged.entry(name).or_default().merge(sums);
        }
        let row = |(name, sums)| Row { label: None, name, thread: None, sums, runs: RunSums::default() };
        merged.into_iter().map(row).collect()
    }

    fn by_label(&self) -> Vec<Row> {
        let mut merged: HashMap<Label, Merged> = HashMap::new();
        for of in self.functions.iter().flatten() {
            merged.entry(Label::new(&of.function, of.instance.as_deref())).or_default().add(of);
        }
        let row = |(label, Merged { sums, runs }): (Label, Merged)| Row {
            name: label.name.to_string(),
            label: Some(label),
            thread: None,
            sums,
            runs,
        };
        merged.into_iter().map(row).collect()
    }

    fn by_thread(&self) -> Vec<Row> {
        let program = |thread: &Thread| {
            let exe = printable(&thread.process.exe);
            exe.rsplit('/').next().unwrap_or(&exe).to_owned()
        };
        let key = |thread: &Thread| (thread.process.pid, thread.tid, program(thread));
        let mut counts = HashMap::<_, u32>::new();
        self.threads.iter().flatten().for_each(|(thread, _)| *counts.entry(key(thread)).or_default() += 1);
        let row = |(thread, sums): &(Arc<Thread>, CallStats)| {
            let name = thread.name.as_ref().map_or_else(String::new, |name| format!(", {}", printable(name)));
            let (pid, tid, program) = key(thread);
            let run = thread.process.run.as_ref().map_or_else(String::new, |run| format!("{run} "));
            let mut name = format!("{run}process {pid} thread {tid} ({program}{name})");
            // After exec, a process has the same ids and another folder.
            if counts.get(&key(thread)).is_some_and(|rows| *rows > 1) {
                name = format!("{name} in {}", thread.process.folder);
            }
            Row { label: None, name, thread: Some(thread.clone()), sums: sums.clone(), runs: RunSums::default() }
        };
        self.threads.iter().flatten().map(row).collect()
    }

    fn by_name(&self) -> Vec<Row> {
        let mut merged: BTreeMap<String, Merged> = BTreeMap::new();
        let named = self.named.iter().map(|(name, sums)| (name.as_str(), sums));
        for (name, sums) in named.chain(self.kernels.values().map(|(name, sums)| (&**name, sums))) {
            merged.entry(name.to_owned()).or_default().sums.merge(sums);
        }
        for of in self.functions.iter().flatten() {
            let OfFunction { function, instance, .. } = of;
            let name = match self.by {
                By::Layer => function.layer.name().to_owned(),
                By::Library => function.library.to_string(),
                _ => match instance.as_ref().or(function.instance.as_ref()) {
                    Some(instance) => instance_name(instance),
                    None if function.layer == Layer::RUNTIME => "(runtime of unknown version)".into(),
                    None => "(no runtime)".into(),
                },
            };
            merged.entry(name).or_default().add(of);
        }
        let row = |(name, Merged { sums, runs })| Row { label: None, name, thread: None, sums, runs };
        merged.into_iter().map(row).collect()
    }
}

/// Whether calls of a thread to these functions are in one row. The outermost of them has the work of the GPU.
fn shares_row(by: By, one: &Function, two: &Function) -> bool {
    match by {
        By::Function => one.key == two.key,
        By::Layer => one.layer == two.layer,
        By::Library => one.library == two.library,
        // What is not of a runtime has one row.
        By::Instance => match (one.layer == Layer::RUNTIME, two.layer == Layer::RUNTIME) {
            (true, true) => one.library == two.library,
            (one, two) => one == two,
        },
        By::Kernel | By::Thread | By::Process | By::Stream | By::Rank | By::Line => true,
    }
}

/// The name of a runtime.
fn instance_name(instance: &Instance) -> String {
    let version = instance.version.as_deref().unwrap_or("of unknown version");
    let run = instance.process.run.as_ref().map_or_else(String::new, |run| format!("{run} "));
    let pid = instance.process.pid;
    format!("runtime {version} in {} ({}), {run}process {pid}", instance.library, instance.linkage())
}

impl CallSink for Tables {
    fn enter(&mut self, _place: u32, _function: &Arc<Function>) -> u32 {
        0
    }

    fn exit(&mut self, done: &FinishedCall<'_>) {
        let sums = match self.by {
            // A range is no call: its own time is that of the program. `--by range` has the ranges.
            _ if done.function.range.is_some() => return,
            By::Kernel => return,
            By::Thread | By::Process | By::Rank => {
                let key = done.thread.key as usize;
                if key >= self.threads.len() {
                    self.threads.resize_with(key + 1, || None);
                }
                &mut self.threads[key].get_or_insert_with(|| (done.thread.clone(), CallStats::default())).1
            }
            _ => {
                let key = done.function.key as usize;
                if key >= self.functions.len() {
                    self.functions.resize_with(key + 1, || None);
                }
                let new = || {
                    let (function, run) = (done.function.clone(), done.thread.process.run.clone());
                    OfFunction { function, instance: None, run, sums: CallStats::default() }
                };
                &mut self.functions[key].get_or_insert_with(new).sums
            }
        };
        if done.function.entry_only {
            sums.calls += 1;
            return;
        }
        let mut end = CallEnd::from(done);
        self.all_self_ns += end.self_ns();
        if done.outer_functions.iter().any(|outer| shares_row(self.by, outer, done.function)) {
            end.gpu_ns = 0;
        }
        sums.add(end);
    }

    fn wants_launches(&self) -> bool {
        self.by == By::Kernel
    }

    fn launched(&mut self, launch: &KernelLaunch) {
        let end = CallEnd::from(launch);
        let Some(name) = &launch.kernel else { return self.named(NOT_KNOWN, end) };
        let at = Arc::as_ptr(name).cast::<u8>() as usize;
        let sums = &mut self.kernels.entry(at).or_insert_with(|| (name.clone(), CallStats::default())).1;
        sums.add(end);
        self.all_self_ns += end.self_ns();
    }

    fn function_instance(&mut self, function: &Arc<Function>, instance: &Arc<Instance>) {
        if let Some(Some(of)) = self.functions.get_mut(function.key as usize) {
            of.instance = Some(instance.clone());
        }
    }
}
