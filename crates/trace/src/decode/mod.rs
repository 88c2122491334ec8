//! From the words of a call and its recorded memory to typed values, by the tables of `cutap_calls::known`.
//!
//! The description of a function is chosen by its name, its library and the library's version (`event::described`). For
//! each parameter it has a type and a rule (one value, an array with its count, a text, memory, opaque). `values::walk`
//! interprets type and rule over the recorded fragments. It follows a pointer only if a fragment begins at its address.
//! A pointer without a fragment stays an address, so a value never shows memory of another time.
//!
//! Inputs are read from the fragments of the enter record, outputs from those of the exit record. After a successful
//! call, its effects (`creates`, `frees`, `carries`, ...) change the state of the process: handles, allocations, the
//! current device, graphs. Later calls are annotated from this state. The order of time is therefore necessary: a call
//! is decoded at its end, when all calls that ended before it have been applied.
//!
//! The data is not trusted. Depth, number of elements and size of the state are bounded, and a wrong length is a value
//! that is cut off.

pub(crate) mod effects;
#[cfg(test)]
mod fuzz;
pub(crate) mod interpreter;
pub(crate) mod plain;
pub(crate) mod state;
pub(crate) mod undecoded;
pub(crate) mod values;

pub use crate::event::described::Described;
pub use crate::event::value::{Fields, Items, List, Owner, Place, Standing, Text, Value, flags_of, name_of};
pub use state::devices::Devices;
pub use undecoded::RawFunction;
pub use values::type_name::TypeName;
