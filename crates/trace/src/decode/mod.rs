//! From the words and memory of a call to typed values, by the tables of `cutap_calls::known`.

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
