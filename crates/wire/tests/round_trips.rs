//! What is written as the target writes it is read back: records of a chunk and names, whatever they hold.

use cutap_wire::names::{CELL, Cell, FIXED, Name, cell};
use cutap_wire::record::{Cursor, Fragments, META_MAX, Parent, Record, Step, first_word, kind};
use cutap_wire::ring::{CHUNK_HEADER, ChunkHeader, ChunkWriter, NotReserved};
use cutap_wire::stack::{REGISTERS, WITH_REGISTERS};
use proptest::prelude::*;

const BYTES: usize = 1 << 14;

#[repr(align(64))]
struct Chunk([u64; BYTES / 8]);

/// One record as a test asks for it; a number is how many calls back its own is.
#[derive(Debug, Clone)]
enum Wanted {
    Enter { slot: u32, caller: u64, parent: Option<u16>, words: Vec<u64>, memory: Vec<u8> },
    Exit { back: u32, result: u64, memory: Vec<u8> },
    Note { back: u32, what: u64, value: u64 },
    Unwound { back: u32 },
    Thread { tid: u32 },
    Time { ticks: u64 },
    Stack { back: u32, piece: u16, pieces: u16, registers: Option<[u64; REGISTERS]>, memory: Vec<u8> },
}

fn wanted() -> impl Strategy<Value = Wanted> {
    let memory = || prop::collection::vec(any::<u8>(), 0..60);
    prop_oneof![
        (
            0..META_MAX,
            0..1u64 << 48,
            prop::option::of(1..u16::MAX),
            prop::collection::vec(any::<u64>(), 0..12),
            memory()
        )
            .prop_map(|(slot, caller, parent, words, memory)| Wanted::Enter {
                slot,
                caller,
                parent,
                words,
                memory
            }),
        (0..1000u32, any::<u64>(), memory()).prop_map(|(back, result, memory)| Wanted::Exit { back, result, memory }),
        (0..1000u32, any::<u64>(), any::<u64>()).prop_map(|(back, what, value)| Wanted::Note { back, what, value }),
        (0..1000u32).prop_map(|back| Wanted::Unwound { back }),
        any::<u32>().prop_map(|tid| Wanted::Thread { tid }),
        (1u64 << 31..1 << 60).prop_map(|ticks| Wanted::Time { ticks }),
        (0..1000u32, any::<u16>(), any::<u16>(), prop::option::of(any::<[u64; REGISTERS]>()), memory()).prop_map(
            |(back, piece, pieces, registers, memory)| Wanted::Stack { back, piece, pieces, registers, memory }
        ),
    ]
}

/// A fragment as the target writes it: address, lengths, bytes.
fn fragment(memory: &[u8]) -> Vec<u64> {
    if memory.is_empty() {
        return Vec::new();
    }
    let len = memory.len() as u64;
    let words = memory.chunks(8).map(|part| {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        u64::from_le_bytes(word)
    });
    [0xdead, len | (len + 5) << 32].into_iter().chain(words).collect()
}

fn check_fragment(mut found: Fragments<'_>, memory: &[u8]) {
    let one = found.next();
    match memory {
        [] => assert_eq!(one, None),
        _ => {
            let one = one.expect("a fragment");
            assert_eq!((one.address, one.bytes, one.full_length as usize), (0xdead, memory, memory.len() + 5));
        }
    }
    assert_eq!(found.next(), None);
}

proptest! {
    #[test]
    fn records(all in prop::collection::vec((wanted(), 0..1u32 << 20), 1..60), first_call in any::<u32>()) {
        let first_call = first_call % (1 << 30) + 1000;
        let mut memory = Box::new(Chunk([0; BYTES / 8]));
        let chunk = memory.0.as_mut_ptr().cast::<ChunkHeader>();
        let (mut now, mut expected) = (5_000_000_000u64, Vec::new());
        // SAFETY: the memory is of that size and aligned, and this thread alone uses it.
        let head = unsafe {
            let writer = ChunkWriter::open(chunk, BYTES as u32, 1, 7, first_call, now, now);
            for (wanted, wait) in all {
                now += u64::from(wait);
                let calls = (writer.head() >> 32) as u32;
                let (kind, meta, body) = match &wanted {
                    Wanted::Enter { slot, caller, parent, words, memory } => {
                        let second = caller | u64::from(parent.unwrap_or(0)) << 48;
                        (kind::ENTER, *slot, [&[second][..], words, &fragment(memory)].concat())
                    }
                    Wanted::Exit { back, result, memory } => {
                        (kind::EXIT, *back, [&[*result][..], &fragment(memory)].concat())
                    }
                    Wanted::Note { back, what, value } => (kind::NOTE, *back, vec![*what, *value]),
                    Wanted::Unwound { back } => (kind::UNWOUND, *back, vec![]),
                    Wanted::Thread { tid } => (kind::THREAD, 0, vec![u64::from(*tid)]),
                    Wanted::Stack { back, piece, pieces, registers, memory } => {
                        let flag = if registers.is_some() { WITH_REGISTERS } else { 0 };
                        let about = u64::from(*piece) | u64::from(*pieces) << 16 | flag;
                        let registers = registers.map_or(vec![], |r| r.to_vec());
                        (kind::STACK, *back, [&[about][..], &registers, &fragment(memory)].concat())
                    }
                    Wanted::Time { ticks } => {
                        now += ticks;
                        (kind::TIME, 0, vec![now])
                    }
                };
                let first = first_word(kind, body.len() as u32 + 1, meta, now as u32);
                match writer.reserve(writer.head(), body.len() as u32 + 1, first, kind == kind::ENTER) {
                    Ok(record) => {
                        body.iter().enumerate().for_each(|(n, word)| record.word(n + 1, *word));
                        record.commit(first);
                        if kind != kind::TIME {
                            expected.push((wanted, calls, now));
                        }
                    }
                    Err(why) => {
                        prop_assert_eq!(why, NotReserved::Full);
                        break;
                    }
                }
            }
            writer.close();
            writer.head()
        };
        let bytes: Vec<u8> = memory.0.iter().flat_map(|w| w.to_le_bytes()).collect();
        let mut cursor = Cursor::new(5_000_000_000, first_call);
        prop_assert_eq!(cursor.offset, CHUNK_HEADER);
        for (wanted, calls, at) in expected {
            let Step::Record(record) = cursor.step(&bytes, head as u32 as usize, false) else {
                panic!("no record where {wanted:?} was written")
            };
            let number = |back: u32| calls.wrapping_sub(1).wrapping_sub(back);
            match (&wanted, record) {
                (Wanted::Enter { slot, caller, parent, words, memory }, Record::Enter { number, slot: s, ticks, caller: c, parent: p, words: w }) => {
                    prop_assert_eq!((number, s, ticks, c), (calls, *slot, at, *caller));
                    prop_assert_eq!(p, parent.map_or(Parent::None, |back| Parent::Call(calls.wrapping_sub(back.into()))));
                    let (own, rest) = w.split(words.len());
                    prop_assert_eq!(own.iter().collect::<Vec<_>>(), words.clone());
                    check_fragment(rest, memory);
                }
                (Wanted::Exit { back, result, memory }, Record::Exit { number: n, ticks, result: r, memory: m, output: None }) => {
                    prop_assert_eq!((n, ticks, r), (number(*back), at, *result));
                    check_fragment(m, memory);
                }
                (Wanted::Note { back, what, value }, Record::Note { number: n, kind: w, value: v }) => {
                    prop_assert_eq!((n, w, v), (number(*back), *what, *value));
                }
                (Wanted::Unwound { back }, Record::Unwound { number: n, ticks }) => {
                    prop_assert_eq!((n, ticks), (number(*back), at));
                }
                (Wanted::Stack { back, piece, pieces, registers, memory }, Record::Stack(found)) => {
                    prop_assert_eq!((found.number, found.ticks), (number(*back), at));
                    prop_assert_eq!((found.piece, found.pieces, found.registers), (*piece, *pieces, *registers));
                    check_fragment(found.memory, memory);
                }
                (Wanted::Thread { tid }, Record::Thread { tid: t }) => prop_assert_eq!(t, *tid),
                other => panic!("{other:?}"),
            }
        }
        prop_assert_eq!(cursor.step(&bytes, head as u32 as usize, false), Step::Pending);
    }

    #[test]
    fn names(all in prop::collection::vec((any::<u8>(), any::<[u64; 4]>(), prop::collection::vec(any::<u8>(), 0..300), prop::collection::vec(any::<u8>(), 0..300)), 1..20)) {
        let mut file = vec![0u64; 20 * (FIXED + 600 + CELL) / 8 * 2];
        let (mut at, mut written) = (0, Vec::new());
        for (kind, [ticks, a, b, c], s, t) in &all {
            let name = Name { kind: *kind, ticks: *ticks, a: *a, b: *b, c: *c, s, t };
            // SAFETY: the vector has room for twenty of the longest.
            unsafe { name.write(file.as_mut_ptr().cast::<u8>().add(at)) };
            written.push((at, name));
            at += name.cells() * CELL;
        }
        let bytes: Vec<u8> = file.iter().flat_map(|w| w.to_le_bytes()).collect();
        for (at, name) in written {
            prop_assert_eq!(cell(&bytes, at), Cell::Name(name, name.cells() * CELL));
        }
        prop_assert_eq!(cell(&bytes, at), Cell::Empty);
    }
}
