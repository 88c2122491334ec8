//! Calls as text for people, and as JSON with the decoded fields.

mod brief;
pub mod json;
pub mod printer;
pub mod text;
