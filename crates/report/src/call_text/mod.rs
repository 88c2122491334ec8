//! The text of a trace: a tree of calls as lines, and how lines are folded.

pub mod fold;
pub mod folded_calls;
pub mod launch;
pub mod repeats;
pub mod repetition;
pub mod sequence;
pub mod shape;
pub mod text;
pub mod text_format;
pub mod text_parts;
pub mod unit;
