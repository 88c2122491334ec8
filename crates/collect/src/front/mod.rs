//! The process that the shell sees: what `trace`, `record` and `env` do, in their order.

pub mod env;
pub mod foreground;
pub mod outside;
pub mod supervisor;
pub mod trace;
