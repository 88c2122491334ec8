//! `cutap trace` and `cutap record`: the order of start and end. Everything that can be refused is refused before the
//! program runs; afterwards nothing of cutap keeps it from running.

use crate::base::default_name::default_name;
use crate::base::error::{Error, OWN_FAILURE, Result, cannot, print_notice};
use crate::base::trusted::random_name;
use crate::collector::collector_options::CollectorOptions;
use crate::collector::ended_folders;
use crate::front::foreground;
use crate::front::supervisor::{CollectorSupervisor, ready};
use crate::hooks::{self, Hooks};
use crate::options::filter::filter;
use crate::options::overflow_policy::OverflowPolicy;
use crate::options::simulated;
use crate::options::stacks::{StackCapture, Stacks};
use crate::output::omission_notes::omission_notes;
use crate::output::output_file;
use crate::output::output_format::OutputFormat;
use crate::output::output_name::expand;
use crate::output::previous::Previous;
use crate::output::record_summary::record_summary;
use crate::output::text_options::TextOptions;
use crate::record::pack::{is_the_same, pack_recorded};
use crate::run_dir::control::{self, Page, RunSettings};
use crate::run_dir::folder;
use crate::run_dir::outer_run::{OuterRun, has_calls, no_call_notes};
use crate::run_dir::window::{Schedule, Window};
use crate::start::driver;
use crate::start::environment::Variables;
use crate::start::exit_kind::ExitKind;
use crate::start::launch;
use crate::start::program;
use crate::start::program::Program;
use crate::start::signals;
use crate::start::startup_state::StartupState;
use crate::start::unpack::{Embedded, unpack};
use cutap_report::KernelStyle;
use cutap_trace::{Filter, Layer, RunPath};
use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// What `cutap trace` or `cutap record` was asked.
#[derive(Debug, Default)]
pub struct TraceOptions {
    /// The filter's text; none wants all.
    pub filter: Option<String>,
    /// How to print.
    pub form: OutputFormat,
    /// Print calls to the kernel driver alone, in this style.
    pub kernel: Option<KernelStyle>,
    /// What --deny and --fail ask for, as the target reads it.
    pub kernel_answers: Vec<u8>,
    /// Do not print: put what the rings hold into a recording.
    pub record: bool,
    /// Where to print, if not on standard error; or where to record, if not to the default file. A pattern.
    pub output: Option<PathBuf>,
    /// Record over a file that is no recording.
    pub force: bool,
    /// Use the simulated driver.
    pub sim: bool,
    /// Leave children alone.
    pub no_follow: bool,
    /// What a thread does whose ring is full.
    pub full: OverflowPolicy,
    /// Record between cuProfilerStart and cuProfilerStop only.
    pub range: bool,
    /// Keep stacks of these.
    pub stacks: Option<Stacks>,
    /// Where module images go.
    pub dump_modules: Option<PathBuf>,
    /// Hook libraries, in their order.
    pub hooks: Vec<PathBuf>,
    /// A run directory that stays.
    pub run: Option<PathBuf>,
    /// The part of the run that is recorded.
    pub window: Window,
    /// Variables of the program, and their values; none removes one.
    pub environment: Vec<(OsString, Option<OsString>)>,
    /// Say nothing that is no failure.
    pub silent: bool,
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
}

/// Runs the program to its end and returns how it ended. If the program succeeded and the trace could not be written,
/// that is a failure of cutap.
pub fn trace(embedded: Embedded, options: &TraceOptions) -> Result<ExitKind> {
    let startup = StartupState::capture();
    let filter = filter(options.filter.as_deref())?;
    let search = program::search_path();
    let program = program::find(&options.program, &options.args, &search)?;
    if options.sim {
        simulated::check()?;
    }
    let driver = options.sim || driver::check(&program, options.kernel.is_some())?;
    let hooks = hooks::check(&options.hooks)?;
    if options.stacks.is_some() && (options.form.counts || options.form.summary) {
        return Err(Error::own("--stack is of no use with -c and -C, which print no calls; leave one of them out"));
    }
    if options.form.counts && filter.asks_calls() {
        return Err(Error::own(format!(
            "-C counts each function without arguments, times, errors and callers, so it cannot choose calls by {}; \
             use -c, or a filter of names, layers and libraries",
            filter.text()
        )));
    }
    let stacks = options.stacks.as_ref().map_or(Ok(StackCapture::default()), Stacks::capture)?;
    let started = std::iter::once(&program.path).chain(&program.interpreters).chain(&hooks.0);
    let mut used: Vec<&OsStr> = started.map(|path| path.as_os_str()).collect();
    used.extend(options.args.iter().map(|a| a.as_os_str()));
    let named = options.output.as_deref().map(expand).transpose()?;
    let is_default = options.record && named.is_none();
    let named = named.or(is_default.then(default_name));
    let named = named.as_deref();
    let new = named.filter(|path| !path.exists());
    let open = |path| output_file::open(path, options.record, options.force, &used);
    // What was there is emptied by the collector, when all stands that is needed.
    let (mut output, mut new_file) = (named.map(open).transpose()?, output_file::NewOutput(new));
    // A link keeps its place: what it leads to is written over.
    let replaceable = named.filter(|path| is_default && !path.is_symlink());
    let mut previous = None;
    if let Some((path, there)) = replaceable.zip(output.take_if(|there| replaceable.is_some() && !is_empty(there))) {
        let (older, new) = Previous::begin_beside(path, there, options.force)?;
        (previous, output) = (Some(older), Some(new));
    }
    let run = Run::new(options, &filter, &stacks, &hooks)?;
    if let Some(recording) = named.filter(|_| options.record) {
        control::write_recording(&run.dir, recording)?;
    }
    // It makes itself ready while the libraries are looked at.
    let mut supervisor = supervisor(options, &run, named.zip(output), driver)?;
    let mut collector = supervisor.begin()?;
    let unpacked = unpack(embedded, options.sim).inspect_err(|_| collector.discard())?;
    let sim = options.sim.then_some(unpacked.sim.as_path());
    let variables = Variables::new(&unpacked.preload, &hooks.paths(), &run.path, sim, program.sanitizer.as_deref());

    let mut collector = ready(collector)?;
    let notice = |line: &str| {
        if !options.silent {
            print_notice(line)
        }
    };
    if !options.silent {
        say_at_start(options, &program, driver);
    }
    let outer = OuterRun::from_environment();
    let name = program.path.file_name().unwrap_or(program.path.as_os_str()).to_string_lossy();
    outer.iter().for_each(|outer| outer.announce(&name, !options.form.only_hooks && !options.silent));
    hooks::outer_hooks_notice(&hooks).iter().for_each(|line| notice(line));
    let mask = signals::block();
    let child = launch::launch(&program, variables.whole_environment(&options.environment), &startup, mask)
        .inspect_err(|_| collector.discard())?;
    let mut schedule = Schedule::new(&run.path, options.window);
    startup.release();
    outer.iter().for_each(OuterRun::count_inner_run);
    new_file.0 = None;
    previous.into_iter().for_each(Previous::put_aside);

    // Printed at once: a program may run for days with a hook that nothing calls.
    let mut printed_lines = Vec::new();
    let mut print_unmatched = |lines: Vec<String>| {
        let new: Vec<String> = lines.into_iter().filter(|line| !printed_lines.contains(line)).collect();
        new.iter().for_each(|line| print_notice(line));
        printed_lines.extend(new);
    };
    let glance = || print_unmatched(hooks::unmatched_hooks(&run.path));
    let note_end = |kind: ExitKind| {
        if let Ok(page) = Page::of_run(&run.dir) {
            page.put_program_end(kind.program_end());
        }
    };
    let replace = |status| supervisor.replace_ended(status);
    let (exit_kind, is_detached) = foreground::wait(child, collector, replace, glance, note_end, &mut schedule);
    // cutap ctl may have switched it on before.
    if let Some(delay) = schedule.never_on().filter(|_| !is_detached && !has_calls(&run.path)) {
        notice(&format!("nothing was recorded: the program ended before the {} s of --delay", delay.as_secs_f64()));
    }
    // A collector that stays removes the run directory itself.
    if supervisor.keep || is_detached {
        run.keep();
    }
    let missing = hooks::not_started(&run.path, &hooks, &program.path, exit_kind);
    missing.iter().for_each(|line| print_notice(line));
    let unmatched_hooks = is_detached || hooks::ended_at_start(&run.path, child);
    print_unmatched(if unmatched_hooks { hooks::unmatched_hooks(&run.path) } else { hooks::not_called(&run.path) });
    // Of one that could not be written somebody has said so: what was not recorded is counted until it is recovered.
    if options.record && !supervisor.unwritten {
        let removed_run_file = named.filter(|_| !is_detached && !run.dir.join(cutap_wire::control::FILE).is_file());
        if let Some(file) = removed_run_file {
            let (run, file) = (run.path.display(), file.display());
            print_notice(&format!(
                "the run directory {run} was removed while the program ran: what began after that, threads and processes, is not in {file}; calls of others that could not be recorded are counted there"
            ));
        }
        let is_over = !is_detached && missing.is_none() && removed_run_file.is_none();
        // Of processes that ended long ago the run directory has no names any more.
        let whole = removed_run_file.or(named.filter(|_| !is_detached && ended_folders::some_are_replaced(&run.dir)));
        omission_notes(whole.unwrap_or(&run.path), is_over && driver).iter().for_each(|line| notice(line));
    }
    // The lines of a trace are elsewhere, or for a program to read, or its collector left this to whoever knows how the
    // program ended.
    let elsewhere = named.is_some() || options.form.json || !hooks::has_started(&run.path);
    if elsewhere && driver && !options.record && !options.form.only_hooks && !is_detached && missing.is_none() {
        no_call_notes(&run.path).iter().for_each(|line| notice(line));
    }
    hooks::crash_notes(&run.path, Some((child, exit_kind))).iter().for_each(|line| print_notice(line));
    let mut unwritten = supervisor.unwritten;
    if let Some(why) = supervisor.tampered().filter(|_| !unwritten) {
        print_notice(&why);
        unwritten = true;
    }
    let is_finished = options.record && !unwritten && !supervisor.keep && !is_detached;
    if let Some(file) = named.filter(|_| is_finished) {
        // Packing puts another file in its place.
        let is_there = file.is_file() && is_the_same(file, supervisor.output());
        unwritten = !pack_recorded(file, supervisor.output());
        if !unwritten && is_there {
            if Layer::of_name("syscall").is_some_and(|layer| filter.adds(layer)) {
                notice(
                    "the recording has raw bytes of requests to the kernel driver; they may contain the program's data",
                );
            }
            notice(&record_summary(file, true));
        }
    }
    Ok(match exit_kind {
        ExitKind::Code(0) if unwritten => ExitKind::Code(OWN_FAILURE.into()),
        _ if missing.is_some() => ExitKind::Code(OWN_FAILURE.into()),
        ended => ended,
    })
}

/// The run directory of this trace; removed at the end unless a person named it, or it holds the rest.
struct Run {
    path: PathBuf,
    dir: RunPath,
    temporary: bool,
    keep: Cell<bool>,
}

impl Run {
    fn new(options: &TraceOptions, filter: &Filter, stacks: &StackCapture, hooks: &Hooks) -> Result<Run> {
        let modules = options.dump_modules.as_deref().map(module_folder).transpose()?;
        let settings = RunSettings {
            filter,
            no_follow: options.no_follow,
            dump_modules: modules.is_some(),
            full: options.full,
            only_hooks: options.form.only_hooks,
            range: options.range,
            count: options.form.counts,
            summary: options.form.summary,
            stacks,
            off: !options.window.delay.is_zero(),
        };
        let page = control::page(settings)?;
        let run = match &options.run {
            Some(path) => Run::in_dir(folder::named(path, "--run-dir")?, false),
            None => Run::in_dir(folder::fresh()?, true),
        };
        control::write(&run.dir, &page, filter)?;
        if !hooks.0.is_empty() {
            control::write_hooks(&run.dir, &hooks::file(hooks))?;
        }
        if !options.kernel_answers.is_empty() {
            control::write_kernel_answers(&run.dir, &options.kernel_answers)?;
        }
        if let Some(target) = modules {
            run.dir.join("modules").make_link(&target).map_err(|e| {
                cannot("link the modules into", &run.path, &e, "choose another folder with --run-dir DIR")
            })?;
        }
        Ok(run)
    }
    fn in_dir(dir: RunPath, temporary: bool) -> Run {
        Run { path: dir.path(), dir, temporary, keep: Cell::new(!temporary) }
    }
    fn keep(&self) {
        self.keep.set(true);
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if !self.keep.get() {
            self.dir.let_go();
            // An empty one needs no descriptor.
            let _ = std::fs::remove_dir_all(&self.path).or_else(|_| std::fs::remove_dir(&self.path));
        }
    }
}

/// Our words at the start: only what changes the meaning of all that follows.
fn say_at_start(options: &TraceOptions, program: &Program, driver: bool) {
    let short = |path: &Path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let name = short(&program.path);
    if options.sim {
        let doing = match (options.record, options.form.only_hooks) {
            (true, _) => "recording",
            (_, true) => "running",
            _ => "tracing",
        };
        print_notice(&format!("{doing} {name} on the simulated driver (launches are accepted and not executed)"));
    } else if !driver {
        let advice = match options.kernel {
            Some(_) => driver::NEEDS_KERNEL_DRIVER.to_owned(),
            None if driver::has_misplaced_sim(program) => driver::MISPLACED_SIM.to_owned(),
            None => format!("--sim runs {name} on a simulated one"),
        };
        print_notice(&format!("no CUDA driver (libcuda.so.1) on this machine; {advice}"));
    }
    if program.musl {
        let (image, on_children) = (short(&program.image), "; programs for glibc that it starts are traced");
        let on_children = if options.no_follow { "" } else { on_children };
        print_notice(&format!(
            "{image} is built for musl, and cutap traces programs for glibc alone: it runs untraced{on_children}"
        ));
    }
}

fn module_folder(path: &Path) -> Result<PathBuf> {
    let advice = "give a folder that you may write with --dump-modules DIR";
    let fail = |e| cannot("keep modules in", path, &e, advice);
    if path.exists() && !path.is_dir() {
        let path = path.display();
        return Err(Error::own(format!("cannot keep modules in {path}: it is there and is not a folder; {advice}")));
    }
    DirBuilder::new().recursive(true).mode(0o755).create(path).map_err(fail)?;
    let path = std::fs::canonicalize(path).map_err(fail)?;
    let probe = path.join(format!(".cutap-{}", random_name()));
    File::create_new(&probe).and_then(|_| std::fs::remove_file(&probe)).map_err(fail)?;
    Ok(path)
}

/// What starts the collectors.
fn supervisor(
    options: &TraceOptions,
    run: &Run,
    output: Option<(&Path, File)>,
    driver: bool,
) -> Result<CollectorSupervisor> {
    let named = output.as_ref().map(|(path, _)| path.to_path_buf());
    let output: OwnedFd = match output {
        Some((_, file)) => file.into(),
        None => std::io::stderr()
            .as_fd()
            .try_clone_to_owned()
            .map_err(|e| Error::own(format!("cannot write to standard error: {e}; write to a file with -o")))?,
    };
    let options_of_collector = CollectorOptions {
        run: run.path.clone(),
        filter: options.filter.clone(),
        form: OutputFormat { text: TextOptions { silent: options.silent, ..options.form.text }, ..options.form },
        kernel: options.kernel.clone(),
        driver,
        record: options.record,
        temporary: run.temporary,
        resumes: false,
        own_file: named.is_some(),
        spool: None,
        total: options.full.total().unwrap_or(0),
    };
    Ok(CollectorSupervisor::new(options_of_collector, output, named))
}

fn is_empty(file: &File) -> bool {
    file.metadata().is_ok_and(|data| data.len() == 0)
}
