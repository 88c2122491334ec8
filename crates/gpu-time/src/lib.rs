//! The injection inside the target: libcuda's cuInit loads it (CUDA_INJECTION64_PATH). It enables CUPTI's activity
//! records, and hands each to the preload as a row ([`cutap_wire::rows`]). Without the preload it does nothing.
//!
//! The shared library is built by
//!
//! ```text
//! cargo rustc -p cutap-gpu-time --release --lib --crate-type cdylib --features inject
//! ```
//!
//! It may use libc and one thread, which has all signals blocked. It must not panic or print. It calls the global
//! family of CUPTI's functions alone. It never subscribes and never registers a timestamp callback, because the first
//! would exclude other tools, and the second damages their records.
#![no_std]

mod buffers;
mod clock;
mod collection;
mod cupti;
mod delivery;
mod device_buffers;
mod find;
#[cfg(feature = "inject")]
mod inject;
mod names;
mod other_injection;
mod preload;
mod records;
mod thread;
mod turns;

pub use collection::start;
