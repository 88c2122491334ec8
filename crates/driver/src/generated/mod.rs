//! Tables that `cargo xtask codegen` writes from `api/`. Only this list is written by hand.

mod exports;
mod gpu_limits;
mod results;

pub use exports::{DEFAULTS, PROCS};
pub use gpu_limits::{GPU_LIMITS, limited};
pub use results::RESULTS;
