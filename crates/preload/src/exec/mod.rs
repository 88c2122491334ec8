//! Programs that this process starts with an `LD_PRELOAD` of the caller's, such as
//! `subprocess.run(..., env={...})`. The caller has replaced the list that has cutap in it. So cutap is
//! appended to the list of the new program. A caller that has removed the variable, or `CUTAP_RUN`,
//! wants a clean environment: that is left unchanged, and counted.
//!
//! A function of libc is called with other arguments only where the environment has to be changed. In
//! all other cases it is jumped to. What the caller passes may be wrong. The kernel has to find that, so
//! each page is tested before it is read. The caller's environment is never written: it may be
//! read-only, or that of a vfork parent.
//!
//! A look-up in libc gets the function of this library too, as `RTLD_DEFAULT` does.
//!
//! Limits: `system` and `popen` use the process's environment inside libc. A program that makes the
//! system call itself, or has a copy of libc in it, is not noticed.

pub mod call;
mod environment;
pub mod list;
pub mod vfork;
pub mod vfork_memory;

#[cfg(feature = "inject")]
pub use call::set_entries;
pub use call::{entry_for, find_next};
