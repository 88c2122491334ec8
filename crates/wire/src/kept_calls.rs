//! Calls of a ring that are copied to another ring, because later calls depend on them: a flight recorder copies them
//! before it writes over their chunk. The records stay as they are, except that calls have other numbers in the ring
//! that receives them. So distances between calls are written anew.

use crate::record::{COMMITTED, FAR_PARENT, META_MAX, NO_PARENT, first_word, kind, sub_kind};
use crate::rows;

/// Calls that can be open at a time.
const DEPTH: usize = 64;
/// The distance to the parent, in the second word of an enter record.
const PARENT_AT: u32 = 48;

/// A call that began and whose end was not copied yet: its number in either ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OpenCall {
    source: u32,
    copy: u32,
}

/// Where the copies of one ring stand. All zero: at the beginning.
#[derive(Debug)]
pub struct KeptCalls {
    open: [OpenCall; DEPTH],
    depth: usize,
    /// The thread of the last record that was copied.
    tid: u32,
    /// Calls that were copied.
    calls: u32,
}

/// A chunk that is copied from.
#[derive(Debug, Clone, Copy)]
pub struct SourceChunk<'a> {
    /// The words of its records.
    pub words: &'a [u64],
    /// Enter records of its ring before it.
    pub first_call: u32,
    /// When it was opened.
    pub base_ticks: u64,
    /// Its thread.
    pub tid: u32,
}

/// A record for the ring that receives the copies: these parts, one behind the other.
#[derive(Debug, Clone, Copy)]
pub struct CopiedRecord<'a> {
    /// Its kind.
    pub kind: u8,
    /// The first word, not committed.
    pub first: u64,
    /// The second one, if it has more than one.
    pub second: Option<u64>,
    /// What follows.
    pub rest: &'a [u64],
}

impl CopiedRecord<'_> {
    /// Words in all.
    pub fn words(&self) -> u32 {
        (self.first >> 5 & 0xff) as u32
    }
}

/// What receives the copies.
pub trait KeptCallsSink {
    /// Whether a call of this slot that began then is to be copied.
    fn wants(&mut self, slot: u32, ticks: u64) -> bool;
    /// Takes a record of this time, of this thread, behind the whole time if the record before it is too far away.
    /// False: it has no room.
    fn put(&mut self, record: &CopiedRecord<'_>, ticks: u64, tid: u32) -> bool;
}

impl Default for KeptCalls {
    fn default() -> KeptCalls {
        KeptCalls { open: [OpenCall { source: 0, copy: 0 }; DEPTH], depth: 0, tid: 0, calls: 0 }
    }
}

impl KeptCalls {
    /// Copies what is wanted of a chunk; how many calls were wanted and found no room.
    pub fn copy(&mut self, chunk: SourceChunk<'_>, sink: &mut impl KeptCallsSink) -> u32 {
        let (mut rest, mut calls, mut last, mut tid) = (chunk.words, chunk.first_call, chunk.base_ticks, chunk.tid);
        let mut lost = 0;
        self.owner(tid);
        while let Some(&first) = rest.first() {
            let length = (first >> 5 & 0xff) as usize;
            let Some((record, behind)) = rest.split_at_checked(length).filter(|_| length > 0) else { break };
            rest = behind;
            let (of, meta) = ((first & 0xf) as u8, (first >> 13) as u32 & META_MAX);
            calls = calls.wrapping_add(u32::from(of == kind::ENTER));
            if first & COMMITTED == 0 {
                continue;
            }
            if of == kind::TIME {
                last = record.get(1).copied().unwrap_or(last);
                continue;
            }
            let step = ((first >> 32) as u32).wrapping_sub(last as u32) as i32;
            last = last.wrapping_add_signed(i64::from(step));
            match of {
                kind::ENTER if meta != META_MAX => {
                    let number = calls.wrapping_sub(1);
                    self.left_before(number, record);
                    if sink.wants(meta, last) && !self.enter(record, number, last, tid, sink) {
                        lost += 1;
                    }
                }
                kind::EXIT | kind::EXIT_OUTPUT | kind::UNWOUND | kind::NOTE | kind::STACK | kind::MEMORY => {
                    self.about_call(record, of, meta, calls.wrapping_sub(1), last, tid, sink);
                }
                kind::THREAD => {
                    tid = record.get(1).map_or(tid, |tid| *tid as u32);
                    self.owner(tid);
                }
                // There are few, and they say how the collection of all other rows is.
                kind::EXTENDED if sub_kind::of(meta) == rows::STATE => {
                    if let [first, second, rest @ ..] = record {
                        let (first, second) = (first & !COMMITTED, Some(*second));
                        sink.put(&CopiedRecord { kind: of, first, second, rest }, last, tid);
                    }
                }
                _ => {}
            }
        }
        lost
    }

    /// The ring has a new owner; the calls of the one before will not end.
    fn owner(&mut self, tid: u32) {
        if self.tid != tid {
            self.depth = 0;
        }
    }

    /// Forgets the calls that were left before this one began: those that began behind its parent.
    fn left_before(&mut self, number: u32, record: &[u64]) {
        let back = (record.get(1).copied().unwrap_or(0) >> PARENT_AT) as u16;
        while let Some(top) = self.depth.checked_sub(1).and_then(|top| self.open.get(top)) {
            let distance = number.wrapping_sub(top.source);
            if back == FAR_PARENT || back != NO_PARENT && distance >= u32::from(back) {
                break;
            }
            self.depth -= 1;
        }
    }

    fn enter(&mut self, record: &[u64], source: u32, ticks: u64, tid: u32, sink: &mut impl KeptCallsSink) -> bool {
        let (copy, above) = (self.calls, self.depth.checked_sub(1).and_then(|top| self.open.get(top)));
        let back = above.map_or(NO_PARENT, |above| {
            u16::try_from(copy.wrapping_sub(above.copy)).unwrap_or(FAR_PARENT)
        });
        let [first, second, rest @ ..] = record else { return true };
        let caller = second & ((1 << PARENT_AT) - 1);
        if self.depth >= DEPTH {
            return false;
        }
        if self.tid != tid {
            let first = first_word(kind::THREAD, 2, 0, ticks as u32);
            let thread = CopiedRecord { kind: kind::THREAD, first, second: Some(tid.into()), rest: &[] };
            if self.calls > 0 && !sink.put(&thread, ticks, tid) {
                return false;
            }
            self.tid = tid;
        }
        let second = Some(caller | u64::from(back) << PARENT_AT);
        let copied = CopiedRecord { kind: kind::ENTER, first: first & !COMMITTED, second, rest };
        if !sink.put(&copied, ticks, tid) {
            return false;
        }
        self.calls = copy.wrapping_add(1);
        if let Some(place) = self.open.get_mut(self.depth) {
            *place = OpenCall { source, copy };
            self.depth += 1;
        }
        true
    }

    /// A record that says how many calls ago its own began.
    #[expect(clippy::too_many_arguments, reason = "all of them are facts of one record")]
    fn about_call(
        &mut self,
        record: &[u64],
        of: u8,
        meta: u32,
        newest: u32,
        ticks: u64,
        tid: u32,
        sink: &mut impl KeptCallsSink,
    ) {
        let far = meta == META_MAX;
        let number = if far { record.last().map_or(0, |n| *n as u32) } else { newest.wrapping_sub(meta) };
        let open = self.open.get(..self.depth).unwrap_or(&[]);
        let Some(at) = open.iter().rposition(|call| call.source == number) else { return };
        let copy = open.get(at).map_or(0, |call| call.copy);
        let body = record.get(1..record.len() - usize::from(far)).unwrap_or(&[]);
        let back = self.calls.wrapping_sub(1).wrapping_sub(copy);
        if back < META_MAX {
            let first = first_word(of, 1 + body.len() as u32, back, ticks as u32);
            let (second, rest) = body.split_first().map_or((None, body), |(second, rest)| (Some(*second), rest));
            sink.put(&CopiedRecord { kind: of, first, second, rest }, ticks, tid);
        }
        if matches!(of, kind::EXIT | kind::EXIT_OUTPUT | kind::UNWOUND) {
            self.depth = at;
        }
    }
}
