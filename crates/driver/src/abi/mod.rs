//! The boundary to C: types of arguments, results, and whether the driver has started. Everything above may use this
//! folder. It must not know an object of the driver.

mod arguments;
mod calls;
mod fault;
mod jit_logs;
pub mod lifecycle;
mod program_memory;

pub use arguments::{In, Out, Text, bytes_at, put_text};
pub use calls::{answer, answer_always, of_the_program};
pub use fault::{Answer, Fault};
pub use jit_logs::Logs;
pub use program_memory::{copied, copied_text};
