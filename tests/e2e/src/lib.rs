//! Real programs under cutap, compared with golden text.
//!
//! `tests/programs` holds one small program per case and the fixture libraries that they call; this crate builds them
//! with gcc, runs each plain and under `cutap`, and compares. A test is a few words: `case("lazy").golden()`. What must
//! hold in every case: same output and exit as without cutap, and every real call of a fixture (it counts them itself)
//! in the trace, no more and no fewer. This crate never looks into cutap: it knows the command line and the text, like
//! a user.

mod case;
mod counts;
mod cutap;
mod json;
mod normal;
mod process;
mod programs;
mod recording;
mod steps;

pub use case::{Case, case};
pub use counts::{Counts, read as counted, shown, summary};
pub use cutap::cutap;
pub use json::json_lines;
pub use normal::{calls_in, normal_form};
pub use process::{Finished, Scratch, finish, scratch, wait_for, without_record_line};
pub use programs::{NOT_ALONE, build, out, programs, sources};
pub use recording::blocks;
pub use steps::Steps;
