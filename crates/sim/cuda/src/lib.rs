//! libcuda.so.1: the simulated driver. NVIDIA's real runtimes initialise on it and a runtime program works on a
//! machine without a GPU: memory holds data, streams are in order, kernels are accepted and not executed.
//!
//! The shared library is built by
//!
//! ```text
//! cargo rustc -p cutap-sim --release --lib --crate-type cdylib -- -C link-arg=-Wl,-soname,libcuda.so.1
//! ```
//!
//! and renamed from libcutap_sim.so to libcuda.so.1. `api/` holds what is written by hand, one function a driver
//! function; every other export is counted (`report.rs`),
//! looks at its arguments as far as the registry knows them, and answers NOT_SUPPORTED (`default.rs`). It must never pretend that a
//! kernel ran, and never print anything by itself (but for CUTAP_SIM_REPORT=1, at the end).

mod abi;
mod api;
mod counts;
mod default;
mod driver;
mod export;
mod generated;
mod host;
mod image;
mod report;
mod state;
mod stub;
mod tables;
