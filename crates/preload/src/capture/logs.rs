//! The linker's logs: cuLinkCreate is told where they are, and later calls, which are given nothing but the linker,
//! write into them. A driver adds to them, and keeps their lengths in the option values of the first call, so that what
//! a call has added can be told. Of linkers that are there at a time some are remembered; of others nothing is told.

use super::payload::{Call, Payload};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use cutap_calls::capture::{LOG_OPTIONS, Step};

const LINKERS: usize = 64;
/// Options of a linker that are looked at.
const OPTIONS: usize = 32;

struct Log {
    buffer: AtomicU64,
    /// Where the driver keeps the log's length.
    length_at: AtomicU64,
    /// The length when it was last looked at.
    last_length: AtomicU32,
}

struct Linker {
    handle: AtomicU64,
    logs: [Log; 2],
}

static KNOWN: [Linker; LINKERS] =
    [const { Linker { handle: AtomicU64::new(0), logs: [const { Log::none() }; 2] } }; LINKERS];
static NEXT: AtomicU32 = AtomicU32::new(0);

impl Log {
    const fn none() -> Log {
        Log { buffer: AtomicU64::new(0), length_at: AtomicU64::new(0), last_length: AtomicU32::new(0) }
    }
}

/// A linker was made: its handle lies at `place`, its options in the words that the step names and in those around it.
pub fn remember_linker(payload: &Payload, step: &Step, call: &Call, place: usize) {
    let word = |offset: u16, len| payload.read(step.count_base, offset.into(), len, call);
    let keys_at = step.count;
    let count = keys_at.checked_sub(8).and_then(|at| word(at, 4)).unwrap_or(0) as usize;
    let (Some(keys), Some(values)) = (word(keys_at, 8), word(keys_at + 8, 8)) else { return };
    let count = count.min(OPTIONS);
    let (mut handle, mut names, mut option_values) = (0u64, [0u32; OPTIONS], [0u64; OPTIONS]);
    let copy = |from: usize, to: *mut u8, len: usize| {
        // SAFETY: each buffer is as long as what is copied to it.
        unsafe { payload.pages.copy(from, to, len) == len }
    };
    let whole = copy(place, (&raw mut handle).cast(), 8)
        && copy(keys as usize, names.as_mut_ptr().cast(), count * 4)
        && copy(values as usize, option_values.as_mut_ptr().cast(), count * 8);
    if !whole || handle == 0 {
        return;
    }
    let find = |option: u32| names.iter().take(count).position(|name| *name == option);
    let log = |option: u32| Some((*option_values.get(find(option)?)?, values + 8 * find(option + 1)? as u64));
    let logs = LOG_OPTIONS.map(log);
    let same = KNOWN.iter().find(|l| l.handle.load(Relaxed) == handle);
    if same.is_none() && logs == [None; 2] {
        return;
    }
    let next = || KNOWN.get(NEXT.fetch_add(1, Relaxed) as usize % LINKERS);
    let Some(linker) = same.or_else(next) else { return };
    linker.handle.store(0, Release);
    for (log, located) in linker.logs.iter().zip(logs) {
        let (buffer, length_at) = located.unwrap_or((0, 0));
        log.buffer.store(buffer, Relaxed);
        log.length_at.store(length_at, Relaxed);
        log.last_length.store(0, Relaxed);
    }
    linker.handle.store(handle, Release);
}

/// What a call has added to the log of this number of a linker.
pub fn added(payload: &mut Payload, handle: u64, which: usize, most: usize) -> Option<(u16, u16)> {
    let linker = KNOWN.iter().find(|l| l.handle.load(Acquire) == handle)?;
    let log = linker.logs.get(which)?;
    let (buffer, length_at) = (log.buffer.load(Relaxed) as usize, log.length_at.load(Relaxed) as usize);
    let mut length = 0u32;
    // SAFETY: a word of ours.
    if buffer == 0 || unsafe { payload.pages.copy(length_at, (&raw mut length).cast(), 4) } != 4 {
        return None;
    }
    let previous_length = log.last_length.swap(length, Relaxed);
    // Shorter than it was: it was begun again.
    let from = if length > previous_length { previous_length } else { 0 };
    if length == previous_length || length == 0 {
        return None;
    }
    payload.memory(buffer + from as usize, (length - from) as usize, most)
}
