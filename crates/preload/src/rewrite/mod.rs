//! The words of loaded objects that the dynamic loader has bound to functions: noticing new objects, and exchanging
//! those that hold a watched function.

pub mod autograd;
pub mod injection_path;
pub mod libc;
pub mod notice;
pub mod profiler;
pub mod stubs;
pub mod words;
