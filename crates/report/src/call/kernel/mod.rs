//! Calls of the layer `syscall` as the model that `cutap_kernel` reads, decodes and prints.

mod convert;
mod line;

pub use convert::kernel_call;
pub(crate) use line::{kernel_line, request_json, request_line};
