//! Runs written by the writers of `cutap-wire`, read while they are written and after.

mod bytes;
mod common;
mod files;
mod fuzz;
mod names;
mod pairing;
