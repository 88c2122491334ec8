//! Parts of JSON that are appended to a line: texts, numbers, addresses. Most of a line of calls is short texts in
//! which nothing is escaped, so they are copied whole.

use crate::format::units::Hex;

/// Whether JSON has this text between quotes as it stands: eight bytes at a time.
fn is_plain(text: &[u8]) -> bool {
    const ONES: u64 = u64::MAX / 0xff;
    const HIGH: u64 = ONES * 0x80;
    let is_zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    let mut words = text.chunks_exact(8);
    let mut bad = 0;
    for word in &mut words {
        let word = word.try_into().map_or(0, u64::from_le_bytes);
        // A byte below 0x20 has the high bit in the difference and not in itself.
        let is_control = word.wrapping_sub(ONES * 0x20) & !word & HIGH;
        bad |= is_control | is_zero(word ^ (ONES * u64::from(b'"'))) | is_zero(word ^ (ONES * u64::from(b'\\')));
    }
    bad == 0 && words.remainder().iter().all(|byte| *byte >= 0x20 && *byte != b'"' && *byte != b'\\')
}

/// Appends a text in quotes.
#[inline]
pub(crate) fn text(text: &str, to: &mut Vec<u8>) {
    if is_plain(text.as_bytes()) {
        plain(text, to);
    } else {
        // Writing to memory does not fail.
        let _ = serde_json::to_writer(to, text);
    }
}

/// Appends a text in quotes in which nothing is escaped.
#[inline]
pub(crate) fn plain(text: &str, to: &mut Vec<u8>) {
    to.reserve(text.len() + 3);
    to.push(b'"');
    to.extend_from_slice(text.as_bytes());
    to.push(b'"');
}

/// Appends a whole number.
#[inline]
pub(crate) fn whole(number: impl itoa::Integer, to: &mut Vec<u8>) {
    to.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Appends a truth value.
pub(crate) fn truth(truth: bool, to: &mut Vec<u8>) {
    to.extend_from_slice(if truth { b"true" } else { b"false" });
}

/// Appends the text `"0x1f"`.
#[inline]
pub(crate) fn address(address: u64, to: &mut Vec<u8>) {
    to.push(b'"');
    to.extend_from_slice(Hex::of(address).bytes());
    to.push(b'"');
}
