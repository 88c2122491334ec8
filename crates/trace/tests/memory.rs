//! What reading takes of memory: the only test of its process, for the number is the process's.

/// A few hundred bytes that claim to hold chunks, pages and names of many megabytes, with sums that are right.
#[test]
fn a_small_recording_takes_little_memory() {
    use cutap_file::{Block, Packing, Writer, kind, pack};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.cutap");
    let control = [&cutap_wire::MAGIC.to_le_bytes()[..], &cutap_wire::VERSION.to_le_bytes()].concat();
    let (zeros, mut out) = (vec![0; cutap_file::MOST_BYTES], Vec::new());
    for kinds in [[kind::CHUNK; 4], [kind::PAGE, kind::RING, kind::CONTROL, kind::PROCESS], [kind::NAMES; 4]] {
        let mut writer = Writer::begin(std::fs::File::create(&path).unwrap(), cutap_wire::VERSION).unwrap();
        writer.write(Block::new(kind::CONTROL, 0, 0, 0), &[], &control).unwrap();
        writer.write(Block::new(kind::PROCESS, 0, 0, 0), &[], b"p1-0").unwrap();
        for body in [&[1], &zeros[..1 << 20], &zeros[..]] {
            for (n, kind) in kinds.into_iter().enumerate() {
                let at = if kind == kind::NAMES { (250 << 20) - (n << 24) as u64 } else { n as u64 };
                pack(Packing::Zstd, Block::new(kind, 0, n as u32, at), &[0; 64], body, &mut out).unwrap();
                writer.append(&out).unwrap();
            }
        }
        drop(writer);
        assert!(std::fs::metadata(&path).unwrap().len() < 16 << 10);
        let before = resident();
        let events = cutap_trace::EventReader::open(&path, cutap_trace::ReaderOptions::default()).map(|mut follow| {
            let mut events = 0;
            follow.poll(true, &mut |_| events += 1).unwrap();
            follow.end();
            events
        });
        let more = resident().saturating_sub(before);
        assert!(more < 24 << 10, "{kinds:?}: {events:?} in {more} KiB more");
    }
}

/// KiB that this process has had at most.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).expect("Linux says it");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}
