//! What runs around a call: the recording interceptor and the others, which `table` declares.

pub mod call;
pub mod chatter;
pub mod fast_inputs;
pub mod recording;
pub mod table;
