//! Rules of words that a stream writes or waits for.

use crate::abi::{Answer, Fault};
use crate::engine::Op;
use crate::host::word::{Word, WordOperation};
use crate::state::{DriverState, Work};

fn check(state: &DriverState, address: u64, size: u64) -> Answer {
    if address.is_multiple_of(size) { state.memory.require(address, size) } else { Err(Fault::INVALID_VALUE) }
}

/// The 32-bit word at an address of known memory.
pub fn half(state: &DriverState, address: u64) -> Answer<Word> {
    check(state, address, 4)?;
    // SAFETY: aligned and in an allocation. A program that frees memory which a stream uses breaks the rules of the
    // API.
    Ok(unsafe { Word::half(address) })
}

/// The 64-bit word at an address of known memory.
pub fn whole(state: &DriverState, address: u64) -> Answer<Word> {
    check(state, address, 8)?;
    // SAFETY: as in `half`.
    Ok(unsafe { Word::whole(address) })
}

/// The operation of a stream.
pub fn work(operation: &WordOperation) -> Work {
    match *operation {
        WordOperation::Write(word, value) => Work::Engine(Op::Write(word, value)),
        WordOperation::Wait(word, value, comparison) => {
            Work::Until(Box::new(move || word.satisfies(value, comparison)))
        }
    }
}
