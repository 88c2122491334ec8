//! Values beside each other: the parameters of a call or the fields of a struct, as bytes. Rules name their siblings by
//! number.

use crate::event::described::WordSource;
use cutap_calls::known::{Param, Shape, Struct};

/// Parameters or fields, and the bytes that they are in.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    pub params: &'static [Param],
    bytes: &'a [u8],
    layout: Layout,
}

/// Where a value lies in the bytes.
#[derive(Debug, Clone, Copy)]
enum Layout {
    /// At its offset.
    Offsets,
    /// In its word; words as the description has them, and as they were recorded.
    Words { described: Shape, recorded: Shape },
}

/// The bytes of one value.
#[derive(Debug, Clone, Copy)]
pub enum Cell<'a> {
    Slice(&'a [u8]),
    /// Two words that lie apart: a struct in two registers.
    Two([u8; 16], usize),
}

impl Cell<'_> {
    pub fn bytes(&self) -> &[u8] {
        match self {
            Cell::Slice(bytes) => bytes,
            Cell::Two(bytes, size) => bytes.get(..*size).unwrap_or(bytes),
        }
    }
}

impl<'a> Row<'a> {
    /// A call's parameters in its recorded words.
    pub(crate) fn call(params: &'static [Param], described: Shape, words: WordSource, bytes: &'a [u8]) -> Row<'a> {
        let layout = match words {
            WordSource::Block => Layout::Offsets,
            WordSource::Frame(recorded) => Layout::Words { described, recorded },
        };
        Row { params, bytes, layout }
    }

    /// A struct's fields.
    pub fn fields(of: &'static Struct, bytes: &'a [u8]) -> Row<'a> {
        Row { params: of.fields, bytes, layout: Layout::Offsets }
    }

    /// The bytes of value `n`, `size` of them; `None` when they were not recorded.
    pub fn cell(&self, n: usize, size: usize) -> Option<Cell<'a>> {
        let param = self.params.get(n)?;
        let slice = |from: usize, size: usize| self.bytes.get(from..from.checked_add(size)?);
        match self.layout {
            Layout::Offsets => slice(param.offset.into(), size).map(Cell::Slice),
            Layout::Words { described, recorded } => {
                let first = place(param.word, described, recorded)?;
                if param.second == 255 || size <= 8 {
                    return slice(first * 8, size).map(Cell::Slice);
                }
                let second = place(param.second, described, recorded)?;
                let mut both = [0; 16];
                both[..8].copy_from_slice(slice(first * 8, 8)?);
                both[8..].copy_from_slice(slice(second * 8, 8)?);
                Some(Cell::Two(both, size.min(16)))
            }
        }
    }
}

/// Where a word of the description stands among the recorded ones.
pub fn place(word: u8, described: Shape, recorded: Shape) -> Option<usize> {
    if described == recorded {
        let all = u32::from(described.ints) + u32::from(described.vectors) + u32::from(described.stack);
        return (u32::from(word) < all).then_some(word.into());
    }
    let mut n = word;
    let mut before = 0;
    for (has, kept) in
        [(described.ints, recorded.ints), (described.vectors, recorded.vectors), (described.stack, recorded.stack)]
    {
        if n < has {
            return (n < kept).then(|| before + usize::from(n));
        }
        n -= has;
        before += usize::from(kept);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_another_shape() {
        let shape = |ints, vectors, stack| Shape { ints, vectors, stack };
        let same = shape(2, 1, 1);
        assert_eq!(
            [0, 1, 2, 3, 4, 255].map(|w| place(w, same, same)),
            [Some(0), Some(1), Some(2), Some(3), None, None]
        );
        let plain = shape(6, 0, 0);
        assert_eq!([0, 1, 2, 3].map(|w| place(w, same, plain)), [Some(0), Some(1), None, None]);
        assert_eq!(place(7, shape(6, 0, 2), shape(6, 1, 2)), Some(8));
    }
}
