//! The filter language of `-e`. It selects functions and calls, by functions and values alone.

pub mod ancestors;
pub mod arguments;
pub mod check;
pub mod comparison;
pub mod compiled;
pub mod condition;
pub mod did_you_mean;
mod filter_of_run;
mod foreign_syntax;
pub mod function_match;
mod hidden_callers;
pub mod intersection;
pub mod library;
pub mod owners;
pub mod parse;
pub mod parts;
pub mod range_term;
pub mod refusal;
pub mod term;
pub mod time_window;

pub(crate) use compiled::{ArgumentValue, CallUnderTest, Tests};
pub use parse::Filter;
pub use refusal::FilterError;
pub use time_window::TimeWindow;
