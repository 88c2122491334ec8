//! What outputs say about one call: its fields, arguments, values.

pub mod allocation_size;
pub mod arguments;
pub mod call_bytes;
pub mod call_json;
pub mod column_value;
pub mod columns;
pub mod detail;
pub mod gpu_work;
pub mod hooked;
pub mod kernel;
pub mod range;
pub mod resource_names;
pub mod stream_argument;
pub mod submission;
pub mod values;
pub mod values_json;
