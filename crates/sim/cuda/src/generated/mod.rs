//! Tables that `cargo xtask codegen` writes from `api/`. Only this list is written by hand.

mod exports;
mod results;

pub use exports::{DEFAULTS, PROCS};
pub use results::RESULTS;
