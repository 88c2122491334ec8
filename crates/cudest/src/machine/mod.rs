//! The GPUs of the machine, and what a program asks of one.

pub mod attributes;
pub mod gpu;
pub mod host;
pub mod survey;
mod usable;
mod usage;
pub mod vmm;
