//! Any bytes as a log of kernel calls: see the file that it includes.
#![no_main]
#![allow(dead_code)]

#[path = "../../crates/kernel/tests/any/mod.rs"]
mod any;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any::log(bytes));
