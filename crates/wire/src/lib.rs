//! The contract between the library inside the target and everything outside: the **run directory**.
//!
//! Writer and reader of each structure stand side by side in one file, so that they cannot drift.
//! Nothing here knows CUDA, formats text or allocates; nothing here may panic on bytes that a dying
//! or hostile process left behind.
//!
//! ```text
//! RUN/control             one page: what is wanted, who drains (control)
//! RUN/p<pid>-<n>/process  one page: who this process is, clocks, counters (process)
//! RUN/p<pid>-<n>/names    names of slots, libraries, instances, kernels (names)
//! RUN/gpu_clocks          clocks of the GPUs, once a second; only with --gpu-time (gpu_clocks)
//! RUN/inject              what --inject does to calls (injected)
//! RUN/limit               what --limit-memory allows, and what it refused (limited)
//! RUN/accounts            memory of each process (accounts)
//! RUN/hooks               hook libraries, and what hooks may know of functions; only with --hook (hooks)
//! RUN/p<pid>-<n>/hook_active  which hook each thread is in (hooks)
//! RUN/p<pid>-<n>/t<k>.counts, t<k>.runtimes  numbers of calls under --count and --chatter=count (counts)
//! RUN/control.<n>         switches of one process, and of the runtimes' callbacks in it (flags)
//! RUN/p<pid>-<n>/t<k>.ring  calls of the threads that used block k, one after the other (ring, record)
//! RUN/p<pid>-<n>/h<j>.heads first pages and first chunks of later rings (ring)
//! ```
#![cfg_attr(not(any(test, feature = "loom")), no_std)]
#![warn(missing_docs)]

pub mod accounts;
mod atomic;
pub mod control;
pub mod counts;
pub mod diagnostic;
pub mod flags;
pub mod gpu_clocks;
pub mod hooks;
pub mod injected;
#[cfg(all(test, not(feature = "loom")))]
mod interrupted;
pub mod kept_calls;
pub mod limited;
pub mod memory;
pub mod names;
pub mod process;
pub mod python;
pub mod record;
pub mod ring;
pub mod rows;
pub mod sanitizer;
mod shape;
pub mod stack;
pub mod submission;
mod words;

/// First word of every file of a run directory: "CUTAPRUN" in little endian.
pub const MAGIC: u64 = u64::from_le_bytes(*b"CUTAPRUN");
/// Version of the bytes described in this crate. A change that a reader of an older version would misread raises it. A
/// recording holds these bytes, and its format has the same number since version 3: 128 counters, records of sub-kinds.
pub const VERSION: u32 = 3;
/// Size of the single-page files and of the header before the first chunk of a ring.
pub const PAGE: usize = 4096;
