//! `cutap env`: a run directory and variables for a program that is started without cutap. The output goes through a
//! shell's `eval`, so it holds assignments only.

use crate::base::error::Result;
use crate::hooks;
use crate::options::driver_choice::DriverChoice;
use crate::options::filter::filter;
use crate::options::overflow_policy::OverflowPolicy;
use crate::options::python::Python;
use crate::options::stacks::{StackCapture, Stacks};
use crate::run_dir::control::{self, RunSettings};
use crate::run_dir::folder;
use crate::run_dir::outer_run::OuterRun;
use crate::start::environment::Variables;
use crate::start::injection_way::InjectionWay;
use crate::start::unpack::{Embedded, Wanted, unpack};
use std::path::PathBuf;

/// What `cutap env` was asked.
#[derive(Debug)]
pub struct EnvOptions {
    /// The run directory to make.
    pub run: PathBuf,
    /// The filter's text; none wants all.
    pub filter: Option<String>,
    /// The driver of the program.
    pub driver: DriverChoice,
    /// What a thread does whose ring is full.
    pub full: OverflowPolicy,
    /// Keep stacks of these.
    pub stacks: Option<Stacks>,
    /// Keep Python frames of these.
    pub python: Option<Python>,
    /// Take the GPU time of kernels, copies and sets.
    pub gpu_time: bool,
    /// Count calls of functions that start no work.
    pub count_chatter: bool,
    /// Hook libraries, in their order.
    pub hooks: Vec<PathBuf>,
    /// Record nothing: only hooks work.
    pub only_hooks: bool,
}

/// Makes the run directory; the lines for `eval`.
pub fn env(embedded: Embedded, options: &EnvOptions) -> Result<String> {
    let filter = filter(options.filter.as_deref())?;
    let stacks = options.stacks.as_ref().map_or(Ok(StackCapture::default()), Stacks::capture)?;
    let python = options.python.as_ref().map(Python::rules).transpose()?;
    if options.driver == DriverChoice::Simulated {
        crate::options::simulated::check()?;
    }
    let hooks = hooks::check(&options.hooks)?;
    let wanted_libraries = Wanted { driver: options.driver, gpu_time: options.gpu_time, inject: false, limit: false };
    let unpacked = unpack(embedded, wanted_libraries)?;
    let run = std::path::absolute(&options.run).unwrap_or_else(|_| options.run.clone());
    let driver = unpacked.driver.as_deref();
    // First: it may refuse the path, and then no folder is left behind.
    let variables = Variables::new(&unpacked.preload, &hooks.paths(), &run, driver, None);
    let way = options.gpu_time.then(|| InjectionWay::of(options.driver));
    let is_set = way == Some(InjectionWay::Variable);
    let variables = if is_set { variables.with_gpu_time(&unpacked.gpu_time) } else { variables };
    let variables = if options.only_hooks { variables } else { variables.with_nvtx(&unpacked.preload, &filter) };
    let exports = variables.exports()?;
    let settings = RunSettings {
        filter: &filter,
        no_follow: false,
        dump_modules: false,
        full: options.full,
        only_hooks: options.only_hooks,
        range: None,
        count: false,
        summary: false,
        stacks: &stacks,
        python: python.as_deref(),
        off: false,
        gpu_time: options.gpu_time,
        answers_driver: way == Some(InjectionWay::Answer),
        count_chatter: options.count_chatter,
        driver: options.driver,
    };
    let page = control::page(settings)?;
    let run_dir = folder::named(&run, "-o")?;
    control::write(&run_dir, &page, &filter)?;
    control::write_python(&run_dir, python.as_deref().unwrap_or_default())?;
    if !hooks.0.is_empty() {
        control::write_hooks(&run_dir, &hooks::file(&hooks))?;
    }
    if let Some(outer) = OuterRun::from_environment().filter(OuterRun::is_followed) {
        outer.announce("what is started with these variables", !options.only_hooks);
        outer.count_inner_run();
    }
    Ok(exports)
}
