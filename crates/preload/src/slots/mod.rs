//! A slot is one function of one load of one library. Its thunk's address is what the program holds.
//!
//! The thunk jumps to the slot's entry, which `create` chooses once, with the slot:
//!
//! | condition, the first that holds | entry |
//! | --- | --- |
//! | the name is a C++ name | the entry record alone, then a jump to the function |
//! | only hook libraries want the function | `arch::hook_frame` |
//! | its calls keep the caller's stack | `call_stack_frame` |
//! | a runtime may call it because cutap watches | `own_calls_frame` |
//! | hook libraries want it, or it has another reaction of cutap | `hook_frame`, the common frame |
//! | calls are counted (`plan::CHATTER`): known, at most six words | `chatter_frame` |
//! | calls are counted, others | the common frame |
//! | the clock is not the time stamp counter | the common frame |
//! | the function is unknown | `fast`, in the form that passes 40 stack words on |
//! | the library is newer than the registry, and not the driver | the common frame |
//! | inputs are words, outputs are small (`slots::plan`) | `fast` |
//! | it launches a kernel | `launch_frame` |
//! | at most three small inputs on the stack, or stack words | `fast_stack_inputs` |
//! | other inputs | `fast_inputs` |
//!
//! Each frame but the common one leads to a more general frame where a call is not as expected. It has changed nothing
//! before that. So a wrong choice costs time and never a record.

pub mod code;
pub mod create;
pub mod extension;
pub mod fast_frame;
pub mod frame;
pub mod hooks;
pub mod interceptors;
pub mod patched;
pub mod plan;
pub mod request;
pub mod rows;
pub mod slot;
pub mod table;
pub mod unwound;
