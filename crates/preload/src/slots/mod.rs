//! A slot is one function of one load of one library. Its thunk's address is what the program holds.
//!
//! The thunk jumps to the slot's entry, which `create` chooses once, with the slot:
//!
//! | condition, the first that holds | entry |
//! | --- | --- |
//! | the name is a C++ name | the entry record alone, then a jump to the function |
//! | only hook libraries want the function | `hook::frame_x86_64` |
//! | its calls keep the caller's stack | `call_stack_x86_64` |
//! | a runtime may call it because cutap watches | `own_calls_x86_64` |
//! | hook libraries want it, or it has another reaction of cutap | `frame_x86_64`, the common frame |
//! | the clock is not the time stamp counter | the common frame |
//! | the function is unknown | `fast_x86_64`, in the form that passes 40 stack words on |
//! | the library is newer than the registry, and not the driver | the common frame |
//! | inputs are words, outputs are small (`capture::plan`) | `fast_x86_64` |
//! | it launches a kernel | `launch_x86_64` |
//! | at most three small inputs on the stack, or stack words | `fast_stack_inputs_x86_64` |
//! | other inputs | `fast_inputs_x86_64` |
//!
//! Each frame but the common one leads to a more general frame where a call is not as expected. It has changed nothing
//! before that. So a wrong choice costs time and never a record.

pub mod arguments_x86_64;
pub mod call;
pub mod call_stack_x86_64;
pub mod create;
pub mod extension;
pub mod fast;
mod fast_end;
mod fast_frame;
pub mod fast_inputs_x86_64;
mod fast_stack_inputs_x86_64;
pub mod fast_x86_64;
pub mod frame;
mod frame_x86_64;
pub mod interceptors;
pub mod kernel_function_x86_64;
mod launch_x86_64;
pub mod own_calls_x86_64;
pub mod patched;
mod recording;
pub mod ring_x86_64;
pub mod rules;
pub mod slot;
pub mod table;
pub mod thunks_x86_64;
pub mod unwound;
