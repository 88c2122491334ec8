//! `--inject` and `--rules`: what the user wrote, as rows that the hook library in the target reads, and what is
//! reported of it at the end. Everything is parsed and checked here, before the program starts.

mod call_sites;
mod classes;
mod end_lines;
mod faultinj;
mod function_names;
mod injection;
mod replace;
mod rows;
mod rule_text;
mod rules_file;
mod run_file;
mod words;

pub use call_sites::{CallSite, read_sites, write_sites};
pub use end_lines::end_lines;
pub use function_names::{FunctionName, typical_error};
pub use injection::Injection;
pub use replace::{Replaced, replace_rules};
pub use rows::file_bytes;
pub use rule_text::InjectRule;
pub use rules_file::rules_of_file;
