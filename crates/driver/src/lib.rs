//! The front of cutap's CUDA drivers: what a call means. Memory, code and the order of work are an engine's. This crate
//! knows the engine by the traits of `engine/` alone; `crates/libcuda` joins it with engines to `libcuda.so.1`.
//!
//! `api/` has one function for each driver function that is implemented. Every other export is counted (`counts.rs`),
//! checks its arguments and fails with NOT_SUPPORTED (`default.rs`). The front must never pretend that a kernel ran. It
//! prints only with CUTAP_SIM_REPORT=1, at the end of the process, and what an engine for GPUs refused.
//!
//! The folders are in layers, from `api/` down to `abi/`; `cargo xtask tidy` checks their order. Engines use `abi`,
//! `host` and `engine`.

pub mod abi;
mod api;
mod counts;
mod default;
mod driver;
pub mod engine;
mod export;
mod generated;
mod graph_ids;
pub mod host;
mod image;
mod report;
mod state;
mod stub;
mod tables;
