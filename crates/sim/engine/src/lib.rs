//! The simulated machine as an engine of `cutap-driver`. Memory of a device is host memory, streams keep their order,
//! and kernels are accepted but not executed.

mod pieces;
mod simulated;

pub use simulated::Simulated;
