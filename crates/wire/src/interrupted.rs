//! A writer that is interrupted at each of its steps by another on the same thread, which is interrupted
//! at each of its own: no record is lost, torn or doubled, also where one of them needs the next chunk.

use crate::PAGE;
use crate::atomic::stepping::{blocked, interrupt, steps};
use crate::record::{Cursor, Record, Step, first_word, kind};
use crate::ring::{CHUNK_HEADER, ChunkHeader, ChunkWriter, NotReserved};
use core::sync::atomic::Ordering::Relaxed;
use std::cell::RefCell;

#[repr(align(64))]
struct Page([u64; PAGE / 8]);

/// A ring, as `preload/ring` has one.
struct Ring {
    chunks: Vec<*mut Page>,
    /// Bytes of each: room for two records and a part of a third.
    bytes: u32,
    writer: ChunkWriter,
}

thread_local! {
    static RING: RefCell<Option<Ring>> = const { RefCell::new(None) };
}

fn with<T>(work: impl FnOnce(&mut Ring) -> T) -> T {
    RING.with_borrow_mut(|ring| work(ring.as_mut().expect("a test has made it")))
}

impl Ring {
    fn begin(bytes: u32) {
        let writer = ChunkWriter { chunk: core::ptr::null_mut(), bytes: 0, last: 0 };
        RING.set(Some(Ring { chunks: Vec::new(), bytes, writer }));
        open_next();
    }
}

/// As `ring::chunks::next_chunk` in the preload: without signals.
fn open_next() {
    blocked(|| {
        with(|ring| {
            let mut calls = 0;
            if !ring.writer.chunk.is_null() {
                // SAFETY: the current chunk is a page of this test's.
                unsafe {
                    ring.writer.close();
                    calls = (ring.writer.head() >> 32) as u32;
                }
            }
            let page = Box::into_raw(Box::new(Page([0; PAGE / 8])));
            ring.chunks.push(page);
            let (chunk, sequence) = (page.cast::<ChunkHeader>(), ring.chunks.len() as u64);
            // SAFETY: a fresh page, larger than `bytes`.
            ring.writer = unsafe { ChunkWriter::open(chunk, ring.bytes, sequence, 7, calls, 1000, 1000) };
        });
    });
}

/// As `reserve` in the preload, with a record of three words.
fn write(slot: u32) {
    loop {
        let (writer, chunks) = with(|ring| (ring.writer, ring.chunks.len()));
        // SAFETY: the chunk is a page of this test's, and this is its only thread.
        unsafe {
            let head = writer.head();
            let first = first_word(kind::ENTER, 3, slot, 1001);
            match writer.reserve(head, 3, first, true) {
                Ok(record) => {
                    record.word(1, u64::from(slot) << 8);
                    record.word(2, u64::from(slot) * 3);
                    return record.commit(first);
                }
                Err(NotReserved::Raced) => {}
                Err(NotReserved::Full) if with(|ring| ring.chunks.len()) != chunks => {}
                Err(NotReserved::Full) => open_next(),
            }
        }
    }
}

/// Slots of all records in the order of the ring.
fn read() -> Vec<u32> {
    let ring = RING.take().expect("a test has made it");
    let (mut slots, mut calls) = (Vec::new(), 0);
    for page in ring.chunks {
        // SAFETY: made by `open_next`, and no other thread has it.
        let (page, head) = unsafe {
            let head = (*page.cast::<ChunkHeader>()).head.load(Relaxed);
            (Box::from_raw(page), head)
        };
        let bytes: Vec<u8> = page.0.iter().flat_map(|w| w.to_le_bytes()).collect();
        let mut cursor = Cursor::new(1000, calls);
        let end = head as u32 as usize;
        while cursor.offset < end {
            match cursor.step(&bytes, end, false) {
                Step::Record(Record::Enter { slot, number, caller, words, .. }) => {
                    assert_eq!(
                        (number as usize, caller, words.get(0)),
                        (slots.len(), u64::from(slot) << 8, Some(u64::from(slot) * 3))
                    );
                    slots.push(slot);
                }
                Step::Pending if cursor.offset >= end => {}
                other => panic!("{other:?} at {} of {end}", cursor.offset),
            }
        }
        calls = cursor.calls;
        assert_eq!(calls, (head >> 32) as u32);
    }
    slots
}

fn handler(depth: u32) {
    write(100 + depth);
    write(200 + depth);
}

#[test]
fn at_each_step_and_in_each_handler_at_each_step() {
    for room in [3 * 8 * 2 + 8, 3 * 8 * 3, 3 * 8 * 20] {
        let bytes = (CHUNK_HEADER + room) as u32;
        let run = |at: &[u32]| {
            Ring::begin(bytes);
            interrupt(at, handler);
            (1..=4).for_each(write);
            let step_count = steps();
            interrupt(&[], handler);
            (step_count, read())
        };
        let (most, plain) = run(&[]);
        assert_eq!(plain, [1, 2, 3, 4]);
        let (mut runs, mut interrupted) = (0, 0);
        for outer in 0..most {
            for inner in (0..60).map(Some).chain([None]) {
                let at: Vec<u32> = [outer].into_iter().chain(inner).collect();
                let (_, mut slots) = run(&at);
                let own: Vec<u32> = slots.iter().copied().filter(|s| *s < 100).collect();
                assert_eq!(own, [1, 2, 3, 4], "{at:?}");
                slots.sort_unstable();
                slots.dedup();
                runs += 1;
                // Depths count down to the innermost.
                let expected: &[&[u32]] = &[
                    &[1, 2, 3, 4],
                    &[1, 2, 3, 4, 100, 200],
                    &[1, 2, 3, 4, 101, 201],
                    &[1, 2, 3, 4, 100, 101, 200, 201],
                ];
                assert!(expected.contains(&&*slots), "{at:?}: {slots:?}");
                interrupted += usize::from(slots.len() == 8);
            }
        }
        assert!(interrupted > 100 && runs > interrupted, "{interrupted} of {runs}");
    }
}
