//! Outputs other than the text of a trace. Each implements [`crate::Output`].

pub mod call_rows;
pub mod clock_json;
mod collective_fields;
pub mod counts;
mod field_row;
mod gpu_fields;
pub mod json;
pub mod json_schema;
pub mod kernel_lines;
pub mod live_clocks;
pub mod pool_fields;
pub mod problem_fields;
pub mod quiet;
pub mod range_fields;
pub mod summary;
