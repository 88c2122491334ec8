//! Tables that `cargo xtask codegen` writes from `api/`. Only this list is written by hand.

mod attributes;
mod device;

pub use attributes::{function_attribute, pointer_attribute};
pub use device::*;
