//! The process that the shell sees: what `trace`, `record` and `env` do, in their order.

pub mod env;
pub mod foreground;
pub mod outcome;
pub mod output;
pub mod outside;
pub mod request;
pub mod run;
pub mod supervisor;
pub mod trace;
pub mod trace_options;
