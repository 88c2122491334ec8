//! Written by `cargo xtask codegen`.

mod device;

pub use device::*;
