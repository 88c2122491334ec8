//! The steps of a function, followed one by one: each reads a pointer and keeps what it leads to.

use super::payload::{Call, Payload, STEPS_MAX};
use super::{handles, kernels, logs};
use crate::process::copy::words;
use crate::process::page;
use crate::ring::thread_state::ThreadState;
use crate::sys::arch::load8;
use core::mem::MaybeUninit;
use cutap_calls::capture::{self, ALWAYS, COUNT64, ELSE, EXIT, MORE, NONE, PARAMETERS, RETURNED, Step, WORDS, kind};
use cutap_wire::diagnostic;
use cutap_wire::record::FRAGMENT_WORDS;

/// Follows the steps of one side: those with a bit of `when`, or with neither bit when it is 0.
pub fn run(thread_state: &mut ThreadState, payload: &mut Payload, steps: &[Step], call: &Call, when: u8) {
    let mut kept_before = false;
    for (n, step) in steps.iter().enumerate().take(STEPS_MAX) {
        let side = step.flags & (EXIT | ALWAYS);
        let skipped = step.flags & ELSE != 0 && kept_before;
        if (when == 0) != (side == 0) || side & when != side || skipped {
            continue;
        }
        kept_before = false;
        match step.kind {
            kind::KERNELS => {
                kernels_of(thread_state, payload, step, call);
                continue;
            }
            kind::FLOATS => {
                floats(payload, call);
                continue;
            }
            _ => {}
        }
        let Some(at) = payload.read(step.base, step.offset.into(), 8, call).filter(|&p| p != 0) else { continue };
        if let Some(fragment) = one(thread_state, payload, step, call, at as usize) {
            payload.set_fragment(n, fragment);
            kept_before = true;
        }
    }
}

fn elements(payload: &Payload, step: &Step, call: &Call) -> usize {
    match step.count_base {
        NONE => usize::from(step.count),
        base => {
            let long = step.flags & COUNT64 != 0;
            let more = usize::from(step.flags & MORE != 0);
            let read = payload.read(base, step.count.into(), if long { 8 } else { 4 }, call);
            read.map_or(0, |n| (n as usize).saturating_add(more))
        }
    }
}

/// One step; its fragment.
fn one(
    thread_state: &mut ThreadState,
    payload: &mut Payload,
    step: &Step,
    call: &Call,
    at: usize,
) -> Option<(u16, u16)> {
    let most = usize::from(step.most).min(payload.room());
    match step.kind {
        kind::MEMORY => {
            let length = elements(payload, step, call).saturating_mul(step.size.into());
            payload.memory(at, length, most)
        }
        kind::PRESENT => payload.pages.present(at).then(|| payload.close(at, 0, 1)),
        kind::TEXT => text(payload, at, most),
        kind::TEXTS => pointers(payload, step, call, at, |payload, at, _| text(payload, at, 256.min(payload.room()))),
        kind::POINTERS => pointers(payload, step, call, at, |payload, at, size| {
            let room = payload.room();
            payload.memory(at, size, room)
        }),
        kind::KERNEL_PARAMS => {
            let function = payload.read(step.count_base, step.count.into(), 8, call)?;
            // In a struct the word may be another field of a union.
            let handle = step.base == WORDS || handles::is_known(function);
            if call.driver == 0 || function == 0 || !handle {
                return None;
            }
            let room = payload.room();
            kernel(payload, parameters(thread_state, function, call)?, at, room)
        }
        kind::EXTRA => extra(payload, at),
        kind::LOGS => {
            logs::remember_linker(payload, step, call, at);
            None
        }
        kind::LOG => logs::added(payload, at as u64, step.count.into(), most),
        _ => None,
    }
}

/// What the call returned in vector registers.
fn floats(payload: &mut Payload, call: &Call) {
    let len = size_of_val(&call.floats);
    if payload.room() >= len {
        // SAFETY: there is room, and words have no alignment to keep.
        unsafe { payload.place().cast::<[u64; 2]>().write_unaligned(call.floats) };
        payload.close(RETURNED as usize, len, len);
    }
}

/// The table of a kernel's parameters; that there is none is counted.
fn parameters(thread_state: &mut ThreadState, function: u64, call: &Call) -> Option<&'static [kernels::Parameter]> {
    let layout = kernels::parameters(thread_state, function, call.driver);
    if layout.is_none() {
        page::count(diagnostic::PARAMETERS_UNKNOWN, 1);
    }
    layout
}

/// Parameters of each launch that the structs in a fragment describe; all have the same share of the room.
fn kernels_of(thread_state: &mut ThreadState, payload: &mut Payload, step: &Step, call: &Call) {
    let size = usize::from(step.size).max(1);
    let read = |payload: &Payload, n: usize, at: u16| payload.read(step.base, n * size + usize::from(at), 8, call);
    let launches = (0..).take_while(|n| read(payload, *n, step.offset).is_some()).count();
    let mut budget = usize::from(step.most).min(payload.room());
    for n in 0..launches {
        let (Some(at), Some(function)) = (read(payload, n, step.offset), read(payload, n, step.count)) else { return };
        if at == 0 || function == 0 || call.driver == 0 {
            continue;
        }
        let Some(layout) = parameters(thread_state, function, call) else { continue };
        let before = payload.room();
        let share = (budget / (launches - n)).saturating_sub(FRAGMENT_WORDS * 8).min(before) / 8 * 8;
        kernel(payload, layout, at as usize, share);
        budget -= (before - payload.room()).min(budget);
    }
}

/// Text up to and with its zero. With none in sight it is cut: what is meant is more than what is kept.
fn text(payload: &mut Payload, at: usize, most: usize) -> Option<(u16, u16)> {
    let to = payload.place();
    // SAFETY: `most` bytes of room.
    let got = unsafe { payload.pages.copy(at, to, most) };
    // SAFETY: so many bytes were written.
    let bytes = unsafe { core::slice::from_raw_parts(to, got) };
    let (len, full_length) = match bytes.iter().position(|&c| c == 0) {
        Some(zero) => (zero + 1, zero + 1),
        None => (got, got + 1),
    };
    (got > 0).then(|| payload.close(at, len, full_length))
}

/// An array of pointers, then what each leads to.
fn pointers(
    payload: &mut Payload,
    step: &Step,
    call: &Call,
    at: usize,
    each: impl Fn(&mut Payload, usize, usize) -> Option<(u16, u16)>,
) -> Option<(u16, u16)> {
    let n = elements(payload, step, call);
    let most = usize::from(step.most).min(payload.room());
    let array = payload.memory(at, n.saturating_mul(8), most)?;
    let (start, length) = array;
    for i in 0..usize::from(length) / 8 {
        let Some(p) = payload.word(usize::from(start) + i * 8) else { break };
        if p != 0 && payload.room() > 0 {
            each(payload, p, step.size.into());
        }
    }
    Some(array)
}

/// A kernel's parameters, each at its own pointer: one behind the other here, without the gaps that
/// alignment makes, for the reader knows their sizes.
fn kernel(payload: &mut Payload, known: &[kernels::Parameter], at: usize, room: usize) -> Option<(u16, u16)> {
    let n = known.len().min(PARAMETERS);
    if n == known.len()
        && let Some(got) = usual_kernel(payload, known, at, room)
    {
        return Some(payload.close(at, got, got));
    }
    let mut pointers = [MaybeUninit::<usize>::uninit(); PARAMETERS];
    // SAFETY: room for `n` pointers.
    if n == 0 || unsafe { payload.pages.copy(at, pointers.as_mut_ptr().cast(), n * 8) } != n * 8 {
        return None;
    }
    // SAFETY: so many were copied.
    let pointers = unsafe { core::slice::from_raw_parts(pointers.as_ptr().cast::<usize>(), n) };
    let to = payload.place();
    // A parameter may be larger than a record: of each the beginning is kept, so that none hides those behind it.
    let cut = capture::cut(known.iter().map(|p| p.size()), room);
    let mut got = 0;
    for (p, &at) in known.iter().zip(pointers) {
        let size = p.size().min(cut).min(room - got);
        // SAFETY: there is room behind what was copied.
        let part = unsafe { payload.pages.copy(at, to.add(got), size) };
        got += part;
        if part != p.size().min(cut) {
            // Where one ends could not be told of those that were cut.
            got = if cut == usize::MAX { got } else { 0 };
            break;
        }
    }
    (got > 0).then(|| payload.close(at, got, known.iter().map(|p| p.size()).sum()))
}

/// The same where all of it lies on the caller's stack, as compilers put it, and has room: how many bytes there are.
#[inline(always)]
fn usual_kernel(payload: &mut Payload, known: &[kernels::Parameter], at: usize, room: usize) -> Option<usize> {
    let to = payload.place();
    let mut got = 0;
    if known.is_empty() || !payload.pages.on_stack(at, known.len() * 8) {
        return None;
    }
    for (n, p) in known.iter().enumerate() {
        // SAFETY: the array lies on this thread's stack.
        let (from, size) = (unsafe { load8(at + n * 8) } as usize, p.size());
        if size > room - got || !payload.pages.on_stack(from, size) {
            return None;
        }
        // SAFETY: so does the parameter; there is room behind what was copied.
        unsafe { words(from as *const u8, to.add(got), size) };
        got += size;
    }
    Some(got)
}

/// CU_LAUNCH_PARAM_*: pairs of a key and a value, up to a zero; and the buffer of the size they say.
fn extra(payload: &mut Payload, at: usize) -> Option<(u16, u16)> {
    const POINTER: usize = 1;
    const SIZE: usize = 2;
    let mut list = [0usize; 5];
    // SAFETY: five words of room.
    let got = unsafe { payload.pages.copy(at, list.as_mut_ptr().cast(), size_of_val(&list)) } / 8;
    let (mut buffer, mut size_at) = (0, 0);
    for pair in list.get(..got)?.chunks_exact(2) {
        match *pair {
            [POINTER, p] => buffer = p,
            [SIZE, p] => size_at = p,
            _ => break,
        }
    }
    let whole = payload.memory(at, size_of_val(&list), payload.room())?;
    let (start, length) = payload.memory(size_at, 8, payload.room())?;
    if length == 8 {
        let size = payload.word(start.into()).unwrap_or(0);
        let room = payload.room();
        payload.memory(buffer, size, room);
    }
    Some(whole)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::process::copy::Pages;
    use crate::sys::stack::Stack;
    use cutap_calls::capture::RESULT;
    use cutap_wire::record::Fragments;

    const STEP: Step =
        Step { kind: kind::MEMORY, flags: 0, base: WORDS, count_base: NONE, offset: 0, count: 1, size: 8, most: 64 };

    /// What the steps keep, as (address, bytes meant, bytes).
    fn fragments(steps: &[Step], words: &[u64], when: u8) -> std::vec::Vec<(u64, u32, std::vec::Vec<u8>)> {
        let mut payload = Payload::new(Pages::new(0, &mut Stack::none()), words.len());
        // SAFETY: zeros are a valid thread state; no step here asks a driver.
        let mut thread_state = unsafe { std::boxed::Box::<ThreadState>::new_zeroed().assume_init() };
        let call = Call { words: [words, &[]], result: 0, floats: [0; 2], driver: 0 };
        run(&mut thread_state, &mut payload, steps, &call, when);
        let bytes: std::vec::Vec<u8> = payload.words().iter().flat_map(|w| w.to_le_bytes()).collect();
        Fragments::new(&bytes).map(|f| (f.address, f.full_length, f.bytes.to_vec())).collect()
    }
    fn at<T: ?Sized>(value: &T) -> u64 {
        core::ptr::from_ref(value).cast::<u8>() as u64
    }

    #[test]
    fn memory_by_a_count_that_stands_elsewhere() {
        let array = [1u32, 2, 3, 4];
        let count = 3u64;
        let pointer_to_count = Step { offset: 8, ..STEP };
        let elements = Step { count_base: 0, count: 0, size: 4, flags: COUNT64, ..STEP };
        let payload = fragments(&[pointer_to_count, elements], &[at(&array), at(&count)], 0);
        assert_eq!(payload[0], (at(&count), 8, 3u64.to_le_bytes().to_vec()));
        assert_eq!((payload[1].0, payload[1].1, payload[1].2.len()), (at(&array), 12, 12));
    }

    #[test]
    fn one_element_more_than_the_count() {
        let rows = [0u32, 2, 4];
        let step = Step { count_base: WORDS, count: 8, size: 4, flags: MORE, ..STEP };
        let payload = fragments(&[step], &[at(&rows), 2], 0);
        assert_eq!((payload[0].1, payload[0].2.as_slice()), (12, [0, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0].as_slice()));
        // Of a count that cannot be there is nothing more.
        let unread = Step { count: 64, ..step };
        assert_eq!(fragments(&[unread], &[at(&rows), 2], 0), []);
    }

    #[test]
    fn what_is_longer_than_allowed_is_cut_and_says_so() {
        let array = [7u8; 500];
        let payload = fragments(&[Step { size: 1, count: 500, ..STEP }], &[at(&array)], 0);
        assert_eq!((payload[0].1, payload[0].2.len()), (500, 64));
    }

    #[test]
    fn an_absurd_count_and_bad_pointers_are_safe() {
        let value = 5u64;
        let many = Step { count_base: WORDS, count: 8, flags: COUNT64, ..STEP };
        let payload = fragments(&[many], &[at(&value), u64::MAX], 0);
        assert!(payload.iter().all(|k| k.2.len() <= 64));
        for bad in [0, 1, 0xffff_ffff_ffff_f000, 0x8000_0000_0000, u64::MAX] {
            let text = Step { kind: kind::TEXT, ..STEP };
            let texts = Step { kind: kind::TEXTS, count: 3, ..STEP };
            let extra = Step { kind: kind::EXTRA, ..STEP };
            assert_eq!(fragments(&[STEP, text, texts, extra], &[bad], 0), []);
        }
    }

    #[test]
    fn texts_end_at_their_zero() {
        let words = [at(b"one\0x"), 0, at(b"two\0")];
        let payload = fragments(&[Step { kind: kind::TEXTS, count: 3, ..STEP }], &[at(&words)], 0);
        assert_eq!((payload[1].2.as_slice(), payload[2].2.as_slice()), (&b"one\0"[..], &b"two\0"[..]));
    }

    #[test]
    fn sides() {
        let value = 5u64;
        let out = Step { flags: EXIT, ..STEP };
        let always = Step { flags: ALWAYS, ..STEP };
        let words = [at(&value)];
        let n = |when| fragments(&[STEP, out, always], &words, when).len();
        assert_eq!((n(0), n(EXIT | ALWAYS), n(ALWAYS)), (1, 2, 1));
        let result = Step { base: RESULT, ..always };
        assert_eq!(fragments(&[result], &words, ALWAYS), [], "a NULL result is not followed");
    }

    #[test]
    fn one_step_or_the_other() {
        let count = 2u64;
        let array = [1u64, 2];
        let of_count = Step { count_base: 0, count: 0, offset: 8, flags: COUNT64, ..STEP };
        let fixed = Step { count: 1, offset: 8, flags: ELSE, ..STEP };
        let lengths = |words: &[u64]| {
            let payload = fragments(&[STEP, of_count, fixed], words, 0);
            payload.iter().filter(|k| k.0 == at(&array)).map(|k| k.2.len()).sum::<usize>()
        };
        assert_eq!((lengths(&[at(&count), at(&array)]), lengths(&[0, at(&array)])), (16, 8));
    }

    #[test]
    fn extra_leads_to_the_buffer() {
        let buffer = [1u8, 2, 3, 4, 5];
        let size = 5u64;
        let list = [1, at(&buffer), 2, at(&size), 0];
        let payload = fragments(&[Step { kind: kind::EXTRA, ..STEP }], &[at(&list)], 0);
        assert_eq!(payload.len(), 3);
        assert_eq!((payload[2].0, payload[2].2.as_slice()), (at(&buffer), &buffer[..]));
    }
}
