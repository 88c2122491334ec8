//! Small cubins with large demands: many missing symbols, parts that overlap, alignments that spread them.

use cutap_cudest::contents;
use std::time::{Duration, Instant};

const PROGBITS: u32 = 1;
const SYMTAB: u32 = 2;
const STRTAB: u32 = 3;
const RELA: u32 = 4;

/// A section: the place of its name in the table of names, its kind and bytes, its link and info, its alignment.
#[derive(Clone, Copy)]
struct Section {
    name: usize,
    kind: u32,
    offset: usize,
    size: usize,
    link: u32,
    info: u32,
    align: u64,
}

/// A cubin of sm_90. The content follows the header, then the headers of sections. Section 0 is empty, section 1 has
/// the names of sections.
fn cubin(content: &[u8], names: (usize, usize), sections: &[Section]) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
    (bytes[6], bytes[7], bytes[8]) = (1, 51, 7);
    bytes[16..20].copy_from_slice(&[2, 0, 190, 0]);
    bytes[20] = 1;
    bytes[40..48].copy_from_slice(&(64 + content.len() as u64).to_le_bytes());
    bytes[48] = 90;
    bytes[52] = 64;
    bytes[58] = 64;
    bytes[60..62].copy_from_slice(&(sections.len() as u16 + 2).to_le_bytes());
    bytes[62] = 1;
    bytes.extend_from_slice(content);
    bytes.extend_from_slice(&[0; 64]);
    let first = Section { name: 0, kind: STRTAB, offset: names.0, size: names.1, link: 0, info: 0, align: 1 };
    for section in std::iter::once(&first).chain(sections) {
        bytes.extend_from_slice(&(section.name as u32).to_le_bytes());
        bytes.extend_from_slice(&section.kind.to_le_bytes());
        for word in [0, 0, 64 + section.offset as u64, section.size as u64] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(&section.link.to_le_bytes());
        bytes.extend_from_slice(&section.info.to_le_bytes());
        bytes.extend_from_slice(&section.align.to_le_bytes());
        bytes.extend_from_slice(&24_u64.to_le_bytes());
    }
    bytes
}

fn refused(bytes: &[u8]) -> String {
    contents(bytes).expect_err("it is damaged").to_string()
}

/// A limit for tests that would take minutes.
fn soon<T>(run: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = run();
    assert!(start.elapsed() < Duration::from_secs(30), "it takes {:?}", start.elapsed());
    done
}

/// `count` symbols, `names` bytes of their names, and a relocation of section 2 for each.
fn with_symbols(count: usize, name_of: impl Fn(usize) -> (usize, String)) -> Vec<u8> {
    let mut content = b"\0.text.k\0.nv.constant0.k\0".to_vec();
    let names = (0, content.len());
    let mut strings = vec![0];
    let (mut symbols, mut relocations) = (vec![0; 24], Vec::new());
    for number in 0..count {
        let (at, name) = name_of(number);
        let at = if name.is_empty() { at } else { strings.len() };
        strings.extend_from_slice(name.as_bytes());
        symbols.extend_from_slice(&(at as u32).to_le_bytes());
        symbols.extend_from_slice(&[0x12, 0]);
        symbols.extend_from_slice(&[0; 18]);
        for word in [0, (number as u64 + 1) << 32 | 2, 0] {
            relocations.extend_from_slice(&word.to_le_bytes());
        }
    }
    let mut place = |bytes: &[u8]| {
        content.extend_from_slice(bytes);
        (content.len() - bytes.len(), bytes.len())
    };
    let parts = [place(&[0; 128]), place(&strings), place(&symbols), place(&relocations)];
    let section = |name, kind, part: usize, link, info| {
        let (offset, size) = parts[part];
        Section { name, kind, offset, size, link, info, align: 1 }
    };
    let sections = [
        section(1, PROGBITS, 0, 0, 0),
        section(9, PROGBITS, 0, 0, 0),
        section(0, STRTAB, 1, 0, 0),
        section(0, SYMTAB, 2, 4, 0),
        section(0, RELA, 3, 5, 2),
    ];
    cubin(&content, names, &sections)
}

#[test]
fn many_missing_functions() {
    let bytes = with_symbols(50_000, |number| (0, format!("f{number:05}\0")));
    let found = soon(|| contents(&bytes)).unwrap();
    assert_eq!((found.missing.len(), found.kernels.len()), (50_000, 1));
    assert_eq!((found.missing[0].as_str(), found.missing[49_999].as_str()), ("f00000", "f49999"));
}

#[test]
fn names_that_share_their_end() {
    let long = "n".repeat(500_000) + "\0";
    let bytes = with_symbols(20_000, |number| (number, if number == 0 { long.clone() } else { String::new() }));
    assert_eq!(soon(|| refused(&bytes)), "the cubin is damaged: its parts overlap");
}

/// Sections of code and data, tables of relocations, and names that are all of the file.
#[test]
fn sections_that_overlap() {
    let mut content = b"\0.nv.global.init\0.text.k\0.nv.info\0.nv.info.k\0.nv.constant0.k\0".to_vec();
    content.extend_from_slice(&vec![4; 400_000]);
    content.push(0);
    let all = Section { name: 1, kind: PROGBITS, offset: 0, size: content.len(), link: 0, info: 2, align: 128 };
    let many = |section| vec![section; 6000];
    for (sections, names) in [
        (many(all), 61),
        (many(Section { name: 17, ..all }), 61),
        (many(Section { name: 25, ..all }), 61),
        (
            [
                &[Section { name: 45, ..all }, Section { name: 17, size: 16, ..all }],
                &many(Section { name: 34, ..all })[..],
            ]
            .concat(),
            61,
        ),
        (many(Section { name: 61, size: 0, ..all }), content.len()),
        (
            [&[Section { size: 16, ..all }], &many(Section { name: 0, kind: RELA, size: 24 * 16_000, ..all })[..]]
                .concat(),
            61,
        ),
    ] {
        let why = soon(|| refused(&cubin(&content, (0, names), &sections)));
        assert!(why.contains("overlap") || why.contains("relocation") || why.contains("symbol"), "{why}");
    }
}

#[test]
fn alignments_that_spread_sections() {
    let content = b"\0.nv.global.init\0";
    let section = |offset| Section { name: 1, kind: PROGBITS, offset, size: 1, link: 0, info: 0, align: 1 << 20 };
    let sections: Vec<_> = (0..content.len()).map(section).collect();
    assert!(contents(&cubin(content, (0, content.len()), &sections[..8])).is_ok());
    let mut long = content.to_vec();
    long.resize(4000, 0);
    let sections: Vec<_> = (0..4000).map(section).collect();
    let why = refused(&cubin(&long, (0, content.len()), &sections));
    assert!(why.contains("are spread over"), "{why}");
}
