//! What a run needs to know before it starts: the program, its driver, the filter, hooks and stacks. All that can be
//! refused is refused here.

use crate::base::error::{Error, Result, print_notice};
use crate::front::trace_options::TraceOptions;
use crate::hooks::{self, Hooks};
use crate::options::driver_choice::DriverChoice;
use crate::options::filter::filter;
use crate::options::python::Python;
use crate::options::simulated;
use crate::options::stacks::{StackCapture, Stacks};
use crate::start::driver;
use crate::start::program::{self, Program};
use cutap_trace::Filter;
use std::ffi::OsStr;
use std::path::Path;

/// Checked options.
pub struct Request {
    pub filter: Filter,
    pub program: Program,
    /// There is a driver, or one of cutap takes its place.
    pub has_driver: bool,
    pub hooks: Hooks,
    pub stacks: StackCapture,
    /// The rules of `--python`.
    pub python: Option<String>,
}

impl Request {
    /// Checks the options of a run.
    pub fn new(options: &TraceOptions) -> Result<Request> {
        let filter = filter(options.filter.as_deref())?;
        let program = program::find(&options.program, &options.args, &program::search_path())?;
        if options.driver == DriverChoice::Simulated {
            simulated::check()?;
        }
        let has_driver = options.driver.is_unpacked() || driver::check(&program, options.kernel.is_some())?;
        let hooks = hooks::check(&options.hooks)?;
        if options.stacks.is_some() && (options.form.counts || options.form.summary) {
            return Err(Error::own("--stack is of no use with -c and -C, which print no calls; leave one of them out"));
        }
        if options.python.is_some() && (options.form.counts || options.form.summary) {
            return Err(Error::own(
                "--python is of no use with -c and -C, which print no calls; leave one of them out",
            ));
        }
        if options.form.counts && filter.asks_calls() {
            return Err(Error::own(format!(
                "-C counts each function without arguments, times, errors and callers, so it cannot choose calls by {}; \
                 use -c, or a filter of names, layers and libraries",
                filter.text()
            )));
        }
        let stacks = options.stacks.as_ref().map_or(Ok(StackCapture::default()), Stacks::capture)?;
        let python = options.python.as_ref().map(Python::rules).transpose()?;
        Ok(Request { filter, program, has_driver, hooks, stacks, python })
    }

    /// Files that the run reads, and words of its command line: nothing is written over them.
    pub fn used_names<'a>(&'a self, options: &'a TraceOptions) -> Vec<&'a OsStr> {
        let started = std::iter::once(&self.program.path).chain(&self.program.interpreters).chain(&self.hooks.0);
        started.map(|path| path.as_os_str()).chain(options.args.iter().map(|word| word.as_os_str())).collect()
    }

    /// Prints what changes the meaning of all that follows.
    pub fn print_start(&self, options: &TraceOptions) {
        let program = &self.program;
        let short = |path: &Path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let name = short(&program.path);
        if options.driver.is_unpacked() {
            let doing = match (options.record, options.form.only_hooks) {
                (true, _) => "recording",
                (_, true) => "running",
                _ => "tracing",
            };
            print_notice(&match options.driver {
                DriverChoice::Cudest => format!("{doing} {name} on cutap's driver, without NVIDIA's libcuda"),
                _ => format!("{doing} {name} on the simulated driver (launches are accepted and not executed)"),
            });
        } else if !self.has_driver {
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
}
