//! The answer of every export without an implementation. Wrong arguments get the error of the real NVML. Otherwise
//! the answer is what an H200 returned for the same numbers, or NOT_SUPPORTED. A function that sets something must
//! have no effect.

use crate::clock_faults;
use crate::device::Device;
use crate::fault::{Answer as Outcome, Fault};
use crate::generated::DEFAULTS;
use crate::lifecycle;

pub struct Function {
    /// For a debugger, and for planted faults.
    pub name: &'static str,
    /// A letter for each parameter: `d` device, `n` number, `o` output, `t` buffer for text, `l` its size, `i` other
    /// pointer or handle. `v` is an output whose first word is an input, the version of the structure.
    pub kinds: &'static str,
    /// The recorded answers. Without one the function returns NOT_SUPPORTED.
    pub answers: &'static [Answer],
}

/// A recorded answer of an H200.
pub struct Answer {
    /// The numbers among the arguments. An empty list matches any numbers.
    pub numbers: &'static [u32],
    pub result: u32,
    /// The bytes of each output.
    pub out: &'static [&'static [u8]],
}

/// Called by the exports, with the number of the function and its six words.
pub extern "C" fn answer(place: u32, words: *const u64) -> u32 {
    let function = &DEFAULTS[place as usize];
    // SAFETY: the stub put six words there.
    let words = unsafe { std::slice::from_raw_parts(words, 6) };
    let params: Vec<(char, u64)> = function.kinds.chars().zip(words.iter().copied()).collect();
    match lifecycle::require_started().and_then(|()| recorded_answer(function, &params)) {
        Ok(()) => 0,
        Err(Fault(code)) => code,
    }
}

/// Writes as many words of a planted answer as the recorded one has.
fn put_planted(function: &Function, params: &[(char, u64)], words: [u32; 2]) -> Outcome {
    let recorded = function.answers.iter().find_map(|answer| answer.out.first());
    let bytes = words.map(u32::to_ne_bytes);
    let bytes = bytes.as_flattened();
    let length = recorded.map_or(0, |out| out.len()).min(bytes.len());
    if let Some((_, word)) = params.iter().find(|(kind, _)| *kind == 'o') {
        // SAFETY: by the prototype the output has room for the bytes that the real library wrote.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), *word as *mut u8, length) };
    }
    Ok(())
}

fn recorded_answer(function: &Function, params: &[(char, u64)]) -> Outcome {
    for (kind, word) in params {
        match kind {
            'd' => drop(Device::of(*word).ordinal()?),
            'o' | 'v' | 't' | 'i' if *word == 0 => return Err(Fault::INVALID_ARGUMENT),
            _ => {}
        }
    }
    let numbers: Vec<u32> = params.iter().filter(|p| p.0 == 'n').map(|p| p.1 as u32).collect();
    if let Some(planted) = clock_faults::answer(function.name, &numbers) {
        return put_planted(function, params, planted?);
    }
    if function.answers.is_empty() {
        return Err(Fault::NOT_SUPPORTED);
    }
    let is = |answer: &&Answer| answer.numbers.is_empty() || answer.numbers == numbers;
    let answer = function.answers.iter().find(is).ok_or(Fault::INVALID_ARGUMENT)?;
    if answer.result != 0 {
        return Err(Fault(answer.result));
    }
    let mut outs = answer.out.iter();
    for (at, (kind, word)) in params.iter().enumerate().filter(|(_, p)| matches!(p.0, 'o' | 'v' | 't')) {
        let Some(bytes) = outs.next() else { break };
        let to = *word as *mut u8;
        match kind {
            't' => {
                let size =
                    params.get(at + 1).filter(|p| p.0 == 'l').map_or(bytes.len() as u64, |p| u64::from(p.1 as u32));
                if (bytes.len() as u64) > size {
                    return Err(Fault::INSUFFICIENT_SIZE);
                }
            }
            'v' => {
                let mut version = [0; 4];
                // SAFETY: by the prototype a structure is there, which starts with its version.
                unsafe { std::ptr::copy_nonoverlapping(to, version.as_mut_ptr(), 4) };
                if !bytes.starts_with(&version) {
                    return Err(Fault::ARGUMENT_VERSION_MISMATCH);
                }
            }
            _ => {}
        }
        // SAFETY: by the prototype the output has room for the bytes that the real library wrote.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    }
    Ok(())
}
