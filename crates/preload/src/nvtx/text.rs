//! Messages of NVTX: what the program gave, as bytes of UTF-8.

use super::read;
use crate::process::fork;

/// Bytes of a message that are kept.
pub const LONGEST: usize = 256;
/// The end of a message that was longer.
const ELLIPSIS: &[u8] = "…".as_bytes();

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
        let mut next = [0];
        let is_longer = text.length == LONGEST && read::bytes(at.wrapping_add(LONGEST), &mut next) == 1 && next != [0];
        if is_longer { text.cut(LONGEST) } else { text }
    }

    /// A text that is known, or as much of it as there is room for.
    pub fn of(bytes: &[u8]) -> Text {
        Text::shortened(bytes, LONGEST)
    }

    /// A text that is known, with at most so many bytes.
    pub fn shortened(bytes: &[u8], most: usize) -> Text {
        let mut text = Text::empty();
        text.bytes.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        text.length = bytes.len().min(LONGEST);
        if bytes.len() > most { text.cut(most) } else { text }
    }

    /// The beginning, which ends with an ellipsis, in so many bytes.
    fn cut(mut self, most: usize) -> Text {
        let mut end = most.saturating_sub(ELLIPSIS.len());
        // Not inside of a character.
        while end > 0 && self.bytes.get(end).is_some_and(|byte| byte & 0xc0 == 0x80) {
            end -= 1;
        }
        self.bytes.iter_mut().skip(end).zip(ELLIPSIS).for_each(|(to, from)| *to = *from);
        self.length = end + ELLIPSIS.len();
        self
    }

    /// The same behind other words, as much of it as there is room for.
    pub fn after_label(&self, words: &[u8]) -> Text {
        let mut text = Text::empty();
        text.bytes.iter_mut().zip(words.iter().chain(self.bytes())).for_each(|(to, from)| *to = *from);
        let length = words.len() + self.length;
        text.length = length.min(LONGEST);
        if length > LONGEST { text.cut(LONGEST) } else { text }
    }

    /// The text of characters of four bytes (`wchar_t`).
    pub fn wide(at: usize) -> Text {
        fork::check();
        let mut text = Text::empty();
        for n in 0..=LONGEST {
            let mut word = [0; 4];
            if read::bytes(at.wrapping_add(n * 4), &mut word) != word.len() {
                break;
            }
            let Some(character) = char::from_u32(u32::from_le_bytes(word)).filter(|c| *c != '\0') else { break };
            let mut encoded = [0; 4];
            let encoded = character.encode_utf8(&mut encoded).as_bytes();
            let Some(room) = text.bytes.get_mut(text.length..text.length + encoded.len()) else {
                text.length = LONGEST;
                return text.cut(LONGEST);
            };
            room.copy_from_slice(encoded);
            text.length += encoded.len();
        }
        text
    }
}
