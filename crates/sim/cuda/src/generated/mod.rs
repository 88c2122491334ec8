//! What `cargo xtask codegen` writes from `api/`; nothing here is typed by hand but this list.

mod exports;
mod results;

pub use exports::{DEFAULTS, PROCS};
pub use results::RESULTS;
