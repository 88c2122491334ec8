//! `--inject`: what the user wrote, as rows that the hook library in the target reads, and what is said of it at the
//! end. Everything is parsed and checked here, before the program starts.

mod end_lines;
mod function_names;
mod rows;
mod rule_text;

pub use end_lines::end_lines;
pub use rows::file_bytes;
pub use rule_text::InjectRule;
