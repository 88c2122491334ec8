//! Any bytes as the files of a run directory: see `cutap_trace::made::any`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cutap_trace::made::any::folder(bytes));
