//! Hook libraries: who wants which function, and their functions called around it. The contract is
//! `cutap_hook::contract`; what a hook may know of parameters comes from the run's file `hooks`.
//!
//! A hooked function's slot leads to a separate frame (`hook_frame`), inside of the one that records:
//! so a trace has what the program asked for and what it got. Hooks are called from assembler, never from
//! Rust, so that an exception that leaves one meets no code of ours.
//!
//! * [`library`]: the libraries and what they want.
//! * [`wants_file`]: the same, written down for those outside.
//! * [`functions`]: a wanted function as its hooks see it.
//! * [`chain`]: the hooks of one call, one after the other.
//! * [`thread`]: which hook a thread is in, so that a hook's own calls pass without hooks.
//! * [`open`]: the runtime calls that are open on a thread.
//! * `constructors`: whose constructors or destructors run just now.
//! * [`host`]: what a hook may ask and do.
//! * `own_host`: what the library behind `--inject` may ask beside that.
//! * [`kernel`]: which kernel a launch launches.
//! * [`callback`]: the same for what a runtime's callback reports; [`forced`] answers there.
//! * [`last_error`]: cudaGetLastError after an answer.

pub mod callback;
pub mod chain;
pub mod constructors;
pub mod errors;
pub mod exported;
pub mod forced;
pub mod frame;
pub mod functions;
pub mod host;
pub mod kernel;
pub mod last_error;
pub mod library;
pub mod open;
pub mod open_call;
pub mod own_host;
pub mod parameters;
pub mod thread;
pub mod unknown;
pub mod wants_file;

use crate::slots::hooks::Hooks;

/// For lower floors.
pub static HOOKS: Hooks = Hooks {
    want: |layer, library, name| library::wanting(layer, library, name).next().is_some(),
    info: |n, real, owner, layer, name| {
        functions::of_slot(n, real, owner, layer, name).map(|info| core::ptr::from_ref(info).cast_mut().cast())
    },
    succeeded: thread::succeeded,
    is_hooks_own: thread::is_hooks_own,
};
