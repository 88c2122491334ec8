//! Written by `cargo xtask codegen` from `api/`; this file alone is typed by hand.

pub(crate) mod static_toolkits;
