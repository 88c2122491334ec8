//! libcupti.so of the simulated machine: activity records of kernels, copies, sets and driver calls. The simulated
//! driver (`crates/driver`) reports what programs submit. The times of the records are invented: they grow, and
//! follow the order of a stream. No kernel runs.
//!
//! The shared library is built by
//!
//! ```text
//! cargo rustc -p cutap-sim-cupti --release --lib --crate-type cdylib -- -C link-arg=-Wl,-soname,libcupti.so
//! ```
//!
//! and renamed from libcutap_sim_cupti.so to libcupti.so, in the folder of libcuda.so.1. It has functions of the global
//! family, those for ids of graphs, and subscribers that are never called. Records are handed out by
//! cuptiActivityFlushAll alone. The library must never print, and never call the driver while a submission is reported.
//!
//! `CUTAP_SIM_CUPTI` is the version whose records are written: 11.7, 12.9, 13.0 (the default), 13.5, or another one of
//! `api/gpu-time.toml`. `CUTAP_SIM_CUPTI_FAULTS` is a list of planted faults, separated by commas (`settings.rs`).

mod activity;
mod buffers;
mod collection;
mod graphs;
mod records;
mod settings;
mod subscribers;
