//! A forked child at its first call: each part of the library forgets what was its parent's. What is called from here
//! may not import this file.

use super::{names_file, own, process, run, switch};
use crate::hook;
use crate::loader::{list, live, loaded, objects};
use crate::routes::{instances, suppress};
use crate::slots::{extension, rules};
use crate::thread::{fork, thread_states};
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
        process::forked();
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
        hook::thread::forked();
        extension::extension(|of| (of.forked)());
    });
}
