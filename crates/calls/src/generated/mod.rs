//! Written by `cargo xtask codegen` from `api/`; this file alone is typed by hand.

pub mod behaviour;
pub mod capture;
pub mod export_tables;
pub mod functions;
pub mod gpu_clocks;
pub mod gpu_time;
pub mod kernel;
pub mod known;
pub mod layers;
pub mod libc;
pub mod nvtx;
pub mod python;
pub mod submission;
pub mod tracked;
pub mod watched;
