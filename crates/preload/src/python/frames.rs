//! The chain of a thread's frames, from the innermost one outwards.

use super::codes;
use super::interpreter::{self, Interpreter};
use super::memory::Memory;
use crate::process::page;
use core::mem::MaybeUninit;
use cutap_calls::python::{Field, OWNED_BY_C};
use cutap_wire::diagnostic;
use cutap_wire::python::{LAST_OF_EVALUATION, MOST_FRAMES, frame};

/// Frames of C code that are stepped over.
const MOST_OF_C: usize = 256;

/// What was read.
pub struct Read {
    /// Frames that were written.
    pub count: usize,
    /// There are more, further out.
    pub has_more: bool,
}

/// Reads this thread's frames, as `cutap_wire::python` has them. None: it has no frames, or no Python that is known.
pub fn read(words: &mut [MaybeUninit<u64>; MOST_FRAMES]) -> Option<Read> {
    let python = interpreter::interpreter()?;
    let state = python.thread_state();
    if state == 0 {
        return None;
    }
    let memory = python.memory();
    match chain(python, memory, state, words) {
        Ok(read) => {
            if !memory.is_proved && read.count > 0 {
                interpreter::made_sense();
            }
            Some(read)
        }
        Err(count) => {
            let is_wrong = interpreter::made_no_sense();
            page::count(diagnostic::PYTHON_NOT_READ, 1);
            (!is_wrong && count > 0).then_some(Read { count, has_more: true })
        }
    }
}

/// The frames. An error has those that were read before it.
fn chain(
    python: &Interpreter,
    memory: Memory,
    state: usize,
    words: &mut [MaybeUninit<u64>; MOST_FRAMES],
) -> Result<Read, usize> {
    let mut count = 0;
    let mut last = 0;
    let mut at = first(python, memory, state).ok_or(0usize)?;
    let mut steps = 0;
    while at != 0 {
        if count == MOST_FRAMES || steps == MOST_FRAMES + MOST_OF_C {
            return Ok(Read { count, has_more: true });
        }
        if python.is_ending_for(state) {
            return Ok(Read { count: 0, has_more: false });
        }
        steps += 1;
        let previous = python.field(at, Field::FramePrevious).and_then(|at| memory.address(at)).ok_or(count)?;
        let owner = match python.field(at, Field::FrameOwner) {
            Some(at) => memory.byte(at).ok_or(count)?,
            None => 0,
        };
        if owner >= OWNED_BY_C {
            // C code called the interpreter for the frames before this one.
            if let Some(word) = count.checked_sub(1).and_then(|last| words.get_mut(last)) {
                last |= LAST_OF_EVALUATION;
                word.write(last);
            }
        } else {
            last = one(python, memory, at).ok_or(count)?;
            if let Some(to) = words.get_mut(count) {
                to.write(last);
                count += 1;
            }
        }
        at = previous;
    }
    Ok(Read { count, has_more: false })
}

/// The innermost frame, 0: there is none.
fn first(python: &Interpreter, memory: Memory, state: usize) -> Option<usize> {
    let at = memory.address(python.field(state, Field::ThreadFrame)?)?;
    match python.field(at, Field::CframeFrame) {
        Some(inner) => memory.address(inner),
        None => Some(at),
    }
}

/// A frame in a word.
#[inline(always)]
fn one(python: &Interpreter, memory: Memory, at: usize) -> Option<u64> {
    // Newer versions keep marks in the lowest bits.
    let code = memory.address(python.field(at, Field::FrameCode)?)? & !7;
    if !interpreter::is_code(memory, code) {
        return None;
    }
    let offset = match (python.field(at, Field::FrameInstruction), python.field(code, Field::CodeStart)) {
        (Some(instruction), Some(start)) => memory.word(instruction)?.wrapping_sub(start as u64),
        _ => {
            let index = memory.half(python.field(at, Field::FrameIndex)?)? as i32;
            u64::try_from(index).unwrap_or(0) * u64::from(python.index_bytes)
        }
    };
    // A frame that has not begun stands before its first instruction.
    let offset = if offset as i64 >= 0 { offset } else { 0 };
    let word = frame(codes::number(python, memory, code)?, offset);
    let is_last = match python.field(at, Field::FrameEntry) {
        Some(entry) => memory.byte(entry)? != 0,
        // Before 3.11 each frame is in its function of the interpreter.
        None => python.index_bytes != 0,
    };
    Some(if is_last { word | LAST_OF_EVALUATION } else { word })
}
