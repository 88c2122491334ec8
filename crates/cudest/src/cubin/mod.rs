//! Cubins: what is in one, without a GPU. `Cubin::parse` finds kernels, variables, code, constants and relocations, and
//! `Cubin::image` gives the bytes for chosen addresses. Any input gives an answer or an error, never a panic.

mod image;
mod info;
mod relocation;
mod sections;

pub(crate) use image::Layout;
pub(crate) use sections::Cubin;
pub use sections::{Entry, Parameter};
