//! The changes that a successful call makes in the state of its process, by the effects in its description.

pub mod apply;
pub mod logs;
pub mod operands;
