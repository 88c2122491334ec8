//! Headings of flags that are not the usual ones, in the help of a command.

pub const LINES: &str = "Form of lines";
pub const RECORDED: &str = "When and what to record";
pub const WINDOW: &str = "Part of the run";
pub const PROGRAM: &str = "The program";
