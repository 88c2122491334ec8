//! Tables that `cargo xtask codegen` writes.

pub(crate) mod nvproxy;
pub(crate) mod variables;
