//! Any bytes as a cubin: see `cutap_cudest::contents`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drop(cutap_cudest::contents(bytes)));
