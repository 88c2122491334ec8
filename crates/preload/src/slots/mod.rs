//! A slot is one function of one load of one library. Its thunk's address is what the program holds.

pub mod arguments_x86_64;
pub mod call;
pub mod footprint_x86_64;
mod frame_x86_64;
pub mod handed_x86_64;
pub mod hooks;
pub mod inputs_x86_64;
mod launch_x86_64;
pub mod left;
pub mod quick;
pub mod quick_x86_64;
pub mod ring_x86_64;
mod small_x86_64;
pub mod stacked_x86_64;
pub mod table;
pub mod thunks_x86_64;

pub use table::{
    each_recorded, exports, find, for_function, for_hooks, is_thunk, name_of, object_of, real_of, runtime_slot,
    set_exports, slot,
};
