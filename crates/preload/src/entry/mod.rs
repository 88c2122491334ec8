//! The start, what a forked child forgets, what a sandbox forbids, and what the shared library exports.

pub mod begin;
pub mod forked;
#[cfg(feature = "inject")]
mod inject;
pub mod other_libc;
pub mod sandbox;
pub mod sanitizer;
