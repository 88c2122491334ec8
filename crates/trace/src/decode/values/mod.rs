//! Typed values of words and memory, by the types and rules of the tables. All that is read here is bounded, because a
//! process may lie.

pub mod aggregate;
pub mod arrays;
pub mod changed;
pub mod copied;
pub mod count;
pub mod kernel_params;
pub mod memory;
pub mod parameter_types;
pub mod row;
pub mod scalar;
pub mod shaped;
pub mod tagged;
pub mod text;
pub mod type_name;
pub mod walk;
