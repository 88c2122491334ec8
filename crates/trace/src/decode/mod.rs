//! From the words and memory of a call to typed values, by the tables of `cutap_calls::known`.
//!
//! Limits:
//! - Buffers of collective calls that only one rank uses are shown with their length on each rank. A buffer with a
//!   part for each rank has a length only if the call with the communicator's size was recorded (`ncclCommInit*`).
//! - After the last `cuDevicePrimaryCtxRelease` memory is still shown as there if a runtime is in the process,
//!   because older runtimes retain the context where no call shows it.
//! - Memory of a stream capture is shown as there from the capture on.
//! - Page-locked memory that was freed, and that `malloc` returned again, is shown as freed. Copies that leave the
//!   side to their addresses (`cuMemcpy`) are an exception.

pub(crate) mod effects;
#[cfg(test)]
mod fuzz;
pub(crate) mod interpreter;
pub(crate) mod plain;
pub(crate) mod state;
pub(crate) mod undecoded;
pub(crate) mod values;

pub use crate::event::described::Described;
pub use crate::event::value::{Fields, Items, List, MemoryPlace, Owner, Standing, Text, Value, flags_of, name_of};
pub use state::devices::Devices;
pub use undecoded::UndecodedFunction;
pub use values::type_name::TypeName;
