//! libnvidia-ml.so.1: NVML of the simulated machine, for programs that ask it which GPUs there are before they start the
//! driver. Same GPUs, same uuids, same PCI places as the simulated driver (`crates/sim/cuda`); an H200's answers (recorded) to
//! everything that is only asked.
//!
//! The shared library is built by
//!
//! ```text
//! cargo rustc -p cutap-nvml --release --lib --crate-type cdylib -- -C link-arg=-Wl,-soname,libnvidia-ml.so.1
//! ```
//!
//! and renamed from libcutap_nvml.so. `api/` holds what is written by hand, one function an NVML function; every other export looks
//! at its arguments and answers what was recorded, else NOT_SUPPORTED (`default.rs`). It must never change anything on the
//! machine, and never print anything.

mod abi;
mod api;
mod default;
mod device;
mod fault;
mod generated;
mod lifecycle;
mod stub;
