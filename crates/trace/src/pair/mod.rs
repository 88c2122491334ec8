//! Pairs enter and exit records: the calls of one ring, in its order.

pub mod call_builder;
pub mod call_stack;
pub mod event_queue;
pub mod filter_eval;
pub mod host_stacks;
pub mod open_call;
pub mod pairer;
pub mod selected_calls;
pub mod shared;
pub mod sink;
pub mod source;
