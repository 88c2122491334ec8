//! Writer and collector of one ring in all orders in which one processor may see what another does. The
//! writer is `ring.rs` itself; the collector is what `trace` and `collect` do with plain reads: what says that
//! something is finished is taken from a read before the one that it is taken from.
//! `cargo test -p cutap-wire --features loom --test loom` (`cargo xtask test` runs it).

use cutap_wire::record::{COMMITTED, first_word, kind};
use cutap_wire::ring::{CHUNK_HEADER, ChunkHeader, ChunkWriter, FREE, FULL, ModelChunk, NotReserved};
use loom::sync::Arc;
use loom::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use loom::sync::atomic::fence;
use loom::thread;

/// Words of a record here, and records of a chunk.
const WORDS: u32 = 2;
const RECORDS: usize = 2;

struct Shared(ModelChunk);
// SAFETY: all of it is atomics.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    fn header(&self) -> *mut ChunkHeader {
        (&raw const self.0).cast_mut().cast()
    }
}

fn open(shared: &Shared, sequence: u64, calls: u32) -> ChunkWriter {
    let bytes = CHUNK_HEADER as u32 + RECORDS as u32 * WORDS * 8;
    // SAFETY: the model's chunk, which is free or new.
    unsafe { ChunkWriter::open(shared.header(), bytes, sequence, 7, calls, 1, 1) }
}

/// One record, whose second word says which.
fn write(writer: &ChunkWriter, n: u32) {
    let first = first_word(kind::ENTER, WORDS, n, 0);
    // SAFETY: the model's chunk; only this thread writes.
    unsafe {
        match writer.reserve(writer.head(), WORDS, first, true) {
            Ok(record) => {
                record.word(1, u64::from(n) + 1000);
                record.commit(first);
            }
            Err(NotReserved::Raced | NotReserved::Full) => unreachable!("nobody else writes, and there is room"),
        }
    }
}

/// What a collector knows of the chunk.
#[derive(Default)]
struct Collector {
    sequence: u64,
    read: Vec<u32>,
}

impl Collector {
    /// One look at the chunk: what is committed, and FREE when it was read whole and is full.
    fn look(&mut self, shared: &Shared) {
        let header = &shared.0.header;
        // State and number of a read before the rest.
        let (state, sequence) = (header.state.load(Relaxed), header.sequence.load(Relaxed));
        fence(SeqCst);
        let head = header.head.load(Relaxed);
        let reserved = (head as u32 as usize).saturating_sub(CHUNK_HEADER) / 8;
        let same = header.sequence.load(Relaxed) == sequence;
        fence(SeqCst);
        if !same || sequence == 0 || state == FREE {
            return;
        }
        if sequence != self.sequence {
            (self.sequence, self.read) = (sequence, Vec::new());
        }
        let words = |n: usize| shared.0.words[n].load(Relaxed);
        let before: Vec<u64> = (0..reserved).map(words).collect();
        fence(SeqCst);
        let now: Vec<u64> = (0..reserved).map(words).collect();
        fence(SeqCst);
        if header.sequence.load(Relaxed) != sequence {
            return;
        }
        let committed = before.iter().step_by(WORDS as usize).take_while(|first| **first & COMMITTED != 0).count();
        self.read = (0..committed)
            .map(|n| {
                let (first, second) = (now[n * WORDS as usize], now[n * WORDS as usize + 1]);
                let slot = (first >> 13) as u32;
                assert_eq!(second, u64::from(slot & 0x7ffff) + 1000, "a record that says it is whole");
                slot & 0x7ffff
            })
            .collect();
        if state == FULL && committed * WORDS as usize == reserved {
            header.state.store(FREE, Relaxed);
        }
    }
}

#[test]
fn what_is_read_is_whole_and_what_is_freed_was_read() {
    // More than three unwanted switches find nothing more here, and take minutes.
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let shared = Arc::new(Shared(ModelChunk::default()));
        let theirs = shared.clone();
        let writer = thread::spawn(move || {
            let writer = open(&theirs, 1, 0);
            write(&writer, 1);
            write(&writer, 2);
            // SAFETY: the model's chunk.
            unsafe { writer.close() };
            // The next chunk, if the collector has given this one back; else the ring would grow.
            if theirs.0.header.state.load(Acquire) == FREE {
                let writer = open(&theirs, 2, 2);
                write(&writer, 3);
                return true;
            }
            false
        });
        let mut collector = Collector::default();
        collector.look(&shared);
        let first: Vec<u32> = collector.read.clone();
        assert!([&[][..], &[1], &[1, 2]].contains(&&*first), "{first:?}");
        let freed = shared.0.header.state.load(Relaxed) == FREE && first == [1, 2];
        let again = writer.join().expect("the writer");
        if again {
            assert_eq!(first, [1, 2], "it was given back unread");
        }
        collector.look(&shared);
        match (again, freed) {
            (true, _) => assert_eq!((collector.sequence, &*collector.read), (2, &[3][..])),
            (false, _) => assert_eq!((collector.sequence, &*collector.read), (1, &[1, 2][..])),
        }
    });
}
