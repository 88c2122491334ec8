//! Kernels of a process: their names, handles and parameter lists, as the driver, runtimes and PTX tell them.

pub mod names;
pub mod ptx;
pub mod ptx_files;
