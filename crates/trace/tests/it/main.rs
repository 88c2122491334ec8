//! Runs written by the writers of `cutap-wire`, read while they are written and after.

mod bytes;
mod common;
mod damage;
mod files;
mod fuzz;
mod names;
mod pairing;
