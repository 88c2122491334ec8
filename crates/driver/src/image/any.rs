//! Any bytes as an image: cubins and fat binaries of the fuzz corpus with changes, PTX of random words, and damaged
//! headers around both. There is an answer or an error.

use super::{Source, link, read};
use cutap_cubin::{LARGEST, fatbin};
use proptest::prelude::*;
use std::sync::LazyLock;

static CORPUS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/cubin");
    let files = std::fs::read_dir(folder).expect("the corpus");
    let all: Vec<_> = files.map(|f| std::fs::read(f.unwrap().path()).unwrap()).collect();
    assert!(all.len() > 2);
    all
});

/// Values that break sums, products and sizes.
const VALUES: [u64; 10] = [0, 1, 7, 64, 255, 0xffff, 1 << 31, LARGEST, 1 << 62, u64::MAX];

/// Words of PTX, and what breaks them.
const WORDS: &[&str] = &[
    ".visible",
    ".entry",
    ".param",
    ".u32",
    ".b8",
    ".f16x2",
    ".align",
    "0",
    "3",
    "8",
    "k",
    "(",
    ")",
    "[",
    "]",
    ",",
    "/*",
    "*/",
    "//",
    "/",
    "\n",
    ".ptr",
    ".global",
    ".const",
    ".v0",
    ".v2",
    ".v4",
    "99999999999",
    "{",
    "}",
    ";",
    "=",
    "18446744073709551615",
    ".maxntid",
    "\u{e9}",
    ".texref",
    "@",
    "a[4294967296]",
    "[9223372036854775807]",
];

/// A change of one number: where, its size in bytes, its value.
fn change() -> impl Strategy<Value = (prop::sample::Index, usize, u64)> {
    (any::<prop::sample::Index>(), prop::sample::select(&[1, 2, 4, 8][..]), prop::sample::select(&VALUES[..]))
}

fn changed(mut bytes: Vec<u8>, changes: &[(prop::sample::Index, usize, u64)], head: usize) -> Vec<u8> {
    for (at, size, value) in changes {
        let at = at.index(bytes.len().min(head)) & !(size - 1);
        for (place, byte) in bytes.iter_mut().skip(at).zip(value.to_le_bytes()).take(*size) {
            *place = byte;
        }
    }
    bytes
}

/// A fat binary with one entry.
pub fn fat(kind: u16, flags: u64, full: u64, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 80];
    let size = content.len() as u64;
    bytes[..4].copy_from_slice(&fatbin::MAGIC.to_le_bytes());
    bytes[6] = 16;
    bytes[8..16].copy_from_slice(&(64 + size).to_le_bytes());
    bytes[16..18].copy_from_slice(&kind.to_le_bytes());
    bytes[20] = 64;
    bytes[24..32].copy_from_slice(&size.to_le_bytes());
    bytes[44] = 90;
    bytes[56..64].copy_from_slice(&flags.to_le_bytes());
    bytes[72..80].copy_from_slice(&full.to_le_bytes());
    bytes.extend_from_slice(content);
    bytes
}

/// Both forms of a source give the same answer. Memory of the program has no end, so only a whole image is tried there.
fn check(bytes: &[u8]) {
    let answer = read(Source::Bytes(bytes));
    let names = |answer: crate::abi::Answer<super::Image>| {
        answer.map(|image| image.kernels.into_iter().map(|k| (k.name, k.parameters)).collect::<Vec<_>>())
    };
    if answer.is_ok() && !bytes.ends_with(&[0]) {
        let mut ended = bytes.to_vec();
        ended.push(0);
        assert_eq!(names(read(Source::Program(ended.as_ptr() as u64))), names(answer));
    }
}

#[test]
fn the_corpus() {
    for bytes in CORPUS.iter() {
        assert!(!read(Source::Bytes(bytes)).expect("an image").kernels.is_empty());
        assert!(read(Source::Program(bytes.as_ptr() as u64)).is_ok());
        let linked = link(&[bytes.clone(), link(&[bytes.clone(), bytes.clone()])]);
        let one = read(Source::Bytes(bytes)).unwrap().kernels.len();
        assert_eq!(read(Source::Bytes(&linked)).expect("linked").kernels.len(), 3 * one);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn changed_images(which in any::<prop::sample::Index>(), changes in prop::collection::vec(change(), 1..4),
                      head in prop::sample::select(&[80, 600, usize::MAX][..])) {
        check(&changed(CORPUS[which.index(CORPUS.len())].clone(), &changes, head));
    }

    #[test]
    fn cut_images(which in any::<prop::sample::Index>(), end in any::<prop::sample::Index>()) {
        let bytes = &CORPUS[which.index(CORPUS.len())];
        check(&bytes[..end.index(bytes.len())]);
    }

    #[test]
    fn any_content(kind in 0u16..4, flags in prop::sample::select(&[0, 0x2000, 0x8000, 0xa000][..]),
                   full in prop::sample::select(&VALUES[..]), content in prop::collection::vec(any::<u8>(), 0..200),
                   zstd in any::<bool>()) {
        let content = if zstd { [&b"\x28\xb5\x2f\xfd"[..], &content].concat() } else { content };
        check(&fat(kind, flags, full, &content));
    }

    #[test]
    fn any_text(words in prop::collection::vec(prop::sample::select(WORDS), 0..40)) {
        check(format!(".version 8.0\n.target sm_80\n{}", words.join(" ")).as_bytes());
        check(format!(".version 8.0\n.target sm_80\n.entry k({}){{ret;}}", words.join(" ")).as_bytes());
    }
}
