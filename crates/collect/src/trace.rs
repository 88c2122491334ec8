//! `cutap trace` and `cutap record`: the order of a start and of an end. All that can be refused is refused before the
//! program runs; after that nothing of ours may keep it from running.

use crate::collector::CollectorOptions;
use crate::control::{self, Page, Wanted};
use crate::environment::Variables;
use crate::error::{Error, OWN_FAILURE, Result, UNWRITTEN, cannot, say};
use crate::filter::filter;
use crate::front::{self, Collector, Ended};
use crate::inherited::Inherited;
use crate::output::Form;
use crate::unpack::{Embedded, unpack};
use crate::{driver, folder, launch, program, signals};
use cutap_trace::Filter;
use cutap_wire::control::COLLECTOR_GONE;
use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What `cutap trace` or `cutap record` was asked.
#[derive(Debug)]
pub struct TraceOptions {
    /// The filter's text; none wants all.
    pub filter: Option<String>,
    /// How to print.
    pub form: Form,
    /// Do not print: put what the rings hold into a recording.
    pub record: bool,
    /// Where to print, if not on standard error.
    pub output: Option<PathBuf>,
    /// Use the simulated driver.
    pub sim: bool,
    /// Leave children alone.
    pub no_follow: bool,
    /// Where module images go.
    pub dump_modules: Option<PathBuf>,
    /// A run folder that stays.
    pub run: Option<PathBuf>,
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
}

/// Runs the program to its end and says how it ended: as the program did; but if that was in order and
/// the trace could not be written, as a failure of ours.
pub fn trace(embedded: Embedded, options: &TraceOptions) -> Result<Ended> {
    let given = Inherited::now();
    let filter = filter(options.filter.as_deref())?;
    let search = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    let program = program::find(&options.program, &options.args, &search)?;
    let driver = options.sim || driver::check(&program)?;
    let output = options.output.as_deref().map(open_output).transpose()?;
    let unpacked = unpack(embedded)?;
    let run = Run::new(options, &filter)?;
    let sim = options.sim.then_some(unpacked.sim.as_path());
    let variables = Variables::new(&unpacked.preload, &run.path, sim, program.sanitizer.as_deref());

    let mut collector = start_collector(options, &run, output)?;
    say_at_start(options, &program.path, driver);
    let mask = signals::block();
    let child = launch::launch(&program, variables.whole(), &given, mask).inspect_err(|_| collector.discard())?;
    collector.tell(&format!("p{child};"));
    given.release();

    let mut unwritten = false;
    let ended = front::stand(child, &mut collector, |status| {
        unwritten = !status.success();
        if let Ok(page) = Page::open(&run.path) {
            page.collector(COLLECTOR_GONE);
        }
        // It has said itself why it could not write.
        if unwritten && status.code() != Some(UNWRITTEN.into()) {
            run.keep();
            let run = run.path.display();
            let rest = match &options.output {
                Some(file) if options.record => {
                    format!("what it did not write stays in {run} (cutap recover {run} -o {})", file.display())
                }
                _ => format!("what it did not print stays in {run} (cutap show {run})"),
            };
            say(&format!("the collector ended early ({status}); {rest}"));
        }
    });
    Ok(match ended {
        Ended::Code(0) if unwritten => Ended::Code(OWN_FAILURE.into()),
        ended => ended,
    })
}

/// The run folder of this trace; removed at the end unless a person named it, or it holds the rest.
struct Run {
    path: PathBuf,
    temporary: bool,
    keep: Cell<bool>,
}

impl Run {
    fn new(options: &TraceOptions, filter: &Filter) -> Result<Run> {
        let modules = options.dump_modules.as_deref().map(module_folder).transpose()?;
        let wanted = Wanted { filter, no_follow: options.no_follow, dump_modules: modules.is_some() };
        let page = control::page(wanted)?;
        let run = match &options.run {
            Some(path) => Run { path: folder::named(path, "--run")?, temporary: false, keep: true.into() },
            None => Run { path: folder::fresh()?, temporary: true, keep: false.into() },
        };
        control::write(&run.path, &page)?;
        if let Some(target) = modules {
            std::os::unix::fs::symlink(target, run.path.join("modules"))
                .map_err(|e| cannot("link the modules into", &run.path, &e, "choose another folder with --run DIR"))?;
        }
        Ok(run)
    }
    fn keep(&self) {
        self.keep.set(true);
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if !self.keep.get() {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// Our words at the start: only what changes the meaning of all that follows.
fn say_at_start(options: &TraceOptions, program: &Path, driver: bool) {
    let name = program.file_name().unwrap_or(program.as_os_str()).display();
    if options.sim {
        let doing = if options.record { "recording" } else { "tracing" };
        say(&format!("{doing} {name} on the simulated driver (launches are accepted and not executed)"));
    } else if !driver {
        say(&format!("no CUDA driver (libcuda.so.1) on this machine; --sim runs {name} on a simulated one"));
    }
}

fn open_output(path: &Path) -> Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).custom_flags(libc::O_NOCTTY).open(path);
    file.map_err(|e| cannot("write the trace to", path, &e, "give a file that you may write with -o FILE"))
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
    let probe = path.join(format!(".cutap-{}", std::process::id()));
    File::create(&probe).and_then(|_| std::fs::remove_file(&probe)).map_err(fail)?;
    Ok(path)
}

/// Starts the collector and waits until it drains.
fn start_collector(options: &TraceOptions, run: &Run, output: Option<File>) -> Result<Collector> {
    let fail = |e: std::io::Error| Error::own(format!("cannot start the collector: {e}; end some processes"));
    let (line, theirs) = UnixStream::pair().map_err(fail)?;
    let output: OwnedFd = match output {
        Some(file) => file.into(),
        None => std::io::stderr().as_fd().try_clone_to_owned().map_err(fail)?,
    };
    let told = CollectorOptions {
        run: run.path.clone(),
        filter: options.filter.clone(),
        form: options.form,
        record: options.record,
        temporary: run.temporary,
    };
    let mut command = Command::new("/proc/self/exe");
    command.arg0("cutap").args(arguments(&told)).stdin(OwnedFd::from(theirs)).stdout(output);
    let process = command.spawn().map_err(fail)?;
    drop(command);
    let mut collector = Collector { process, line, ended: None };
    let mut ready = [0];
    match collector.line.read_exact(&mut ready) {
        Ok(()) => Ok(collector),
        Err(_) => {
            let _ = collector.process.wait();
            Err(Error::own("the collector did not start (its reason stands above); the program was not run"))
        }
    }
}

/// The words behind `cutap` that start it, as the command line declares them.
fn arguments(told: &CollectorOptions) -> Vec<OsString> {
    let mut args: Vec<OsString> = vec!["__collect".into(), "--run".into(), told.run.clone().into()];
    if let Some(filter) = &told.filter {
        args.extend([OsString::from("-e"), OsString::from(filter)]);
    }
    let flags = [
        ("--json", told.form.json),
        ("-c", told.form.summary),
        ("--record", told.record),
        ("--temporary", told.temporary),
    ];
    args.extend(flags.iter().filter(|f| f.1).map(|f| OsStr::new(f.0).to_owned()));
    args
}
