//! What is taken from which of two reads.

use super::*;
use cutap_wire::record::{first_word, kind};

#[test]
fn what_was_committed_between_two_reads_waits() {
    let record = |ticks: u32| [first_word(kind::THREAD, 2, 0, ticks), u64::from(ticks)];
    let bytes = |words: &[u64]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    let ([a, one], [b, two], [c, three]) = (record(1), record(2), record(3));
    let done = |first: u64| first | COMMITTED;
    // The second is finished only in the later read; of the third the length was not there.
    let before = bytes(&[done(a), one, b, 0, 0, 0]);
    let mut buffer = bytes(&[done(a), one, done(b), two, done(c), three]);
    settle(&before, &mut buffer);
    assert_eq!(buffer, bytes(&[done(a), one, b, two, 0]));
    // A read that came out shorter, and one that ends within a record.
    for len in [0, 4, 8, 12, 16, 40] {
        let mut buffer = bytes(&[done(a), one, done(b), two, done(c), three]);
        buffer.truncate(len);
        settle(&before, &mut buffer);
        assert!(buffer.len() <= len);
    }
    let whole = bytes(&[done(a), one, done(b)]);
    let mut buffer = whole.clone();
    settle(&whole, &mut buffer);
    assert_eq!(buffer, whole);
}
