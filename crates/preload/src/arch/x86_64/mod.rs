//! Thunks, gates and frames for x86-64.

pub mod arguments;
pub mod call_stack_frame;
pub mod callback_tables;
pub mod chatter_frame;
pub mod code;
#[cfg(feature = "inject")]
pub mod exec_entries;
#[cfg(feature = "inject")]
pub mod exports;
pub mod fast;
pub mod fast_frames;
pub mod fast_inputs;
pub mod fast_stack_inputs;
pub mod frame_macros;
pub mod hook_callback;
pub mod hook_frame;
pub mod kernel_function;
pub mod kernel_name;
pub mod launch_frame;
pub mod own_calls_frame;
pub mod reports;
pub mod reports_with_stack;
pub mod ring_macros;
pub mod thunks;
#[cfg(feature = "inject")]
pub mod vfork;
