//! All who read a damaged run directory report the same damage and the same number of lost calls: show, report,
//! recover, a collector that records, and show of the recording.

use super::Recorder;
use cutap_trace::made::Run;
use cutap_trace::{Aggregator, CallSink, Damage, Event, EventReader, Filter, FinishedCall, Function, Instance};
use cutap_trace::{LostCalls, ReaderOptions, damaged};
use cutap_wire::control::Control;
use cutap_wire::names::GROW;
use cutap_wire::ring::CHUNK_HEADER;
use std::fs::{self, File, OpenOptions};
use std::mem::offset_of;
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
    let mut state = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..len).map(|_| next()).collect()
}

struct Nothing;

impl CallSink for Nothing {
    fn enter(&mut self, _: u32, _: &Arc<Function>) -> u32 {
        0
    }
    fn exit(&mut self, _: &FinishedCall<'_>) {}
    fn belongs(&mut self, _: &Arc<Function>, _: &Arc<Instance>) {}
}

/// What show reports, and how many calls it shows. Of a recording the parts are those that are missing.
fn shown(run: &Path) -> (Damage, u64) {
    let mut reader = EventReader::open(run, ReaderOptions::default()).unwrap();
    let mut calls = 0;
    reader.poll(true, &mut |event: &Event| calls += u64::from(matches!(event, Event::Enter(_)))).unwrap();
    let end = reader.end();
    let holes = end.recording.as_ref().map(|recording| recording.holes);
    (Damage { parts: holes.unwrap_or(end.damaged), lost: end.lost }, calls)
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

#[test]
fn the_same_damage_for_all_readers() {
    let folder = tempfile::tempdir().unwrap();
    let (run, file) = (folder.path().join("run"), folder.path().join("run.cutap"));
    let ring = ended(&run);
    let good = fs::read(&ring).unwrap();
    let at = |n: u64| 4096 + n * CHUNK;
    let none = Damage::default();
    // What is written where; whether heads around it tell the number of calls.
    let mut writes = vec![
        ("nothing", at(1), vec![], true),
        ("zeros in it", at(1) + 512, vec![0; 64], true),
        ("zeros to its end", at(1) + 512, vec![0; CHUNK as usize - 512], true),
        ("ones", at(1) + 512, vec![0xff; 64], true),
        ("an unknown slot", at(1) + CHUNK_HEADER as u64, vec![0, 0, 0, 0], true),
        ("no head", at(1), vec![0; CHUNK_HEADER], true),
        ("nothing at all", at(1), vec![0; CHUNK as usize], true),
        ("a state that is none", at(1), vec![7], true),
        ("more bytes than it has", at(1) + 32, vec![0xff; 4], true),
        ("fewer calls than it has", at(1) + 36, vec![0, 0], true),
        ("no head, the first", at(0), vec![0; CHUNK_HEADER], true),
        ("no head, the last", at(4), vec![0; CHUNK_HEADER], false),
    ];
    // The first record, with another slot.
    let first = u64::from_le_bytes(*good[(at(1) + CHUNK_HEADER as u64) as usize..].first_chunk().unwrap());
    writes[4].2 = (first & !(0x7ffff << 13) | 77 << 13).to_le_bytes().into();
    writes.extend((0..40).map(|seed| ("random records", at(2) + 512 + seed % 8, random(1500, seed), true)));
    writes.extend((0..10).map(|seed| ("a random head", at(3), random(CHUNK_HEADER, seed), true)));
    for (what, at, bytes, counted) in writes {
        let spoil = || {
            fs::write(&ring, &good).unwrap();
            OpenOptions::new().write(true).open(&ring).unwrap().write_all_at(&bytes, at).unwrap();
        };
        spoil();
        let (damage, calls) = shown(&run);
        let lost = LostCalls { known: if counted { CALLS - calls } else { 0 }, uncounted: u64::from(!counted) };
        let expected = if bytes.is_empty() { none } else { Damage { parts: 1, lost } };
        assert_eq!(damage, expected, "{what}: show of the run directory");
        assert!(bytes.is_empty() || (CALLS - 90..CALLS).contains(&calls), "{what}: {calls} calls");
        let mut aggregator = Aggregator::open(&run, &Filter::default()).unwrap();
        assert_eq!(aggregator.run(&mut Nothing).damage(), expected, "{what}: report");
        assert_eq!(damaged(&run).unwrap(), expected, "{what}: a look");
        for (consume, look) in [(false, true), (false, false), (true, false)] {
            spoil();
            let told = format!("{what}, consume {consume}, look {look}");
            let mut reported = recorded(&run, &file, consume, look);
            // A collector may not be the first one of its run: it counts no calls before the first chunk that it finds.
            if !look && what.ends_with("the first") {
                assert_eq!(reported.lost, LostCalls::uncounted(1), "{told}");
                reported.lost = expected.lost;
            }
            assert_eq!(reported, expected, "{told}");
            assert_eq!(shown(&file), (expected, calls), "{told}: show of the recording");
        }
    }
}
