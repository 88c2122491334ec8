//! Tables that `cargo xtask codegen` writes from `api/`. Only this list is written by hand.

mod device;

pub use device::*;
