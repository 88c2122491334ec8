//! Runs to read, and the text of their calls.

pub mod calls;
pub mod fixture;
pub mod gpu;
pub mod library;
pub mod program;
pub mod schema;
