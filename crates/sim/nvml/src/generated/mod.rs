//! What `cargo xtask codegen` writes from `api/`; nothing here is typed by hand but this list.

mod exports;
mod fields;

pub use exports::DEFAULTS;
pub use fields::FIELDS;
