//! Any bytes as the files of a run directory: see `cutap_trace::synthetic::any`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cutap_trace::synthetic::any::folder(bytes));
