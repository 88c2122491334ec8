//! Any bytes as a recording of calls to the kernel driver: see the file that it includes.
#![no_main]

#[path = "../../crates/report/tests/it/any.rs"]
mod any;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any::recording(bytes));
