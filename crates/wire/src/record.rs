//! One record of a ring. Records are runs of 8-byte words; the first word tells all about the shape:
//!
//! ```text
//! bits  0..4   kind            bit 4   committed
//! bits  5..13  length in words bits 13..32  meta (19 bits: slot, or distance back in calls)
//! bits 32..64  ticks since the base (the chunk's, or the last TIME record's)
//! ```
//! An enter and an exit with two argument words take 48 bytes together. A call has no id in the ring:
//! it is the n-th enter record of its ring, and an exit says how many enters ago its own was.
//! Times are whole by what came before: a record lies within 2^31 ticks of the one before it, or a
//! TIME record stands in between (a signal handler's records may be later than the one behind them).

use crate::memory::MemoryPiece;
use crate::python::{Node, PythonFrames};
use crate::rows::{self, Row};
use crate::shape::{fits, makes_sense};
use crate::stack::{self, StackPiece};
use crate::words::word;
pub use crate::words::{FRAGMENT_WORDS, Fragment, Fragments, MAX_WORDS, OUTPUT_LEN, OUTPUT_WORD, Output, Words};

/// Bit of the first word that makes a record valid.
pub const COMMITTED: u64 = 1 << 4;
/// Largest value of the meta field; as a distance: the number itself follows in the last word; in an
/// enter record: the record was given up (siglongjmp out of a handler), count it and pass on.
pub const META_MAX: u32 = (1 << 19) - 1;
/// In an enter record: no parent.
pub const NO_PARENT: u16 = 0;
/// In an enter record: the parent is too far back to be said.
pub const FAR_PARENT: u16 = u16::MAX;

/// Kinds of records.
pub mod kind {
    /// Nothing was written here.
    pub const NONE: u8 = 0;
    /// A call began. meta = slot; word 1 = caller's return address | distance to the parent << 48; then the
    /// words that the slot's name says, then [`super::Fragments`].
    pub const ENTER: u8 = 1;
    /// A call ended. meta = distance back; word 1 = result (rax); then [`super::Fragments`].
    pub const EXIT: u8 = 2;
    /// Word 1 = ticks, whole.
    pub const TIME: u8 = 3;
    /// Something learned about a call. meta = distance back; word 1 = what ([`super::note`]); word 2 = value.
    pub const NOTE: u8 = 4;
    /// A look-up. meta = which ([`super::lookup`]); words as [`super::Lookup`]; then the name.
    pub const LOOKUP: u8 = 5;
    /// A record that was given up; step over.
    pub const SKIP: u8 = 6;
    /// A call was left by an exception, pthread_exit or cancellation. meta = distance back.
    pub const UNWOUND: u8 = 7;
    /// Another thread took the ring over: what follows is its. word 1 = thread id.
    pub const THREAD: u8 = 8;
    /// A piece of the caller's stack, from its stack pointer upwards. meta = distance back; the rest as in
    /// [`crate::stack`].
    pub const STACK: u8 = 9;
    /// A call returned 0 and wrote one small thing. meta = distance back; word 1 = [`super::Output`].
    pub const EXIT_OUTPUT: u8 = 10;
    /// A piece of what an open call leads to. meta = distance back; the rest as in [`crate::memory`].
    pub const MEMORY: u8 = 11;
    /// A record of a [`super::sub_kind`], which is bits 0 to 7 of meta; bits 8 to 18 are the sub-kind's.
    pub const EXTENDED: u8 = 12;
}

/// What an EXTENDED record is. A reader counts those that it does not know, and steps over them.
/// Below [`sub_kind::ROWS`] they are of the thread that its ring is of.
pub mod sub_kind {
    /// From here on a record is a row that belongs to no thread, in any ring. Words 1 and 2 = start and end. Word 3 =
    /// device | context << 32. Word 4 = stream, in its lower half. The sub-kind's words follow ([`crate::rows`]).
    pub const ROWS: u8 = crate::rows::ROWS;
    /// Words of a row before those of its sub-kind.
    pub const ROW_WORDS: u32 = crate::rows::ROW_WORDS;

    /// The sub-kind in the meta field of an EXTENDED record.
    #[inline(always)]
    pub const fn of(meta: u32) -> u8 {
        meta as u8
    }
}

/// What a NOTE record says.
pub mod note {
    /// Value = id of a KERNEL_NAME in the names stream.
    pub const KERNEL: u64 = 1;
    /// The runtime's own callback reported this bound call too; value = instance id.
    pub const INSTANCE: u64 = 2;
    /// A hook changed an argument before the call: what | hook's number << 8 | parameter << 16; value = the
    /// argument's first eight bytes from then on.
    pub const HOOK_ARGUMENT: u64 = 16;
    /// A hook answered, and the function was not called: what | hook's number << 8.
    pub const HOOK_ANSWER: u64 = 17;
    /// A hook changed the result: what | hook's number << 8; value = the result before that.
    pub const HOOK_RESULT: u64 = 18;
    /// A hook wrote an output through a pointer: what | hook's number << 8 | parameter << 16; value = the first eight
    /// bytes that it wrote.
    pub const HOOK_OUTPUT: u64 = 19;
    /// Behind [`HOOK_ARGUMENT`], of a larger argument: what | hook's number << 8 | parameter << 16 | word << 32; value
    /// = that word of it, counted from 0.
    pub const HOOK_ARGUMENT_WORD: u64 = 20;
    /// A rule of `--inject` acted: what | hook's number << 8; value = id of a RULE in the names stream.
    pub const HOOK_RULE: u64 = 21;
}

/// Which look-up a LOOKUP record is.
pub mod lookup {
    /// dlsym.
    pub const DLSYM: u32 = 1;
    /// dlvsym.
    pub const DLVSYM: u32 = 2;
    /// cuGetProcAddress with four arguments.
    pub const GET_PROC_ADDRESS: u32 = 3;
    /// cuGetProcAddress_v2.
    pub const GET_PROC_ADDRESS_V2: u32 = 4;
    /// cuGetExportTable; the name is the UUID in text.
    pub const GET_EXPORT_TABLE: u32 = 5;
}

/// First word of a record, not committed.
#[inline(always)]
pub const fn first_word(kind: u8, words: u32, meta: u32, ticks: u32) -> u64 {
    kind as u64 | ((words as u64) << 5) | ((meta as u64 & META_MAX as u64) << 13) | ((ticks as u64) << 32)
}

/// A record as a reader sees it; `ticks` is absolute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record<'a> {
    /// A call began; it is call `number` of this ring.
    Enter {
        /// Place among the ring's enter records.
        number: u32,
        /// Which function.
        slot: u32,
        /// When.
        ticks: u64,
        /// Return address in the caller.
        caller: u64,
        /// The call it was made from.
        parent: Parent,
        /// Argument words, and behind as many as the slot's name says, [`Fragments`].
        words: Words<'a>,
    },
    /// Call `number` returned.
    Exit {
        /// Which call.
        number: u32,
        /// When.
        ticks: u64,
        /// The result register.
        result: u64,
        /// Memory as it was after the call.
        memory: Fragments<'a>,
        /// The same, where it is one small thing.
        output: Option<Output>,
    },
    /// Call `number` was left by an exception, pthread_exit or cancellation.
    Unwound {
        /// Which call.
        number: u32,
        /// When.
        ticks: u64,
    },
    /// What follows is another thread's; the one before is dead.
    Thread {
        /// Its id.
        tid: u32,
    },
    /// Something learned about call `number`.
    Note {
        /// Which call.
        number: u32,
        /// One of [`note`].
        kind: u64,
        /// Its value.
        value: u64,
    },
    /// A look-up.
    Lookup(Lookup<'a>),
    /// A piece of the stack that call `number` was made on.
    Stack(StackPiece<'a>),
    /// The Python frames that call `number` was made from.
    Python(PythonFrames<'a>),
    /// A piece of what call `number` leads to.
    Memory(MemoryPiece<'a>),
    /// A row of GPU time, which belongs to no thread: see [`crate::rows`].
    Row {
        /// When it was written.
        ticks: u64,
        /// What it says.
        row: Row,
    },
}

/// The call that a call was made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parent {
    /// None: the thread was in no call.
    None,
    /// This call of the same ring.
    Call(u32),
    /// One that is [`FAR_PARENT`] or more calls back.
    Far,
}

/// A LOOKUP record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lookup<'a> {
    /// One of [`lookup`].
    pub which: u32,
    /// When it was answered.
    pub ticks: u64,
    /// Return address in the caller.
    pub caller: u64,
    /// Handle of dlsym, or version asked for.
    pub handle: u64,
    /// Flags asked for, or the table's size.
    pub flags: u64,
    /// What was handed out.
    pub answer: u64,
    /// Slot that it leads to, plus one; 0 if it is not one of ours.
    pub slot: u64,
    /// Return code of the look-up (0 for dlsym) | symbolStatus << 32, or [`PASSED_ON`].
    pub status: u64,
    /// The name, or the UUID in text; lossy if it was not UTF-8 or too long.
    pub name: &'a [u8],
}

/// As a look-up's status: it was passed on with the caller's return address in place, so what was
/// handed out is not known.
pub const PASSED_ON: u64 = u64::MAX;

/// Words of a LOOKUP record before the name.
pub const LOOKUP_WORDS: u32 = 8;

/// Where reading one chunk stands.
#[derive(Debug, Clone, Copy)]
pub struct Cursor {
    /// Bytes read, from the start of the chunk.
    pub offset: usize,
    /// Time of the last record.
    pub last: u64,
    /// Enter records so far.
    pub calls: u32,
    /// Those of them that were never committed, and stepped over.
    pub cut: u32,
    /// Records of kinds and sub-kinds that are not known here, stepped over.
    pub unknown: u32,
}

/// What the next step through a chunk found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// A record; the cursor stands behind it.
    Record(Record<'a>),
    /// Nothing more is committed; the cursor stands where it stood.
    Pending,
    /// The bytes make no sense; the cursor stands in front of them.
    Damaged,
}

impl Cursor {
    /// Start of a chunk with this head.
    pub fn new(base_ticks: u64, first_call: u32) -> Cursor {
        Cursor { offset: crate::ring::CHUNK_HEADER, last: base_ticks, calls: first_call, cut: 0, unknown: 0 }
    }

    /// Reads the next record of `chunk`, whose first `reserved` bytes are taken. With `dead`, records
    /// that were never committed are stepped over.
    #[inline(always)]
    pub fn step<'a>(&mut self, chunk: &'a [u8], reserved: usize, dead: bool) -> Step<'a> {
        loop {
            let Some(rest) = chunk.get(self.offset..reserved.min(chunk.len())) else { return Step::Damaged };
            let Some(first) = word(rest, 0) else { return Step::Pending };
            let words = (first >> 5 & 0xff) as usize;
            if first & COMMITTED == 0 && !dead {
                return Step::Pending;
            }
            let Some(body) = rest.get(..words * 8).filter(|b| !b.is_empty()) else { return Step::Damaged };
            let (kind, meta) = ((first & 0xf) as u8, (first >> 13) as u32 & META_MAX);
            if !fits(kind, words, meta) || first & COMMITTED != 0 && !makes_sense(kind, first, body) {
                return Step::Damaged;
            }
            let before = *self;
            self.offset += words * 8;
            if kind == kind::ENTER {
                self.calls = self.calls.wrapping_add(1);
            }
            if first & COMMITTED == 0 {
                self.cut = self.cut.wrapping_add(u32::from(kind == kind::ENTER));
                continue;
            }
            if kind == kind::TIME {
                self.last = word(body, 1).unwrap_or(self.last);
                continue;
            }
            let step = ((first >> 32) as u32).wrapping_sub(self.last as u32) as i32;
            self.last = self.last.wrapping_add_signed(i64::from(step));
            match self.decode(kind, first, body) {
                Some(record) => return Step::Record(record),
                None if kind > kind::MEMORY => {
                    self.unknown = self.unknown.wrapping_add(1);
                    continue;
                }
                None if is_given_up(kind, meta) => continue,
                None => {
                    *self = before;
                    return Step::Damaged;
                }
            }
        }
    }

    #[inline(always)]
    fn decode<'a>(&self, kind: u8, first: u64, body: &'a [u8]) -> Option<Record<'a>> {
        let meta = (first >> 13) as u32 & META_MAX;
        let ticks = self.last;
        let at = |n| word(body, n);
        match kind {
            kind::ENTER if meta == META_MAX => None,
            kind::ENTER => {
                let number = self.calls.wrapping_sub(1);
                let word1 = at(1)?;
                let parent = match (word1 >> 48) as u16 {
                    NO_PARENT => Parent::None,
                    FAR_PARENT => Parent::Far,
                    back => Parent::Call(number.wrapping_sub(u32::from(back))),
                };
                let words = Words(body.get(16..)?);
                Some(Record::Enter { number, slot: meta, ticks, caller: word1 & 0xffff_ffff_ffff, parent, words })
            }
            kind::EXIT => {
                let end = body.len() - if meta == META_MAX { 8 } else { 0 };
                let memory = Fragments(body.get(16..end).unwrap_or(&[]));
                Some(Record::Exit { number: self.back(meta, body)?, ticks, result: at(1)?, memory, output: None })
            }
            kind::EXIT_OUTPUT => {
                let (number, output) = (self.back(meta, body)?, Some(Output::of(at(1)?)));
                Some(Record::Exit { number, ticks, result: 0, memory: Fragments(&[]), output })
            }
            kind::UNWOUND => Some(Record::Unwound { number: self.back(meta, body)?, ticks }),
            kind::THREAD => Some(Record::Thread { tid: at(1)? as u32 }),
            kind::NOTE => Some(Record::Note { number: self.back(meta, body)?, kind: at(1)?, value: at(2)? }),
            kind::STACK => {
                let end = body.len() - if meta == META_MAX { 8 } else { 0 };
                let (number, body) = (self.back(meta, body)?, body.get(..end)?);
                let about = word(body, 1)?;
                if about & stack::PYTHON != 0 {
                    let has_more = about & stack::MORE_FRAMES != 0;
                    let (node, from) = match about & stack::WITH_NODE {
                        0 => (None, 16),
                        _ => (Some(Node::of(word(body, 2)?)), 24),
                    };
                    let words = Words(body.get(from..)?);
                    return Some(Record::Python(PythonFrames { number, has_more, node, words }));
                }
                Some(Record::Stack(StackPiece::decode(number, ticks, body)?))
            }
            kind::MEMORY => Some(Record::Memory(MemoryPiece::decode(self.back(meta, body)?, body)?)),
            kind::EXTENDED if sub_kind::of(meta) >= sub_kind::ROWS => {
                let mut words = [0; rows::MAX_WORDS];
                let count = (body.len() / 8 - 1).min(rows::MAX_WORDS);
                words.iter_mut().take(count).enumerate().for_each(|(n, to)| *to = at(n + 1).unwrap_or(0));
                Some(Record::Row { ticks, row: Row::unpack(sub_kind::of(meta), words.get(..count)?)? })
            }
            kind::LOOKUP => {
                let len = (at(7)? >> 48) as usize;
                let from = LOOKUP_WORDS as usize * 8;
                let name = body.get(from..from + len).or(body.get(from..))?;
                Some(Record::Lookup(Lookup {
                    which: meta,
                    ticks,
                    caller: at(1)?,
                    handle: at(2)?,
                    flags: at(3)?,
                    answer: at(4)?,
                    slot: at(5)?,
                    status: at(6)?,
                    name,
                }))
            }
            _ => None,
        }
    }

    /// The call that a distance leads back to.
    #[inline]
    fn back(&self, meta: u32, body: &[u8]) -> Option<u32> {
        let last = self.calls.wrapping_sub(1);
        match meta {
            META_MAX => word(body, body.len() / 8 - 1).map(|n| n as u32),
            back => Some(last.wrapping_sub(back)),
        }
    }
}

/// Whether a committed record is one to step over, because its writer gave it up.
fn is_given_up(of: u8, meta: u32) -> bool {
    of == kind::SKIP || of == kind::ENTER && meta == META_MAX
}
