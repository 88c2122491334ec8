//! libnvidia-ml.so.1: NVML of the simulated machine, for programs that list GPUs before they start the driver. It has
//! the GPUs, uuids and PCI addresses of the simulated driver (`crates/driver`). Queries return recorded answers of
//! an H200.
//!
//! The shared library is built by
//!
//! ```text
//! cargo rustc -p cutap-nvml --release --lib --crate-type cdylib -- -C link-arg=-Wl,-soname,libnvidia-ml.so.1
//! ```
//!
//! and renamed from libcutap_nvml.so. `api/` has one function for each NVML function that is implemented. Every other
//! export checks its arguments and returns the recorded answer, or NOT_SUPPORTED (`default.rs`). The library must
//! never change anything on the machine, and never print anything.
//!
//! `CUTAP_SIM_NVML_FAULTS` is a list of planted faults, separated by commas (`clock_faults.rs`).

mod abi;
mod api;
mod clock_faults;
mod default;
mod device;
mod fault;
mod generated;
mod lifecycle;
mod stub;
