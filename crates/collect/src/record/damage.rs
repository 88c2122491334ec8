//! All who read a damaged run directory report the same damage and the same number of lost calls: show, report,
//! recover, a collector that records, and show of the recording.

use super::Recorder;
use cutap_trace::synthetic::Run;
use cutap_trace::{Aggregator, CallSink, Damage, Event, EventReader, Filter, FinishedCall, Function, Instance};
use cutap_trace::{LostCalls, ReaderOptions, damaged};
use cutap_wire::control::Control;
use cutap_wire::names::GROW;
use cutap_wire::ring::{CHUNK_HEADER, ChunkHeader, OPEN};
use std::fs::{self, File, OpenOptions};
use std::mem::offset_of;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const CALLS: u64 = 300;
const CHUNK: u64 = 4096;
/// No process can have this number.
const GONE: u32 = 0x7fff_0000;

/// A run of one thread that has ended, and that no collector has read. Its ring.
fn ended(folder: &Path) -> PathBuf {
    let run = Run::new(folder);
    let mut page = vec![0; cutap_wire::PAGE];
    page[..8].copy_from_slice(&cutap_wire::MAGIC.to_le_bytes());
    page[8..12].copy_from_slice(&cutap_wire::VERSION.to_le_bytes());
    let at = offset_of!(Control, ticks_per_second);
    page[at..at + 8].copy_from_slice(&1_000_000_000u64.to_le_bytes());
    fs::write(folder.join(cutap_wire::control::FILE), page).unwrap();
    let mut process = run.process(GONE, "/bin/prog");
    process.driver(&["f0", "f1"]);
    let names = OpenOptions::new().write(true).open(process.path().join("names")).unwrap();
    names.set_len(names.metadata().unwrap().len().next_multiple_of(GROW as u64)).unwrap();
    let mut thread = process.thread(101, 8);
    (0..CALLS).for_each(|n| thread.call((n % 2) as u32, &[n, 7, 9], 10, 0));
    thread.end();
    process.path().join("t0.ring")
}

fn random(len: usize, seed: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(|| random.u8(..)).take(len).collect()
}

struct Nothing;

impl CallSink for Nothing {
    fn enter(&mut self, _: u32, _: &Arc<Function>) -> u32 {
        0
    }
    fn exit(&mut self, _: &FinishedCall<'_>) {}
    fn function_instance(&mut self, _: &Arc<Function>, _: &Arc<Instance>) {}
}

/// What show reports, and how many calls it shows. Of a recording the parts are those that are missing.
fn shown(run: &Path) -> (Damage, u64) {
    let mut reader = EventReader::open(run, ReaderOptions::default()).unwrap();
    let mut calls = 0;
    reader.poll(true, &mut |event: &Event| calls += u64::from(matches!(event, Event::Enter(_)))).unwrap();
    let end = reader.end();
    let holes = end.recording.as_ref().map(|recording| recording.holes);
    (Damage { parts: holes.unwrap_or(end.missing.damaged_chunks), lost: end.missing.lost_calls }, calls)
}

/// What a recorder reports. With `consume` it is the collector of the run.
fn recorded(run: &Path, file: &Path, consume: bool, look: bool) -> Damage {
    let mut recorder = Recorder::begin(run, File::create(file).unwrap(), consume).unwrap();
    if consume {
        recorder.round(false, &mut || ()).unwrap();
    }
    recorder.round(true, &mut || ()).unwrap();
    if look {
        recorder.look_for_damage();
    }
    recorder.end().unwrap();
    recorder.damage()
}

/// What readers say of damage, all the same.
#[derive(Debug, Clone, Copy)]
enum Told {
    /// Nothing: no reader can know of it.
    Nothing,
    /// One damaged part, and how many calls are lost.
    Counted,
    /// One damaged part, whose calls are not counted.
    Uncounted,
    /// One damaged part. Whether the calls are counted depends on the bytes.
    Part,
}

/// What readers say of other bytes in the head of the `n`th of five chunks.
///
/// The thread and the times of a head may be any. Of the last chunk no later head tells whether its bytes or its calls
/// are damaged.
fn told_of_head(n: u64, range: Range<usize>, is_changed: bool) -> Told {
    let within = |from: usize, to: usize| from <= range.start && range.end <= to;
    let (thread, number) = (offset_of!(ChunkHeader, tid), offset_of!(ChunkHeader, sequence));
    let (times, head) = (offset_of!(ChunkHeader, base_ticks), offset_of!(ChunkHeader, head));
    match n {
        _ if !is_changed || within(thread, number) || within(times, head) => Told::Nothing,
        4 => Told::Part,
        _ => Told::Counted,
    }
}

/// Seeds of random damage: a thousand by hand, as after a change of a reader.
fn seeds() -> u64 {
    if std::env::var_os("CUTAP_LARGE").is_some_and(|v| v == "1") { 1000 } else { 8 }
}

#[test]
fn the_same_damage_for_all_readers() {
    let folder = tempfile::tempdir().unwrap();
    let (run, file) = (folder.path().join("run"), folder.path().join("run.cutap"));
    let ring = ended(&run);
    let good = fs::read(&ring).unwrap();
    let at = |n: u64| 4096 + n * CHUNK;
    // What is written where, and what readers say.
    let mut writes = vec![
        ("nothing", at(1), vec![], Told::Nothing),
        ("zeros in it", at(1) + 512, vec![0; 64], Told::Counted),
        ("zeros to its end", at(1) + 512, vec![0; CHUNK as usize - 512], Told::Counted),
        ("ones", at(1) + 512, vec![0xff; 64], Told::Counted),
        ("an unknown slot", at(1) + CHUNK_HEADER as u64, vec![0, 0, 0, 0], Told::Counted),
        ("no head", at(1), vec![0; CHUNK_HEADER], Told::Counted),
        ("nothing at all", at(1), vec![0; CHUNK as usize], Told::Counted),
        ("a state that is none", at(1), vec![7], Told::Counted),
        ("open", at(1), vec![OPEN as u8], Told::Counted),
        ("more bytes than it has", at(1) + 32, vec![0xff; 4], Told::Counted),
        ("fewer calls than it has", at(1) + 36, vec![0, 0], Told::Counted),
        ("a few calls more than it has", at(1) + 36, vec![150], Told::Counted),
        ("a few calls more before it", at(1) + 40, vec![80], Told::Counted),
        ("the number of another", at(1) + 8, vec![4], Told::Counted),
        ("a later number", at(3) + 8, vec![200], Told::Counted),
        ("a later number, the last", at(4) + 8, vec![200], Told::Counted),
        ("no head, the first", at(0), vec![0; CHUNK_HEADER], Told::Counted),
        ("no head, the last", at(4), vec![0; CHUNK_HEADER], Told::Uncounted),
    ];
    // The first record, with another slot.
    let first = u64::from_le_bytes(*good[(at(1) + CHUNK_HEADER as u64) as usize..].first_chunk().unwrap());
    writes[4].2 = (first & !(0x7ffff << 13) | 77 << 13).to_le_bytes().into();
    // After some of these bytes records make sense again, or one looks as if it was never finished.
    for seed in [39, 55, 269].into_iter().chain(0..seeds()) {
        writes.push(("random records", at(2) + 512 + seed % 8, random(1500, seed), Told::Counted));
    }
    for seed in 0..seeds() {
        let head = || random(CHUNK_HEADER, seed);
        writes.push(("a random head", at(3), head(), Told::Counted));
        writes.push(("a random head, the first", at(0), head(), Told::Counted));
        writes.push(("a random head, the last", at(4), head(), Told::Uncounted));
        let mut random = fastrand::Rng::with_seed(seed);
        for (what, len) in [("a random word of a head", 8), ("a random byte of a head", 1)] {
            let (n, from) = (random.u64(..5), random.usize(..CHUNK_HEADER / len) * len);
            let bytes: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(len).collect();
            let place = at(n) + from as u64;
            let is_changed = good[place as usize..][..len] != bytes;
            writes.push((what, place, bytes, told_of_head(n, from..from + len, is_changed)));
        }
    }
    for (what, at, bytes, told) in writes {
        let spoil = || {
            fs::write(&ring, &good).unwrap();
            OpenOptions::new().write(true).open(&ring).unwrap().write_all_at(&bytes, at).unwrap();
        };
        spoil();
        let (damage, calls) = shown(&run);
        let counted = Damage { parts: 1, lost: LostCalls { counted: CALLS - calls, uncounted: 0 } };
        let uncounted = Damage { parts: 1, lost: LostCalls::uncounted(1) };
        let expected = match told {
            Told::Nothing => Damage::default(),
            Told::Counted => counted,
            Told::Uncounted => uncounted,
            Told::Part => {
                if damage == uncounted {
                    uncounted
                } else {
                    counted
                }
            }
        };
        assert_eq!(damage, expected, "{what} at {at}: show of the run directory");
        assert!((CALLS - 90..=CALLS).contains(&calls), "{what} at {at}: {calls} calls");
        let mut aggregator = Aggregator::open(&run, &Filter::default()).unwrap();
        assert_eq!(aggregator.run(&mut Nothing).damage(), expected, "{what} at {at}: report");
        assert_eq!(damaged(&run).unwrap(), expected, "{what} at {at}: a look");
        for (consume, look) in [(false, true), (false, false), (true, false)] {
            spoil();
            let reader = format!("{what} at {at}, consume {consume}, look {look}");
            let mut reported = recorded(&run, &file, consume, look);
            // A collector may not be the first one of its run: it counts no calls before the first chunk that it finds.
            if !look && at < 4096 + CHUNK && calls < CALLS {
                assert_eq!(reported.lost, LostCalls::uncounted(1), "{reader}");
                reported.lost = expected.lost;
            }
            assert_eq!(reported, expected, "{reader}");
            assert_eq!(shown(&file), (expected, calls), "{reader}: show of the recording");
        }
    }
}
