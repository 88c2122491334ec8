//! Parts of every output: units, colours, names of functions and runs, CSV and JSON writers.

pub mod csv;
pub mod function_pattern;
mod json_line;
pub mod json_text;
pub mod json_writer;
pub mod kernel_name;
pub mod label;
pub mod runs;
pub mod style;
pub mod units;
