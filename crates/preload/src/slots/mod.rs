//! A slot is one function of one load of one library. Its thunk's address is what the program holds.

pub mod extension;
pub mod fast_frame;
pub mod frame;
pub mod interceptors;
pub mod patched;
pub mod plan;
pub mod request;
pub mod rows;
pub mod slot;
pub mod table;
pub mod unwound;
