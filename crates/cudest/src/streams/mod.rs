//! What a program does in a context: modules, streams, events, and copies of every kind.

pub mod cooperative_launch;
pub mod copier;
pub mod event;
pub mod jit_link;
pub mod module;
pub mod pageable_copies;
pub mod ptx;
pub mod rectangles;
pub mod stream;
