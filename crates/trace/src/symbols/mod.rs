//! Names of slots, objects, runtimes and kernels of each process, and the functions that they make. No call is known
//! here.

pub mod functions;
pub mod names;
pub mod payloads;
pub mod process;
pub mod slot_table;
