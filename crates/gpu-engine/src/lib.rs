//! The GPUs of this machine as an engine of `cutap-driver`, through `cutap-cudest`. Kernels run there.

mod fault;
mod gpus;
mod lane;
mod piece;
mod shared;
mod space;

pub use gpus::Gpus;
