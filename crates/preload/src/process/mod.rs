//! This process as the run directory sees it: what is wanted, and where its own files are. The process folder is made
//! at the first thing worth saying, which the loaded driver is, so a program without CUDA leaves no trace but a number
//! in the control page.
//!
//! With no run directory, or one that makes no sense, everything here says no, and the program runs as
//! if we were not there.

pub mod armed;
pub mod capture_windows;
pub mod captures;
pub mod clock;
pub mod copy;
pub mod dump;
pub mod environment;
pub mod folder;
pub mod fork;
pub mod identity;
pub mod injection;
pub mod names;
pub mod names_file;
pub mod own;
pub mod page;
pub mod path;
pub mod run;
pub mod segments;
pub mod state;
pub mod switch;
pub mod vfork_word;
