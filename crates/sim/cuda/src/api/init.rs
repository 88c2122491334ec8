//! Start, version, names of results, and functions that have no effect here.

use crate::abi::{Fault, Out, answer, answer_always, lifecycle};
use crate::generated::RESULTS;
use cutap_machine::config;
use std::ffi::{CStr, CString, c_char};
use std::sync::OnceLock;

pub extern "C" fn cuInit(flags: u32) -> u32 {
    // These are initialised now. A child that is forked during a later initialisation would wait for a thread that it
    // does not have.
    config();
    words();
    answer_always(|| if flags == 0 { lifecycle::start() } else { Err(Fault::INVALID_VALUE) })
}

pub extern "C" fn cuDriverGetVersion(version: Out<i32>) -> u32 {
    answer_always(|| version.put(config().driver as i32))
}

pub extern "C" fn cuGetErrorName(result: u32, name: Out<*const c_char>) -> u32 {
    answer_always(|| match RESULTS.iter().find(|(value, _)| *value == result) {
        Some((_, text)) => name.put(text.as_ptr()),
        None => name.put(std::ptr::null()).and(Err(Fault::INVALID_VALUE)),
    })
}

/// The text is the name in lower case words: "out of memory" for CUDA_ERROR_OUT_OF_MEMORY.
pub extern "C" fn cuGetErrorString(result: u32, text: Out<*const c_char>) -> u32 {
    answer_always(|| match RESULTS.iter().position(|(value, _)| *value == result) {
        Some(at) => text.put(words()[at].as_ptr()),
        None => text.put(std::ptr::null()).and(Err(Fault::INVALID_VALUE)),
    })
}

fn words() -> &'static [CString] {
    static WORDS: OnceLock<Vec<CString>> = OnceLock::new();
    WORDS.get_or_init(|| RESULTS.iter().map(|(_, name)| in_words(name)).collect())
}

fn in_words(name: &CStr) -> CString {
    let name = name.to_str().unwrap_or_default();
    let words = name.strip_prefix("CUDA_ERROR_").map_or_else(|| "no error".to_owned(), str::to_owned);
    CString::new(words.to_lowercase().replace('_', " ")).unwrap_or_default()
}

pub extern "C" fn cuProfilerStart() -> u32 {
    answer(|| Ok(()))
}

pub extern "C" fn cuProfilerStop() -> u32 {
    answer(|| Ok(()))
}

/// The only target is the current context (0). The scope is its owner (100) or all devices (200).
pub extern "C" fn cuFlushGPUDirectRDMAWrites(target: u32, scope: u32) -> u32 {
    answer(|| if target == 0 && matches!(scope, 100 | 200) { Ok(()) } else { Err(Fault::INVALID_VALUE) })
}
