//! Calls of a ring that are copied to another ring, because later calls depend on them: a flight recorder copies them
//! before it writes over their chunk. The records stay unchanged, except that calls have other numbers in the ring that
//! receives them. So distances between calls are computed again.

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

/// Where the copies of one ring stand.
#[derive(Debug)]
pub struct KeptCalls {
    open: [OpenCall; DEPTH],
    depth: usize,
    /// The thread of the last record that was copied.
    tid: u32,
    /// Calls that were copied.
    calls: u32,
    /// The last call that changed the context, if it was not copied.
    context: Option<PendingContext>,
}

/// Words of an enter record and of an exit record that a pending call may have.
const PENDING: [usize; 2] = [8, 4];

/// A call that changed the context, until a call is copied that depends on it.
#[derive(Debug, Clone, Copy)]
struct PendingContext {
    call: ContextCall,
    number: u32,
    enter: [u64; PENDING[0]],
    exit: [u64; PENDING[1]],
    /// Words of the two; 0: its end was not seen yet.
    words: [usize; 2],
    /// Their times.
    ticks: [u64; 2],
    tid: u32,
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

/// Whether a call is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// It is not.
    No,
    /// It is.
    Yes,
    /// It is if another one follows that is copied. A program may make such calls all the time, and each takes the
    /// place of the one before.
    Context(ContextCall),
}

/// How a call changes the context of its thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextCall {
    /// It sets another one.
    Sets,
    /// It pushes another one.
    Pushes,
    /// It goes back to the one before.
    Pops,
}

/// What receives the copies.
pub trait KeptCallsSink {
    /// Whether a call of this slot that began then is to be copied.
    fn is_wanted(&mut self, slot: u32, ticks: u64) -> Wanted;
    /// Takes a record of this time, of this thread, behind the whole time if the record before it is too far away.
    /// False: it has no room.
    fn put(&mut self, record: &CopiedRecord<'_>, ticks: u64, tid: u32) -> bool;
}

impl Default for KeptCalls {
    fn default() -> KeptCalls {
        KeptCalls { open: [OpenCall { source: 0, copy: 0 }; DEPTH], depth: 0, tid: 0, calls: 0, context: None }
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
            let Some((record, following)) = rest.split_at_checked(length).filter(|_| length > 0) else { break };
            rest = following;
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
                    let is_written = match sink.is_wanted(meta, last) {
                        Wanted::No => true,
                        Wanted::Context(call) => self.context_changes(call, record, number, last, tid, sink),
                        Wanted::Yes => self.write_context(sink) && self.enter(record, number, last, tid, sink),
                    };
                    lost += u32::from(!is_written);
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

    /// A call changes the context: it waits, and the one before may be of no use any more. False: no room.
    fn context_changes(
        &mut self,
        call: ContextCall,
        record: &[u64],
        number: u32,
        ticks: u64,
        tid: u32,
        sink: &mut impl KeptCallsSink,
    ) -> bool {
        use ContextCall::{Pops, Pushes, Sets};
        let before = self.context.filter(|before| before.tid == tid).map(|before| before.call);
        let mut is_written = true;
        match (before, call) {
            (Some(Pushes), Pops) => {
                self.context = None;
                return true;
            }
            (Some(Sets), Sets | Pops) | (None, _) => self.context = None,
            (Some(_), _) => is_written = self.write_context(sink),
        }
        let mut enter = [0; PENDING[0]];
        if call == Pops || record.len() > enter.len() {
            return is_written & self.enter(record, number, ticks, tid, sink);
        }
        enter.iter_mut().zip(record).for_each(|(to, from)| *to = *from);
        let (words, ticks) = ([record.len(), 0], [ticks, 0]);
        self.context = Some(PendingContext { call, number, enter, exit: [0; PENDING[1]], words, ticks, tid });
        is_written
    }

    /// Copies the call that waits, for a call that depends on it follows. False: no room.
    fn write_context(&mut self, sink: &mut impl KeptCallsSink) -> bool {
        let Some(context) = self.context.take() else { return true };
        let (enter, exit) = (context.enter.get(..context.words[0]), context.exit.get(..context.words[1]));
        if !self.enter(enter.unwrap_or(&[]), context.number, context.ticks[0], context.tid, sink) {
            return false;
        }
        if let Some(exit) = exit.filter(|exit| !exit.is_empty()) {
            let of = (exit.first().copied().unwrap_or(0) & 0xf) as u8;
            self.about_call(exit, of, 0, context.number, context.ticks[1], context.tid, sink);
        }
        true
    }

    /// A record of the call that waits: its end is kept. False: it is of another call.
    fn is_of_context(&mut self, record: &[u64], of: u8, number: u32, ticks: u64) -> bool {
        let Some(context) = self.context.as_mut().filter(|context| context.number == number) else { return false };
        if matches!(of, kind::EXIT | kind::EXIT_OUTPUT) && record.len() <= context.exit.len() {
            context.exit.iter_mut().zip(record).for_each(|(to, from)| *to = *from);
            (context.words[1], context.ticks[1]) = (record.len(), ticks);
        }
        true
    }

    /// The ring that receives copies was copied to another one, whose copies stand as `moved` says.
    pub fn moved(&mut self, moved: &KeptCalls) {
        let (old, old_depth) = (self.open, self.depth);
        (self.tid, self.calls, self.depth) = (moved.tid, moved.calls, 0);
        for call in old.iter().take(old_depth) {
            let opened = moved.open.iter().take(moved.depth).find(|open| open.source == call.copy);
            if let Some((copied, place)) = opened.zip(self.open.get_mut(self.depth)) {
                *place = OpenCall { source: call.source, copy: copied.copy };
                self.depth += 1;
            }
        }
    }

    /// The ring has a new owner; the calls of the one before will not end.
    fn owner(&mut self, tid: u32) {
        if self.tid != tid {
            self.depth = 0;
        }
        self.context = self.context.filter(|context| context.tid == tid);
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
        let back = above.map_or(NO_PARENT, |above| u16::try_from(copy.wrapping_sub(above.copy)).unwrap_or(FAR_PARENT));
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
        if !far && self.is_of_context(record, of, number, ticks) {
            return;
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Cursor, Record, Step};
    use crate::ring::CHUNK_HEADER;

    /// Slots 1 to 3 change the context, 4 and higher are kept.
    #[derive(Default)]
    struct Words(Vec<u64>);

    impl KeptCallsSink for Words {
        fn is_wanted(&mut self, slot: u32, _: u64) -> Wanted {
            match slot {
                0 => Wanted::No,
                1 => Wanted::Context(ContextCall::Sets),
                2 => Wanted::Context(ContextCall::Pushes),
                3 => Wanted::Context(ContextCall::Pops),
                _ => Wanted::Yes,
            }
        }
        fn put(&mut self, record: &CopiedRecord<'_>, _: u64, _: u32) -> bool {
            self.0.push(record.first | COMMITTED);
            self.0.extend(record.second.iter().chain(record.rest));
            true
        }
    }

    fn enter(slot: u32, ticks: u32, parent: u64) -> [u64; 3] {
        [first_word(kind::ENTER, 3, slot, ticks) | COMMITTED, parent << PARENT_AT | 7, u64::from(ticks)]
    }

    fn exit(back: u32, ticks: u32) -> [u64; 2] {
        [first_word(kind::EXIT, 2, back, ticks) | COMMITTED, 0]
    }

    /// The copies as a reader sees them: slot, number, parent or end.
    fn copies(chunks: &[Vec<u64>]) -> Vec<(char, u32, u32)> {
        let (mut calls, mut sink, mut first_call) = (KeptCalls::default(), Words::default(), 0);
        for words in chunks {
            let chunk = SourceChunk { words, first_call, base_ticks: 0, tid: 1 };
            assert_eq!(calls.copy(chunk, &mut sink), 0);
            first_call +=
                words.iter().filter(|word| **word & 0x1f == u64::from(kind::ENTER) | COMMITTED).count() as u32;
        }
        let mut bytes = vec![0; CHUNK_HEADER];
        bytes.extend(sink.0.iter().flat_map(|word| word.to_le_bytes()));
        let (mut cursor, mut seen) = (Cursor::new(0, 0), Vec::new());
        while let Step::Record(record) = cursor.step(&bytes, bytes.len(), false) {
            match record {
                Record::Enter { number, slot, .. } => seen.push(('>', slot, number)),
                Record::Exit { number, ticks, .. } => seen.push(('<', ticks as u32, number)),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(cursor.offset, bytes.len());
        seen
    }

    #[test]
    fn calls_have_other_numbers_and_the_same_ends() {
        let first = [&enter(0, 32, 0)[..], &exit(0, 33), &enter(5, 34, 0), &enter(0, 35, 1), &exit(0, 36)].concat();
        // The end of call 1 is in the next chunk.
        let second = [&enter(6, 37, 2)[..], &exit(0, 38), &exit(2, 39), &enter(0, 40, 0), &exit(0, 41)].concat();
        assert_eq!(copies(&[first, second]), [('>', 5, 0), ('>', 6, 1), ('<', 38, 1), ('<', 39, 0)]);
    }

    #[test]
    fn a_context_is_copied_with_the_call_that_depends_on_it() {
        let call = |slot, ticks| [&enter(slot, ticks, 0)[..], &exit(0, ticks + 1)].concat();
        let all = |slots: &[u32]| copies(&[slots.iter().zip(32..).flat_map(|(s, t)| call(*s, t * 2)).collect()]);
        let slots = |slots: &[u32]| -> Vec<u32> {
            all(slots).iter().filter(|(what, ..)| *what == '>').map(|(_, slot, _)| *slot).collect()
        };
        assert_eq!(slots(&[1, 1, 1]), []);
        assert_eq!(slots(&[1, 1, 4, 1, 0, 4]), [1, 4, 1, 4]);
        assert_eq!(slots(&[2, 3, 2, 3, 4]), [4]);
        assert_eq!(slots(&[2, 4, 3, 4]), [2, 4, 3, 4]);
        assert_eq!(slots(&[2, 1, 3, 4]), [2, 3, 4]);
        // The copy is of the last one.
        assert_eq!(all(&[1, 1, 4]), [('>', 1, 0), ('<', 67, 0), ('>', 4, 1), ('<', 69, 1)]);
    }
}
