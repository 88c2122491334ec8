//! What a record's first word may say: a length that its kind can have, words that only a writer of ours would write.
//! It tells bytes that somebody else put into a ring from records, and must never refuse what a writer of this version,
//! or of a newer one, writes.

use crate::record::{LOOKUP_WORDS, META_MAX, kind, sub_kind};
use crate::words::{OUTPUT_LEN, word};

/// Whether a record of this kind can have so many words. Of a kind that is not known here any length will do.
#[inline(always)]
pub(crate) fn fits(of: u8, words: usize, meta: u32) -> bool {
    // The number of a call that is too far back to be said by a distance.
    let far = usize::from(meta == META_MAX);
    match of {
        kind::NONE => false,
        kind::ENTER => words >= 2,
        kind::EXIT => words >= 2 + far,
        kind::TIME | kind::THREAD => words == 2,
        kind::NOTE => words == 3 + far,
        kind::LOOKUP => words >= LOOKUP_WORDS as usize,
        kind::UNWOUND => words == 1 + far,
        kind::STACK => words >= 2 + far,
        kind::EXIT_OUTPUT => words == 2 + far,
        kind::MEMORY => words >= 3 + far,
        kind::EXTENDED if sub_kind::of(meta) >= sub_kind::ROWS => words >= sub_kind::ROW_WORDS as usize,
        _ => words > 0,
    }
}

/// Whether the words behind the first one of a committed record are such as a writer writes, as far as that can be told
/// immediately.
#[inline(always)]
pub(crate) fn makes_sense(of: u8, first: u64, body: &[u8]) -> bool {
    let at = |n| word(body, n).unwrap_or(0);
    match of {
        // The first word has the lower half of the same time.
        kind::TIME => at(1) as u32 == (first >> 32) as u32,
        kind::THREAD => at(1) >> 32 == 0,
        kind::EXIT_OUTPUT => at(1) >> (OUTPUT_LEN + 4) == 0,
        kind::LOOKUP => {
            let len = (at(LOOKUP_WORDS as usize - 1) >> 48) as usize;
            body.len() == LOOKUP_WORDS as usize * 8 + len.next_multiple_of(8)
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use crate::record::{COMMITTED, Cursor, META_MAX, Record, Step, first_word, kind};
    use crate::ring::CHUNK_HEADER;

    /// What the first step finds in a chunk of these words, and how far the cursor went.
    fn step(words: &[u64], dead: bool) -> (bool, usize) {
        let mut bytes = vec![0; CHUNK_HEADER];
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        let mut cursor = Cursor::new(0, 5);
        let damaged = cursor.step(&bytes, bytes.len(), dead) == Step::Damaged;
        (damaged, (cursor.offset - CHUNK_HEADER) / 8)
    }

    fn done(kind: u8, words: u32, meta: u32, ticks: u32) -> u64 {
        first_word(kind, words, meta, ticks) | COMMITTED
    }

    #[test]
    fn what_no_writer_writes_is_damaged() {
        let bad: [&[u64]; 12] = [
            &[COMMITTED],
            &[done(kind::NONE, 1, 0, 1)],
            &[done(kind::ENTER, 1, 0, 1)],
            &[done(kind::ENTER, 9, 0, 1), 0],
            &[done(kind::EXIT, 2, META_MAX, 1), 0],
            &[done(kind::NOTE, 2, 0, 1), 0],
            &[done(kind::UNWOUND, 2, 0, 1), 0],
            &[done(kind::TIME, 2, 0, 1), 2],
            &[done(kind::THREAD, 2, 0, 1), u64::MAX],
            &[done(kind::EXIT_OUTPUT, 2, 0, 1), 1 << 56],
            &[done(kind::LOOKUP, 9, 0, 1), 0, 0, 0, 0, 0, 0, 9 << 48, 0],
            &[done(kind::EXTENDED, 4, 128, 1), 0, 0, 0],
        ];
        for words in bad {
            assert_eq!(step(words, false), (true, 0), "{words:x?}");
        }
        // Zeros, where nothing is written any more; while somebody may write they are not there yet.
        assert_eq!((step(&[0, 0], true), step(&[0, 0], false)), ((true, 0), (false, 0)));
        // The cursor stands in front of it, behind what is stepped over.
        assert_eq!(step(&[done(kind::SKIP, 1, 0, 1), done(kind::NONE, 1, 0, 1)], false), (true, 1));
    }

    #[test]
    fn what_writers_write_is_not() {
        let good: [&[u64]; 12] = [
            &[done(kind::ENTER, 2, 7, 1), 0],
            &[done(kind::ENTER, 2, META_MAX, 1), 0],
            &[done(kind::EXIT, 3, META_MAX, 1), 0, 1],
            &[done(kind::NOTE, 4, META_MAX, 1), 1, 2, 3],
            &[done(kind::UNWOUND, 1, 0, 1)],
            &[done(kind::TIME, 2, 0, 1), 1 << 40 | 1],
            &[done(kind::LOOKUP, 9, 9, 1), 0, 0, 0, 0, 0, 0, 8 << 48, 0],
            &[done(kind::SKIP, 255, 0, 1)],
            &[done(kind::EXTENDED, 1, 127, 1)],
            &[done(kind::EXTENDED, 5, 128, 1), 1 << 40, 2 << 40, 7 << 32, 3],
            &[done(kind::EXTENDED, 5, META_MAX, 1), 0, 0, 0, 0],
            &[done(15, 1, 0, 1)],
        ];
        for words in good {
            let mut words = words.to_vec();
            words.resize((words[0] >> 5 & 0xff) as usize, 0);
            assert_eq!(step(&words, false), (false, words.len()), "{words:x?}");
            words[0] &= !COMMITTED;
            assert_eq!(step(&words, true), (false, words.len()), "{words:x?}");
        }
    }

    /// They change neither the number nor the time of the calls behind them.
    #[test]
    fn unknown_records_are_counted() {
        let row = [done(kind::EXTENDED, 5, 200, 8), 1 << 40, 2 << 40, 7 << 32, 3];
        let words =
            [&row[..], &[done(kind::EXTENDED, 1, 1, 8), done(14, 1, 0, 8), done(kind::ENTER, 2, 7, 9), 0]].concat();
        let mut bytes = vec![0; CHUNK_HEADER];
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        let mut cursor = Cursor::new(0, 5);
        let step = cursor.step(&bytes, bytes.len(), false);
        assert!(matches!(step, Step::Record(Record::Enter { number: 5, slot: 7, ticks: 9, .. })), "{step:?}");
        assert_eq!((cursor.unknown, cursor.calls, cursor.offset), (3, 6, bytes.len()));
    }

    #[test]
    fn calls_are_counted_once() {
        let words = [done(kind::ENTER, 2, 7, 1), 0, done(kind::ENTER, 1, 7, 1)];
        let mut bytes = vec![0; CHUNK_HEADER];
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        let mut cursor = Cursor::new(0, 5);
        assert!(matches!(cursor.step(&bytes, bytes.len(), false), Step::Record(Record::Enter { number: 5, .. })));
        assert_eq!(cursor.step(&bytes, bytes.len(), false), Step::Damaged);
        assert_eq!((cursor.calls, cursor.last), (6, 1));
    }
}
