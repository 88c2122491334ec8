//! The filter language of `-e`: it says which functions and calls are wanted, of functions and values alone.

pub mod arguments;
pub mod check;
pub mod comparison;
pub mod compiled;
pub mod condition;
pub mod did_you_mean;
pub mod error;
pub mod library;
pub mod near;
pub mod parse;
pub mod term;
pub mod wanted;

pub(crate) use compiled::{ArgumentValue, CallUnderTest, Tests};
pub use error::FilterError;
pub use parse::Filter;
