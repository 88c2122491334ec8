//! Errors, waiting, and the check for a fork: what every other folder uses.

pub mod error;
pub mod fork;
pub mod wait;
