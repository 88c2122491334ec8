//! The answer of every export that is not written by hand: its arguments are looked at, and what is wrong is said as NVML
//! says it; then what an H200 answered to these numbers, else NOT_SUPPORTED. A function that sets something is never done.

use crate::device::Device;
use crate::fault::{Answer as Outcome, Fault};
use crate::generated::DEFAULTS;
use crate::lifecycle;

/// An export.
pub struct Function {
    /// Its name, for a debugger.
    #[allow(dead_code)]
    pub name: &'static str,
    /// A letter for each parameter: `d` a device, `n` a number, `o` an output, `v` an output whose first word is given, and is
    /// a version, `t` a buffer for text, `l` its size, `i` another pointer or handle.
    pub kinds: &'static str,
    /// What was recorded; empty: nothing but NOT_SUPPORTED.
    pub answers: &'static [Answer],
}

/// What an H200 said.
pub struct Answer {
    /// The numbers given; none: any.
    pub given: &'static [u32],
    pub result: u32,
    /// The bytes of each output.
    pub out: &'static [&'static [u8]],
}

/// Called by the exports themselves, with the number of the function and its six words.
pub extern "C" fn answer(place: u32, words: *const u64) -> u32 {
    let function = &DEFAULTS[place as usize];
    // SAFETY: the stub put six words there.
    let words = unsafe { std::slice::from_raw_parts(words, 6) };
    let params: Vec<(char, u64)> = function.kinds.chars().zip(words.iter().copied()).collect();
    match lifecycle::require_started().and_then(|()| told(function, &params)) {
        Ok(()) => 0,
        Err(Fault(code)) => code,
    }
}

fn told(function: &Function, params: &[(char, u64)]) -> Outcome {
    for (kind, word) in params {
        match kind {
            'd' => drop(Device::of(*word).ordinal()?),
            'o' | 'v' | 't' | 'i' if *word == 0 => return Err(Fault::INVALID_ARGUMENT),
            _ => {}
        }
    }
    if function.answers.is_empty() {
        return Err(Fault::NOT_SUPPORTED);
    }
    let given: Vec<u32> = params.iter().filter(|p| p.0 == 'n').map(|p| p.1 as u32).collect();
    let is = |answer: &&Answer| answer.given.is_empty() || answer.given == given;
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
                // SAFETY: by the prototype a struct lies there, which begins with its version.
                unsafe { std::ptr::copy_nonoverlapping(to, version.as_mut_ptr(), 4) };
                if !bytes.starts_with(&version) {
                    return Err(Fault::ARGUMENT_VERSION_MISMATCH);
                }
            }
            _ => {}
        }
        // SAFETY: by the prototype there is room for what the real library wrote there.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    }
    Ok(())
}
