//! Tables that `cargo xtask codegen` writes from `api/`. Only this list is written by hand.

mod exports;
mod fields;

pub use exports::DEFAULTS;
pub use fields::FIELDS;
