//! The run directory as this process sees it: what is wanted, and where its own files are. The process folder is made
//! at the first thing worth saying, which the loaded driver is, so a program without CUDA leaves no trace but a number
//! in the control page.
//!
//! With no run directory, or one that makes no sense, everything here says no, and the program runs as
//! if we were not there.

pub mod announce;
pub mod armed;
pub mod begin;
pub mod dump;
pub mod environment;
pub mod forked;
pub mod forks;
mod identity;
pub mod names;
mod names_file;
mod object_names;
mod other_libc;
pub mod own;
pub mod page;
pub mod path;
pub mod process;
pub mod run;
pub mod sandbox;
mod sanitizer;
mod segments;
mod state;
pub mod switch;
