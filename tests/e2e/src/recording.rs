//! The file of a recording as docs/reference/file-format.md describes it, for tests that damage one. It knows where a
//! block begins, and no more.

/// Where each block of a recording begins, and where its body does, by docs/reference/file-format.md.
pub fn blocks(bytes: &[u8]) -> Vec<(usize, usize)> {
    let word = |at: usize| bytes[at..at + 4].iter().rev().fold(0, |w, b| w << 8 | usize::from(*b));
    let (mut at, mut found) = (24, Vec::new());
    while at < bytes.len() {
        let plain = word(at + 4) >> 16;
        found.push((at, at + 40 + plain));
        at += (40 + plain + word(at + 28)).next_multiple_of(8);
    }
    found
}
