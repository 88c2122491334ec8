//! libcuda.so.1: the simulated driver. NVIDIA's real runtimes start on it, and CUDA programs run on a machine without
//! a GPU. Memory holds data, streams keep their order, and kernels are accepted but not executed.
//!
//! The shared library is built by
//!
//! ```text
//! cargo rustc -p cutap-sim --release --lib --crate-type cdylib -- -C link-arg=-Wl,-soname,libcuda.so.1
//! ```
//!
//! and renamed from libcutap_sim.so to libcuda.so.1. `api/` has one function for each driver function that is
//! implemented. Every other export is counted (`counts.rs`), checks its arguments and fails with NOT_SUPPORTED
//! (`default.rs`). The library must never pretend that a kernel ran. It prints only with CUTAP_SIM_REPORT=1, at the
//! end of the process.
//!
//! The folders are in layers, from `api/` down to `abi/`; `cargo xtask tidy` checks their order.

mod abi;
mod api;
mod counts;
mod default;
mod driver;
mod engine;
mod export;
mod generated;
mod graph_ids;
mod host;
mod image;
mod report;
mod state;
mod stub;
mod tables;
