//! `cutap trace` and `cutap record`: the order of start and end. Everything that can be refused is refused before the
//! program runs; afterwards nothing of cutap keeps it from running.

use crate::base::error::{Result, print_notice};
use crate::front::foreground;
use crate::front::outcome::Outcome;
use crate::front::output::{self, Output, supervisor};
use crate::front::request::Request;
use crate::front::run::Run;
use crate::front::supervisor::ready;
use crate::front::trace_options::TraceOptions;
use crate::hooks;
use crate::limit;
use crate::options::driver_choice::DriverChoice;
use crate::output::previous::Previous;
use crate::run_dir::control::{self, Page};
use crate::run_dir::outer_run::OuterRun;
use crate::run_dir::window::Schedule;
use crate::start::driver;
use crate::start::environment::Variables;
use crate::start::exit_kind::ExitKind;
use crate::start::injection_way::InjectionWay;
use crate::start::launch;
use crate::start::rpath;
use crate::start::signals;
use crate::start::startup_state::StartupState;
use crate::start::unpack::{Embedded, Wanted, unpack};
use cutap_calls::generated::gpu_clocks::LIBRARY;
use std::ffi::OsStr;
use std::path::PathBuf;

/// The hook libraries behind `--inject` and `--limit-memory`. They are unpacked before the run directory names them.
fn put_own_hooks_first(embedded: Embedded, options: &TraceOptions, hooks: &mut hooks::Hooks) -> Result<()> {
    let (inject, limit) = (!options.injection.is_empty(), !options.limits.is_empty());
    if inject && limit {
        limit::check_room(options.injection.patterns().len())?;
    }
    if inject || limit {
        let own_libraries = Wanted { driver: DriverChoice::Installed, gpu_time: false, inject, limit };
        let unpacked = unpack(embedded, own_libraries)?;
        // A rule that answers a call is before the limit, which then counts nothing.
        for (_, path) in [(limit, unpacked.limit), (inject, unpacked.inject)].into_iter().filter(|(is, _)| *is) {
            hooks.put_first(path)?;
        }
    }
    Ok(())
}

/// Runs the program to its end and returns how it ended. If the program succeeded and the trace could not be written,
/// that is a failure of cutap.
pub fn trace(embedded: Embedded, options: &TraceOptions) -> Result<ExitKind> {
    let startup = StartupState::capture();
    let mut request = Request::new(options)?;
    put_own_hooks_first(embedded, options, &mut request.hooks)?;
    let named = output::name(options)?;
    let named = named.as_deref();
    let mut output = Output::open(named, options, &request.used_names(options))?;
    let run = Run::new(options, &request)?;
    if let Some(recording) = named.filter(|_| options.record) {
        control::write_recording(&run.dir, recording)?;
    }
    let wanted_libraries = Wanted { driver: options.driver, gpu_time: options.gpu_time, inject: false, limit: false };
    let unpack_libraries = || unpack(embedded, wanted_libraries);
    // The collector has to know which NVML it asks.
    let unpacked_before = if options.gpu_time { Some(unpack_libraries()?) } else { None };
    let nvml = unpacked_before
        .as_ref()
        .map(|unpacked| nvml(unpacked.driver.as_ref().filter(|_| options.driver == DriverChoice::Simulated)));
    // It makes itself ready while the libraries are looked at.
    let mut supervisor = supervisor(options, &run, output.named.take(), request.has_driver, nvml.unwrap_or_default())?;
    let mut collector = supervisor.begin()?;
    let unpacked = unpacked_before.map_or_else(unpack_libraries, Ok).inspect_err(|_| collector.discard())?;
    let driver = unpacked.driver.as_deref();
    let program = &request.program;
    let sanitizer = program.sanitizer.as_deref();
    let variables = Variables::new(&unpacked.preload, &request.hooks.paths(), &run.path, driver, sanitizer);
    // An RPATH goes before LD_LIBRARY_PATH. What is preloaded goes before both, by its name.
    let preloaded = driver.filter(|_| rpath::leads_to_driver(&program.image)).map(driver::in_folder);
    let variables = preloaded.iter().fold(variables, |variables, library| variables.with_preload(library));
    let is_set = options.gpu_time && InjectionWay::of(options.driver) == InjectionWay::Variable;
    let variables = if is_set { variables.with_gpu_time(&unpacked.gpu_time) } else { variables };
    let takes_ranges = !options.form.only_hooks && !options.form.counts;
    let variables = if takes_ranges { variables.with_nvtx(&unpacked.preload, &request.filter) } else { variables };

    let mut collector = ready(collector)?;
    let outer = OuterRun::from_environment();
    print_start(options, &request, outer.as_ref());
    let mask = signals::block();
    let child = launch::launch(program, variables.whole_environment(&options.environment), &startup, mask)
        .inspect_err(|_| collector.discard())?;
    let mut schedule = Schedule::new(&run.path, options.window);
    startup.release();
    outer.iter().for_each(OuterRun::count_inner_run);
    output.new_file.0 = None;
    output.previous.take().into_iter().for_each(Previous::put_aside);

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
    // cutap ctl may have switched it on before. Calls on which later ones depend are recorded all the time.
    let was_switched = Page::of_run(&run.dir).is_ok_and(|page| page.was_switched());
    let unused_delay = schedule.never_on().filter(|_| !is_detached && !was_switched && !options.silent);
    if let Some(delay) = unused_delay {
        let seconds = delay.as_secs_f64();
        print_notice(&format!("nothing was recorded: the program ended before the {seconds} s of --delay"));
    }
    // A collector that stays removes the run directory itself.
    if supervisor.keep || is_detached {
        run.keep();
    }
    let (request, run, supervisor) = (&request, &run, &supervisor);
    let outcome = Outcome { options, request, run, supervisor, named, child, exit_kind, is_detached };
    Ok(outcome.finish(&mut print_unmatched))
}

/// The NVML library that the collector's side asks: that of the simulated driver in its folder, or this machine's.
fn nvml(sim: Option<&PathBuf>) -> PathBuf {
    match sim {
        Some(folder) => folder.join(LIBRARY),
        None => driver::library(OsStr::new(LIBRARY)).unwrap_or_else(|| LIBRARY.into()),
    }
}

/// What is said before the program starts. `outer`: the run of cutap in which this one is.
fn print_start(options: &TraceOptions, request: &Request, outer: Option<&OuterRun>) {
    if !options.silent {
        request.print_start(options);
    }
    let path = &request.program.path;
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    outer.iter().for_each(|outer| outer.announce(&name, !options.form.only_hooks && !options.silent));
    if !options.silent {
        hooks::outer_hooks_notice(&request.hooks).iter().for_each(|line| print_notice(line));
    }
}
