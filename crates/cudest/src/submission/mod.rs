//! How work reaches the GPU: channels, the memory of their slots, lanes, and fences for its end.

pub mod channel;
pub mod fence;
pub mod lane;
pub mod slots;
