//! The kernel driver: its device nodes, an RM client, controls, and what they say of a GPU.

pub mod chip;
pub mod client;
pub mod controls;
pub mod facts;
pub mod fault;
pub mod link;
pub mod nodes;
