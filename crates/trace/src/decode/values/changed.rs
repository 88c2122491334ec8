//! Argument words as a hook changed them.

use super::memory::Memory;
use super::row::place;
use super::walk::{Side, Walk};
use crate::event::described::{Described, WordSource};

impl Described {
    /// Gives a parameter another value in the words of a call; of a large one, to one word of it.
    pub(crate) fn change(&self, words: &mut [u64], n: usize, word: usize, value: u64) {
        let Some(param) = self.function.params.get(n) else { return };
        let at = match self.words {
            WordSource::Block => Some(usize::from(param.offset) + word * 8),
            WordSource::Frame(recorded) => {
                let (first, second) =
                    if word == 1 && param.second != 255 { (param.second, 0) } else { (param.word, word) };
                place(first, self.function.shape, recorded).map(|first| (first + second) * 8)
            }
        };
        let Some(first) = at else { return };
        let size = Walk::new(self.tables, self.version, Memory::new(&[]), Side::Before).size_of(param.ty);
        let Some(rest) = size.checked_sub(word * 8) else { return };
        for (at, byte) in (first..).zip(value.to_le_bytes()).take(rest) {
            if let Some(word) = words.get_mut(at / 8) {
                let mut bytes = word.to_le_bytes();
                bytes[at % 8] = byte;
                *word = u64::from_le_bytes(bytes);
            }
        }
    }
}
