//! A forked child at its first call: each part of the library forgets what was its parent's. What is called from here
//! may not import this file.

use crate::hook_libraries;
use crate::loader::{list, live, loaded, objects};
use crate::process::{folder, fork, names_file, own, run, switch};
use crate::ring::thread_states;
use crate::runtime::{instances, rules, suppress};
use crate::slots::extension;
use cutap_wire::control;

/// Notices that this is a child of the process that started. One load a call.
#[inline(always)]
pub fn check() {
    if fork::is_child() {
        forked();
    }
}

#[cold]
fn forked() {
    fork::forked(|| {
        thread_states::forked();
        // Its own folder, at its first word; or nothing at all.
        if run::flags() & control::NO_FOLLOW != 0 {
            switch::disable_in_child();
        }
        names_file::forked();
        folder::forked();
        rules::forked();
        if own::forked() {
            instances::share_anew();
        }
        if list::forked() {
            suppress::disable();
        }
        objects::forked();
        live::forked();
        loaded::forked();
        instances::forked();
        hook_libraries::thread::forked();
        extension::extension(|of| (of.forked)());
    });
}
