//! The format is pinned by its bytes; a file that is cut off, damaged or of another version is read up
//! to there, and said to be so.

use cutap_file::{Block, Bytes, Cut, Error, Head, Packing, VERSION, Why, Writer, body, kind, pack, walk};
use proptest::prelude::*;

type Read = (u8, u32, u32, u64, Vec<u8>, Vec<u8>);

const WIRE: u32 = 1;

/// A small recording: each kind once, bodies that pack well and bodies that do not.
fn small() -> Vec<Read> {
    let page = [b"CUTAPRUN".to_vec(), vec![0; 200]].concat();
    vec![
        (kind::CONTROL, 0, 0, 0, vec![], b"control".to_vec()),
        (kind::PROCESS, 0, 0, 0, vec![], b"p12-0".to_vec()),
        (kind::PAGE, 0, 0, 0, vec![], page),
        (kind::NAMES, 0, 0, 64, vec![], vec![7; 128]),
        (kind::RING, 0, 3, 0, vec![], b"ring".to_vec()),
        (kind::CHUNK, 0, 3, 1, (0..64).collect(), vec![]),
        (kind::CHUNK, 0, 3, 2, vec![9; 100], b"abcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabc".to_vec()),
        (kind::END, 0, 0, 0, vec![], vec![]),
    ]
}

/// The same at rest.
fn write_packed(blocks: &[Read]) -> Vec<u8> {
    let mut writer = Writer::begin(Vec::new(), WIRE).unwrap();
    let mut bytes = Vec::new();
    for (kind, process, ring, at, plain, body) in blocks {
        pack(Packing::Zstd, Block::new(*kind, *process, *ring, *at), plain, body, &mut bytes).unwrap();
        writer.append(&bytes).unwrap();
    }
    assert_eq!(writer.bytes(), writer.out().len() as u64);
    std::mem::take(writer.out())
}

fn write(blocks: &[Read]) -> Vec<u8> {
    let mut writer = Writer::begin(Vec::new(), WIRE).unwrap();
    for (kind, process, ring, at, plain, body) in blocks {
        writer.write(Block::new(*kind, *process, *ring, *at), plain, body).unwrap();
    }
    assert_eq!(writer.bytes(), writer.out().len() as u64);
    std::mem::take(writer.out())
}

/// What is read, with an empty body where it is damaged.
fn read(file: &[u8]) -> Result<(Vec<Read>, Cut), Error> {
    let mut blocks = Vec::new();
    let cut = walk(file, WIRE, &mut |block, plain| blocks.push((*block, plain.to_vec())))?;
    let mut out = Vec::new();
    let whole = blocks.into_iter().map(|(b, plain)| {
        let _ = body(file, &b, &mut out);
        (b.kind, b.process, b.ring, b.at, plain, out.clone())
    });
    Ok((whole.collect(), cut))
}

fn hex(bytes: &[u8]) -> String {
    let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    let lines: Vec<&str> = hex.as_bytes().chunks(96).map(|l| std::str::from_utf8(l).unwrap()).collect();
    lines.join("\n") + "\n"
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|d| u8::from_str_radix(std::str::from_utf8(d).unwrap(), 16).unwrap()).collect()
}

#[test]
fn bytes_are_as_they_were() {
    let (open, at_rest) = (include_str!("version3.hex"), include_str!("version3_at_rest.hex"));
    assert_eq!(hex(&write(&small())), open, "files of users can no longer be read: raise VERSION");
    assert_eq!(VERSION, 3, "keep the files of old versions, and a reader for them or a refusal");
    // Another zstd may pack in another way: what was packed once must stay readable.
    for golden in [open, at_rest] {
        assert_eq!(read(&bytes_of(golden)).unwrap().0, small());
    }
}

#[test]
fn reads_what_it_wrote() {
    for bytes in [write(&small()), write_packed(&small())] {
        let (blocks, cut) = read(&bytes).unwrap();
        assert_eq!(blocks, small());
        assert_eq!(cut.why, Why::Ended);
    }
    let long: Vec<u8> = (0..100_000u32).flat_map(|n| (n / 3).to_le_bytes()).collect();
    let one = vec![(kind::CHUNK, 1, 2, 3, vec![7; 64], long)];
    assert!(write_packed(&one).len() < write(&one).len());
    assert_eq!(read(&write_packed(&one)).unwrap().0, one);
}

#[test]
fn cut_off_at_every_byte() {
    cut_off(&write);
    cut_off(&write_packed);
}

fn cut_off(write: &dyn Fn(&[Read]) -> Vec<u8>) {
    let (all, file) = (small(), write(&small()));
    let ends: Vec<usize> = (0..=all.len()).map(|n| write(&all[..n]).len()).collect();
    for len in 0..=file.len() {
        if (8..Head::BYTES).contains(&len) {
            assert_eq!(read(&file[..len]).unwrap(), (vec![], Cut { at: 0, why: Why::CutOff }), "{len}");
            continue;
        }
        if len < 8 {
            assert!(matches!(read(&file[..len]), Err(Error::NotOurs)), "{len}");
            continue;
        }
        let (blocks, cut) = read(&file[..len]).unwrap();
        let whole = ends.iter().filter(|end| **end <= len).count() - 1;
        assert_eq!(blocks, all[..whole], "{len}");
        assert_eq!(cut.at, ends[whole] as u64, "{len}");
        let why = match (ends.contains(&len), len == file.len()) {
            (_, true) => Why::Ended,
            (true, _) => Why::Open,
            (false, _) => Why::CutOff,
        };
        assert_eq!(cut.why, why, "{len}");
    }
}

/// What a full disk leaves where a block should stand; a byte that is none is damage.
#[test]
fn zeros_at_the_end_are_no_damage() {
    let whole = write(&small());
    for zeros in [1, 39, 40, 4096, 5000, 20_000] {
        let mut file = whole.clone();
        file.resize(whole.len() + zeros, 0);
        assert_eq!(read(&file).unwrap(), (small(), Cut { at: whole.len() as u64, why: Why::CutOff }), "{zeros}");
        file.extend([1; 48]);
        assert_eq!(read(&file).unwrap().1.why, Why::Damaged, "{zeros}");
    }
}

#[test]
fn a_flipped_bit_is_never_taken_for_what_was_written() {
    flipped(write(&small()));
    flipped(write_packed(&small()));
}

fn flipped(file: Vec<u8>) {
    let all = small();
    for bit in 0..file.len() * 8 {
        let mut damaged = file.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let Ok((blocks, cut)) = read(&damaged) else { continue };
        assert!(blocks.len() <= all.len());
        for (found, written) in blocks.iter().zip(&all) {
            let empty = (written.0, written.1, written.2, written.3, written.4.clone(), vec![]);
            assert!(found == written || *found == empty, "bit {bit}: {found:?}");
        }
        assert!(blocks.len() == all.len() || cut.why != Why::Ended, "bit {bit}: it does not say that it is damaged");
    }
}

#[test]
fn other_files_are_refused() {
    assert!(matches!(read(b""), Err(Error::NotOurs)));
    assert!(matches!(read(&[b'x'; 4096]), Err(Error::NotOurs)));
    let newer = Head { version: VERSION + 1, wire: WIRE }.bytes();
    assert!(matches!(read(&newer), Err(Error::OtherVersion(v)) if v == VERSION + 1));
    for older in [1, 2] {
        let refused = read(&Head { version: older, wire: WIRE }.bytes());
        assert!(matches!(refused, Err(Error::OtherVersion(v)) if v == older));
    }
    let other_wire = Head { version: VERSION, wire: 77 }.bytes();
    assert!(matches!(read(&other_wire), Err(Error::OtherVersion(77))));
}

#[test]
fn unknown_kinds_are_stepped_over() {
    let mut all = small();
    all.insert(3, (200, 1, 2, 3, vec![1; 9], vec![4; 99]));
    assert_eq!(read(&write(&all)).unwrap().0, all);
}

fn blocks() -> impl Strategy<Value = Vec<Read>> {
    let bytes = |most| prop::collection::vec(prop_oneof![Just(0u8), any::<u8>()], 0..most);
    prop::collection::vec((any::<u8>(), any::<u32>(), any::<u32>(), any::<u64>(), bytes(200), bytes(3000)), 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_blocks_come_back(all in blocks(), cut in any::<prop::sample::Index>()) {
        prop_assert_eq!(&read(&write_packed(&all)).unwrap().0, &all);
        let file = write(&all);
        prop_assert_eq!(&read(&file).unwrap().0, &all);
        let len = cut.index(file.len() + 1).max(Head::BYTES);
        let (some, _) = read(&file[..len]).unwrap();
        prop_assert_eq!(&some[..], &all[..some.len()]);
    }

    #[test]
    fn any_bytes_are_survived(mut bytes in prop::collection::vec(any::<u8>(), 0..500)) {
        let _ = read(&bytes);
        bytes.splice(0..0, Head { version: VERSION, wire: WIRE }.bytes());
        let (_, cut) = read(&bytes).unwrap();
        prop_assert!(cut.at <= bytes.len() as u64);
        let _ = Bytes::read_at(&bytes[..], &mut [0; 8], u64::MAX);
    }
}
