//! The filter language of `-e`. It selects functions and calls, by functions and values alone.

pub mod all_of;
pub mod arguments;
pub mod check;
pub mod comparison;
pub mod compiled;
pub mod condition;
pub mod did_you_mean;
pub mod error;
mod habits;
mod hidden_callers;
mod kept;
pub mod library;
pub mod near;
pub mod parse;
pub mod parts;
pub mod term;
pub mod wanted;
pub mod who;

pub(crate) use compiled::{ArgumentValue, CallUnderTest, Tests};
pub use error::FilterError;
pub use parse::Filter;
