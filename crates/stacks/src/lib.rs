//! Unwinds the stacks that were copied in a traced process, and names their frames, by the files that the process had
//! loaded.
//!
//! [`Map`] is what one process had loaded, and when; [`Files`] are the files as they are now, read when a stack first
//! asks for them; [`Stacks`] puts both together. What is read here was written by a process that may want to harm:
//! nothing panics on bytes, no file is mapped, every loop has an end. A file that is missing, or another one by now, is
//! named once, and its frames stay addresses. Knows no call and prints nothing.

mod bounded;
pub mod demangle;
mod file;
mod files;
mod map;
mod memory;
mod patient;
mod perf_map;
pub mod python;
mod python_lines;
mod regular;
mod rows;
mod stacks;
mod symbols;
mod unwind;

pub use files::{Absent, Files};
pub use map::{Loaded, Map, Object};
pub use memory::Raw;
pub use regular::open as open_regular;
pub use stacks::{End, Frame, Of, Stack, Stacks};

/// Registers as they stand in a copied stack: rip, rsp, rbp, rbx, r12, r13, r14, r15.
pub type Registers = [u64; cutap_wire::stack::REGISTERS];
