//! Messages of NVTX: what the program gave, as bytes of UTF-8.

use super::read;
use crate::process::fork;

/// Bytes of a message that are kept.
pub const LONGEST: usize = 256;

/// A message.
pub struct Text {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Text {
    pub const fn empty() -> Text {
        Text { bytes: [0; LONGEST], length: 0 }
    }

    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&[])
    }

    /// The text at an address, up to its zero.
    pub fn ascii(at: usize) -> Text {
        fork::check();
        let mut text = Text::empty();
        text.length = read::text(at, &mut text.bytes);
        text
    }

    /// A text that is known, or as much of it as there is room for.
    pub fn of(bytes: &[u8]) -> Text {
        let mut text = Text::empty();
        text.bytes.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        text.length = bytes.len().min(LONGEST);
        text
    }

    /// The same behind other words, as much of it as there is room for.
    pub fn after_label(&self, words: &[u8]) -> Text {
        let mut text = Text::empty();
        text.bytes.iter_mut().zip(words.iter().chain(self.bytes())).for_each(|(to, from)| *to = *from);
        text.length = (words.len() + self.length).min(LONGEST);
        text
    }

    /// The text of characters of four bytes (`wchar_t`).
    pub fn wide(at: usize) -> Text {
        fork::check();
        let mut text = Text::empty();
        for n in 0..LONGEST {
            let mut word = [0; 4];
            if read::bytes(at.wrapping_add(n * 4), &mut word) != word.len() {
                break;
            }
            let Some(character) = char::from_u32(u32::from_le_bytes(word)).filter(|c| *c != '\0') else { break };
            let mut encoded = [0; 4];
            let encoded = character.encode_utf8(&mut encoded).as_bytes();
            let Some(room) = text.bytes.get_mut(text.length..text.length + encoded.len()) else { break };
            room.copy_from_slice(encoded);
            text.length += encoded.len();
        }
        text
    }
}
