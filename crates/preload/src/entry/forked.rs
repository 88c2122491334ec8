//! A forked child at its first call: each part of the library forgets what was its parent's. What is called from here
//! may not import this file.

use crate::hook_libraries;
use crate::loader::{list, live, loaded, objects};
use crate::nvtx::capture_range;
use crate::process::{capture_windows, folder, names_file, own, run, switch};
use crate::python;
use crate::ring::thread_states;
use crate::runtime::{instances, rules, suppress};
use crate::slots::extension;
use cutap_wire::control;

/// See `fork::FORGET_PARENT`.
pub fn forget_parent() {
    thread_states::forked();
    // Its own folder, at its first word; or nothing at all.
    if run::flags() & control::NO_FOLLOW != 0 {
        switch::disable_in_child();
    }
    names_file::forked();
    folder::forked();
    rules::forked();
    own::forked();
    capture_windows::forked();
    if list::forked() {
        suppress::disable();
    }
    objects::forked();
    live::forked();
    loaded::forked();
    python::forked();
    instances::forked();
    capture_range::forked();
    hook_libraries::thread::forked();
    hook_libraries::own_host::forked();
    extension::extension(|of| (of.forked)());
}
