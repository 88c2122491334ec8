//! The NVML functions that are written by hand, each under the name of its export; a function's group is its file.
//! `xtask codegen` finds them by their first line (`pub extern "C" fn NAME(`) and makes the exports jump here.

#![allow(non_snake_case, missing_docs)]

pub mod devices;
pub mod events;
pub mod fields;
pub mod memory;
pub mod pairs;
pub mod processes;
pub mod system;
