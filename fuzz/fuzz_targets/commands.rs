//! Any bytes as the commands of a GPU channel: see the file that it includes.
#![no_main]
#![allow(dead_code)]

#[path = "../../crates/rm/tests/it/any.rs"]
mod any;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any::commands(bytes));
