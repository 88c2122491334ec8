//! Any bytes as a file with code: see the file that it includes.
#![no_main]
#![allow(dead_code)]

#[path = "../../crates/kernel/tests/any/mod.rs"]
mod any;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any::file(bytes));
