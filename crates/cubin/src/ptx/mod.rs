//! PTX text: its kernels with their parameters, and its variables.

mod declaration;
mod kernel;
mod module;
mod words;

pub use declaration::Kind;
pub use kernel::{Kernel, Parameter};
pub use module::{Error, Module, Variable};
