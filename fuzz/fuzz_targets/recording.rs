//! Any bytes as a recording: see `cutap_trace::synthetic::any`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cutap_trace::synthetic::any::recording(bytes));
