//! Kernels of a process: names, handles and parameter lists, from the driver, runtimes and PTX.

pub mod names;
pub mod ptx;
pub mod ptx_files;
