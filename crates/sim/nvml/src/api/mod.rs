//! The NVML functions that are implemented, each under the name of its export, grouped by subject. `xtask codegen`
//! finds them by their first line (`pub extern "C" fn NAME(`) and lets the exports jump to them.

#![allow(non_snake_case, missing_docs)]

pub mod devices;
pub mod events;
pub mod fields;
pub mod memory;
pub mod pairs;
pub mod processes;
pub mod system;
