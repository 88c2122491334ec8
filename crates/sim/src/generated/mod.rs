//! What `cargo xtask codegen` writes from `api/`; nothing here is typed by hand but this list.

mod device;
mod exports;
mod results;

pub use device::{ATTRIBUTES, NAME, TOTAL_MEMORY, UUID};
pub use exports::{DEFAULTS, PROCS};
pub use results::RESULTS;
