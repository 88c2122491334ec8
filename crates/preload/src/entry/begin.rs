//! The start: at the constructor, or at the first look-up if that comes first. It prepares all parts before a call can
//! be recorded, so none of them may import this file.

use super::{forked, other_libc, sanitizer};
use crate::arch::code::CODE;
use crate::capture::{answers, handles};
use crate::interceptors::table;
use crate::loader::real::SYSCALL;
use crate::loader::{forks, map, object_names, real};
use crate::nvtx::{capture_range, looked_up_tool, other_path, ranges};
use crate::process::state::{self, NOT_YET, RUNNING, STARTING};
use crate::process::{armed, environment, folder, fork, own, run, switch};
use crate::rewrite::{notice, stubs};
use crate::ring::thread_states;
use crate::runtime::instances;
use crate::slots::{self, code, extension, hooks, interceptors};
use crate::{exec, hook_libraries, python};
use core::sync::atomic::Ordering::*;
use cutap_wire::PAGE;
use cutap_wire::control::Control;

/// Starts, once. `environment` as glibc's loader passes it to a constructor, or null before that; of another loader
/// anything.
pub fn begin(environment: *const *const u8) {
    if run::STATE.compare_exchange(NOT_YET, STARTING, AcqRel, Acquire).is_err() {
        return;
    }
    close_tables();
    connect();
    if !map::is_glibcs() {
        other_libc::stand_aside();
        run::STATE.store(state::after_search(false), Release);
        return;
    }
    real::find_next();
    if real::next(SYSCALL) == 0 {
        // No libc is behind this library: it was opened while the program ran, as the injection of NVTX that a variable
        // names, in a program without it in LD_PRELOAD.
        run::STATE.store(state::after_search(false), Release);
        return;
    }
    sanitizer::put_first();
    let environment = if environment.is_null() { environment::before_libc() } else { environment };
    let state = state::after_search(set_up(environment));
    if state == RUNNING {
        ranges::start();
        capture_range::start();
        python::start();
        looked_up_tool::start();
    }
    run::STATE.store(state, Release);
    if state == RUNNING {
        fork::start();
        other_path::keep();
        // Of a process that was switched alone, also what it starts is.
        if run::control().is_some_and(|c| c.alone.load(Acquire) != 0) && own::create_once() {
            forks::watch();
        }
        real::find_next();
        exec::list::begin();
        hook_libraries::library::load(&hook_libraries::own_host::OWN_HOST.host);
        notice::notice();
    }
}

/// What lower floors call of upper ones.
fn connect() {
    code::set(&CODE);
    hooks::set(&hook_libraries::HOOKS);
    interceptors::set_chooser(table::choose);
    fork::FORGET_PARENT.set(forked::forget_parent);
    own::CHILD_HAS_PAGE.set(instances::share_anew);
    folder::FOLDER_MADE.set(object_names::write_all);
}

/// Nobody has written to them yet: whoever does, starts us first.
fn close_tables() {
    slots::table::close();
    extension::extension(|of| (of.close)());
    thread_states::close();
    stubs::close();
    handles::close();
    instances::close();
    hook_libraries::thread::close();
    python::close();
}

/// True once started with a run directory; starts if nobody did.
pub fn running() -> bool {
    match state::running(run::STATE.load(Acquire)) {
        state::Asked::Start => {
            begin(core::ptr::null());
            run::STATE.load(Acquire) == RUNNING
        }
        state::Asked::Is(answer) => answer,
    }
}

fn set_up(environment: *const *const u8) -> bool {
    if !run::run_named(environment) {
        return false;
    }
    let page = run::mapped_page(|file| {
        // SAFETY: the place is a page of ours that holds nothing yet.
        let mapped = unsafe { file.map_over(switch::CUTAP_CONTROL.at(), PAGE) };
        // Once more, for the page of switches comes to lie over the first one.
        mapped.then(|| file.map(0, PAGE).cast::<Control>())
    });
    let Some(page) = page else { return false };
    // SAFETY: just mapped.
    if !unsafe { run::wants_us(page) } {
        switch::disable_in_child();
        return false;
    }
    run::set_control(page);
    if let Some(c) = run::control() {
        c.entered.fetch_add(1, Relaxed);
    }
    run::keep_alive();
    armed::start();
    answers::start();
    switch::start();
    true
}
