//! What is kept of a call beside its words: the memory that its pointers lead to, as the steps of
//! `cutap_calls::capture` say. Inputs before the call, outputs after it. No meaning is looked at here;
//! what cannot be read is left out, what has no room is cut, and the reader sees both by the lengths.

mod copy;
pub mod kernels;

use crate::slots::thunks_x86_64::Frame;
use crate::start;
use crate::thread::block::Block;
use copy::{Piece, checked, gather};
use core::mem::MaybeUninit;
use cutap_calls::capture::{self, ALWAYS, COUNT64, EXIT, NONE, PROVED, RESULT, Row, Step, WORDS, kind};
use cutap_calls::generated::capture::{ROWS, STEPS};
use cutap_wire::count;
use cutap_wire::record::FRAGMENT_WORDS;

/// Words of a record that this module fills: those of the call, then fragments.
const ROOM: usize = 224;
/// Words of a call at most: registers and stack.
const CALL_WORDS: usize = 6 + 8 + 32;
/// Steps of a function at most; what lies behind is not kept.
const STEPS_MAX: usize = 24;
/// Pieces read at once.
const PIECES: usize = 64;

/// A row as a slot remembers it: its number plus one, and what there is to do.
pub mod row {
    /// Memory is kept on the way in, or words other than the integer registers.
    pub const BEFORE: u32 = 1 << 31;
    /// Memory is kept on the way out.
    pub const AFTER: u32 = 1 << 30;
    /// The row's number plus one.
    pub const NUMBER: u32 = (1 << 30) - 1;
}

/// The row of a function: `block` for the parameter block of a runtime's callback, `major` the version
/// of its library, for functions that have changed. 0: nothing is known of it.
pub fn find(name: &[u8], block: bool, major: u32) -> u32 {
    let plain = capture::extend(capture::hash(if block { b"@" } else { b"" }), name);
    let digits = [b'#', b'0' + (major / 10 % 10) as u8, b'0' + (major % 10) as u8];
    // "#9" or "#12"
    let digits = digits.iter().enumerate().filter(|&(n, _)| n != 1 || major >= 10).map(|(_, d)| *d);
    let versioned = digits.fold(plain, |h, b| capture::extend(h, &[b]));
    let at = |hash| ROWS.binary_search_by_key(&hash, |r: &Row| r.hash).ok();
    let Some(n) = at(versioned).or_else(|| at(plain)) else { return 0 };
    let Some(row) = ROWS.get(n) else { return 0 };
    let steps = capture::steps(&STEPS, row);
    let before = steps.iter().any(|s| s.flags & (EXIT | ALWAYS) == 0) || row.vectors + row.stack > 0;
    let after = steps.iter().any(|s| s.flags & (EXIT | ALWAYS) != 0);
    (n as u32 + 1) | if before { row::BEFORE } else { 0 } | if after { row::AFTER } else { 0 }
}

/// The row that a slot remembers.
#[inline(always)]
pub fn of(remembered: u32) -> Option<&'static Row> {
    ROWS.get(((remembered & row::NUMBER) as usize).wrapping_sub(1))
}

/// The words of a record being put together.
pub struct Kept {
    words: [MaybeUninit<u64>; ROOM],
    used: usize,
    /// Where the fragment of each step lies, in bytes, and how long it is.
    fragments: [(u16, u16); STEPS_MAX],
}

impl Kept {
    fn new() -> Kept {
        Kept { words: [MaybeUninit::uninit(); ROOM], used: 0, fragments: [(0, 0); STEPS_MAX] }
    }
    fn push(&mut self, word: u64) {
        if let Some(to) = self.words.get_mut(self.used) {
            to.write(word);
            self.used += 1;
        }
    }
    /// The words so far.
    pub fn words(&self) -> &[u64] {
        // SAFETY: `used` words were written, and `used` never passes the array's end.
        unsafe { core::slice::from_raw_parts(self.words.as_ptr().cast(), self.used) }
    }
    /// Bytes that a fragment may still have.
    fn room(&self) -> usize {
        (ROOM - self.used).saturating_sub(FRAGMENT_WORDS) * 8
    }
    /// Where the next fragment's bytes begin.
    fn place(&mut self) -> *mut u8 {
        self.words.as_mut_ptr().wrapping_add(self.used + FRAGMENT_WORDS).cast()
    }
    /// A fragment whose `kept` bytes already stand at [`Kept::place`].
    fn close(&mut self, address: usize, kept: usize, meant: usize) -> (u16, u16) {
        let start = self.used + FRAGMENT_WORDS;
        let words = kept.div_ceil(8);
        // The last word's unused bytes must not be what lay on the stack.
        if !kept.is_multiple_of(8)
            && let Some(last) = self.words.get_mut(start + words - 1)
        {
            let mask = (1u64 << (kept % 8 * 8)) - 1;
            // SAFETY: some of its bytes were written, and any bytes are a word.
            unsafe { last.as_mut_ptr().write(last.as_ptr().read() & mask) };
        }
        self.push(address as u64);
        self.push(kept as u64 | (meant.min(u32::MAX as usize) as u64) << 32);
        self.used = start + words;
        (start as u16 * 8, kept as u16)
    }
    /// Bytes of a fragment, or of the call's words.
    fn read(&self, base: u8, offset: usize, len: usize, call: &Call) -> Option<u64> {
        let (start, length) = match base {
            WORDS => {
                let word = call.words.get(offset / 8)?;
                return Some(word >> (offset % 8 * 8) & if len == 4 { u64::from(u32::MAX) } else { u64::MAX });
            }
            RESULT => return Some(call.result),
            step => *self.fragments.get(usize::from(step))?,
        };
        if offset + len > usize::from(length) {
            return None;
        }
        let at = self.words.as_ptr().cast::<u8>().wrapping_add(usize::from(start) + offset);
        // SAFETY: inside a fragment, which is written.
        unsafe {
            Some(if len == 4 {
                u64::from(at.cast::<u32>().read_unaligned())
            } else {
                at.cast::<u64>().read_unaligned()
            })
        }
    }
}

/// A call as the steps see it.
struct Call<'a> {
    words: &'a [u64],
    result: u64,
    /// Address of a driver's function, to find the driver by; 0 for functions of other layers.
    driver: usize,
}

/// The words of a framed call as its row says: registers, vector registers, stack.
fn words_of(frame: &Frame, row: &Row, to: &mut [u64; CALL_WORDS]) -> usize {
    let vectors = frame.xmm.iter().take(usize::from(row.vectors)).map(|&x| x as u64);
    let stack = (0..usize::from(row.stack)).map(|n| match n < frame.stack_words {
        // SAFETY: as many words as `stack_words` says can be read.
        true => unsafe { frame.stack.add(n).read() },
        false => 0,
    });
    let all = frame.args.iter().take(usize::from(row.ints)).copied().chain(vectors).chain(stack);
    let mut n = 0;
    for (to, from) in to.iter_mut().zip(all) {
        *to = from;
        n += 1;
    }
    n
}

/// On the way in: the words and the inputs of a framed call.
#[inline(never)]
pub fn before<R>(b: &mut Block, frame: &Frame, row: &Row, then: impl FnOnce(&mut Block, &[u64]) -> R) -> R {
    let mut words = [0; CALL_WORDS];
    let n = words_of(frame, row, &mut words);
    inputs(b, row, words.get(..n).unwrap_or(&[]), frame.target, then)
}

/// On the way in: `words` and the inputs behind them.
pub fn inputs<R>(
    b: &mut Block,
    row: &Row,
    words: &[u64],
    driver: usize,
    then: impl FnOnce(&mut Block, &[u64]) -> R,
) -> R {
    let mut kept = Kept::new();
    for &w in words {
        kept.push(w);
    }
    run(b, &mut kept, row, &Call { words, result: 0, driver }, 0);
    then(b, kept.words())
}

/// On the way out: the result and the outputs of a framed call.
#[inline(never)]
pub fn after<R>(b: &mut Block, frame: &Frame, row: &Row, then: impl FnOnce(&mut Block, &[u64]) -> R) -> R {
    let mut words = [0; CALL_WORDS];
    let n = words_of(frame, row, &mut words);
    let [result, _] = frame.result;
    outputs(b, row, words.get(..n).unwrap_or(&[]), result, then)
}

/// On the way out: the result and the outputs behind it.
pub fn outputs<R>(
    b: &mut Block,
    row: &Row,
    words: &[u64],
    result: u64,
    then: impl FnOnce(&mut Block, &[u64]) -> R,
) -> R {
    let mut kept = Kept::new();
    kept.push(result);
    let when = if result as u32 == 0 { EXIT | ALWAYS } else { ALWAYS };
    run(b, &mut kept, row, &Call { words, result, driver: 0 }, when);
    then(b, kept.words())
}

/// Follows the steps of one side: those with a bit of `when`, or with neither bit when it is 0.
fn run(b: &mut Block, kept: &mut Kept, row: &Row, call: &Call, when: u8) {
    for (n, step) in capture::steps(&STEPS, row).iter().enumerate().take(STEPS_MAX) {
        let side = step.flags & (EXIT | ALWAYS);
        if (when == 0) != (side == 0) || side & when != side {
            continue;
        }
        let Some(at) = kept.read(step.base, step.offset.into(), 8, call).filter(|&p| p != 0) else { continue };
        if let Some(fragment) = one(b, kept, step, call, at as usize)
            && let Some(place) = kept.fragments.get_mut(n)
        {
            *place = fragment;
        }
    }
}

fn elements(kept: &Kept, step: &Step, call: &Call) -> usize {
    match step.count_base {
        NONE => usize::from(step.count),
        base => {
            let long = step.flags & COUNT64 != 0;
            kept.read(base, step.count.into(), if long { 8 } else { 4 }, call).unwrap_or(0) as usize
        }
    }
}

/// One step; its fragment.
fn one(b: &mut Block, kept: &mut Kept, step: &Step, call: &Call, at: usize) -> Option<(u16, u16)> {
    let most = usize::from(step.most).min(kept.room());
    match step.kind {
        kind::MEMORY => {
            let meant = elements(kept, step, call).saturating_mul(step.size.into());
            memory(kept, at, meant, most, step.flags & PROVED != 0)
        }
        kind::TEXT => text(kept, at, most),
        kind::TEXTS => pointers(kept, step, call, at, |kept, at, _| text(kept, at, 256.min(kept.room()))),
        kind::POINTERS => pointers(kept, step, call, at, |kept, at, size| {
            let room = kept.room();
            memory(kept, at, size, room, false)
        }),
        kind::KERNEL_PARAMS => {
            let function = kept.read(step.count_base, step.count.into(), 8, call)?;
            let known = if call.driver == 0 { None } else { kernels::parameters(b, function, call.driver) };
            if known.is_none() && call.driver != 0 {
                start::count(count::PARAMETERS_UNKNOWN, 1);
            }
            kernel(kept, known?, at)
        }
        kind::EXTRA => extra(kept, at),
        _ => None,
    }
}

fn memory(kept: &mut Kept, at: usize, meant: usize, most: usize, proved: bool) -> Option<(u16, u16)> {
    let len = meant.min(most);
    if len == 0 {
        return None;
    }
    let to = kept.place();
    let got = if proved {
        for i in 0..len {
            // SAFETY: the function has just written these bytes; the room was asked for.
            unsafe { to.add(i).write((at as *const u8).add(i).read_volatile()) };
        }
        len
    } else {
        // SAFETY: `len` bytes of room.
        unsafe { checked(at, to, len) }
    };
    (got > 0).then(|| kept.close(at, got, meant))
}

/// Text up to and with its zero. With none in sight it is cut: what is meant is more than what is kept.
fn text(kept: &mut Kept, at: usize, most: usize) -> Option<(u16, u16)> {
    let to = kept.place();
    // SAFETY: `most` bytes of room.
    let got = unsafe { checked(at, to, most) };
    // SAFETY: so many bytes were written.
    let bytes = unsafe { core::slice::from_raw_parts(to, got) };
    let (len, meant) = match bytes.iter().position(|&c| c == 0) {
        Some(zero) => (zero + 1, zero + 1),
        None => (got, got + 1),
    };
    (got > 0).then(|| kept.close(at, len, meant))
}

/// An array of pointers, then what each leads to.
fn pointers(
    kept: &mut Kept,
    step: &Step,
    call: &Call,
    at: usize,
    each: impl Fn(&mut Kept, usize, usize) -> Option<(u16, u16)>,
) -> Option<(u16, u16)> {
    let n = elements(kept, step, call);
    let most = usize::from(step.most).min(kept.room());
    let array = memory(kept, at, n.saturating_mul(8), most, false)?;
    let (start, length) = array;
    for i in 0..usize::from(length) / 8 {
        let p = kept.words.as_ptr().cast::<u8>().wrapping_add(usize::from(start) + i * 8).cast::<usize>();
        // SAFETY: inside the fragment just written.
        let p = unsafe { p.read_unaligned() };
        if p != 0 && kept.room() > 0 {
            each(kept, p, step.size.into());
        }
    }
    Some(array)
}

/// A kernel's parameters, each at its own pointer, as the buffer that the kernel sees.
fn kernel(kept: &mut Kept, known: &[kernels::Parameter], at: usize) -> Option<(u16, u16)> {
    let n = known.len().min(PIECES);
    let mut pointers = [0usize; PIECES];
    // SAFETY: room for `n` pointers.
    if n == 0 || unsafe { checked(at, pointers.as_mut_ptr().cast(), n * 8) } != n * 8 {
        return None;
    }
    let mut pieces = [Piece { at: 0, len: 0 }; PIECES];
    let room = kept.room();
    let (mut len, mut used) = (0, 0);
    for ((piece, &at), p) in pieces.iter_mut().zip(&pointers).zip(known) {
        let size = p.size();
        if len + size > room {
            break;
        }
        *piece = Piece { at, len: size };
        len += size;
        used += 1;
    }
    let to = kept.place();
    // Parameters lie one behind the other here, without the gaps that alignment makes: the reader knows
    // their sizes.
    // SAFETY: `len` bytes of room.
    let got = unsafe { gather(pieces.get(..used).unwrap_or(&[]), to, len) };
    (got > 0).then(|| kept.close(at, got, known.iter().map(|p| p.size()).sum()))
}

/// CU_LAUNCH_PARAM_*: pairs of a key and a value, up to a zero; and the buffer of the size they say.
fn extra(kept: &mut Kept, at: usize) -> Option<(u16, u16)> {
    const POINTER: usize = 1;
    const SIZE: usize = 2;
    let mut list = [0usize; 5];
    // SAFETY: five words of room.
    let got = unsafe { checked(at, list.as_mut_ptr().cast(), size_of_val(&list)) } / 8;
    let (mut buffer, mut size_at) = (0, 0);
    for pair in list.get(..got)?.chunks_exact(2) {
        match *pair {
            [POINTER, p] => buffer = p,
            [SIZE, p] => size_at = p,
            _ => break,
        }
    }
    let whole = memory(kept, at, size_of_val(&list), kept.room(), false)?;
    let (start, length) = memory(kept, size_at, 8, kept.room(), false)?;
    if length == 8 {
        let p = kept.words.as_ptr().cast::<u8>().wrapping_add(start.into()).cast::<usize>();
        // SAFETY: eight bytes of the fragment just written.
        let size = unsafe { p.read_unaligned() };
        let room = kept.room();
        memory(kept, buffer, size, room, false);
    }
    Some(whole)
}
