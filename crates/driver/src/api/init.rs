//! Start, version, names of results, and functions that have no effect here.

use crate::abi::{Fault, Out, answer, answer_always, lifecycle};
use crate::driver::device;
use crate::generated::RESULTS;
use crate::host::injection;
use cutap_machine::config;
use std::ffi::{CStr, c_char};

pub extern "C" fn cuInit(flags: u32) -> u32 {
    answer_always(|| {
        if flags != 0 {
            return Err(Fault::INVALID_VALUE);
        }
        if lifecycle::is_new() {
            device::choose()?;
        }
        lifecycle::start()?;
        injection::load();
        Ok(())
    })
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
        Some(at) => text.put(WORDS[at].as_ptr().cast()),
        None => text.put(std::ptr::null()).and(Err(Fault::INVALID_VALUE)),
    })
}

/// Bytes of the longest text with its zero.
const LONGEST: usize = 64;

/// The text of each result. It is made when the driver is compiled: a text that is made at the first call needs a lock.
static WORDS: [[u8; LONGEST]; RESULTS.len()] = {
    let mut all = [[0; LONGEST]; RESULTS.len()];
    let mut at = 0;
    while at < RESULTS.len() {
        all[at] = in_words(RESULTS[at].1);
        at += 1;
    }
    all
};

const fn in_words(name: &CStr) -> [u8; LONGEST] {
    let name = name.to_bytes();
    let name = match name.split_first_chunk::<11>() {
        Some((b"CUDA_ERROR_", rest)) => rest,
        _ => b"no error",
    };
    let mut text = [0; LONGEST];
    let mut at = 0;
    while at < name.len() {
        text[at] = if name[at] == b'_' { b' ' } else { name[at].to_ascii_lowercase() };
        at += 1;
    }
    assert!(at < LONGEST);
    text
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
