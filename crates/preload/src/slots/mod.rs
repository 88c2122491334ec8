//! A slot is one function of one load of one library. Its thunk's address is what the program holds.

pub mod arguments_x86_64;
pub mod call;
pub mod call_stack_x86_64;
pub mod fast;
pub mod fast_inputs_x86_64;
mod fast_stack_inputs_x86_64;
pub mod fast_x86_64;
mod frame_x86_64;
pub mod hooks;
pub mod kernel_function_x86_64;
mod launch_x86_64;
pub mod own_calls_x86_64;
pub mod ring_x86_64;
pub mod table;
pub mod thunks_x86_64;
pub mod unwound;

pub use table::{
    each_recorded, exports, find, for_function, for_hooks, for_word, function_of, is_thunk, name_of, object_of,
    real_of, runtime_slot, set_exports, slot,
};
