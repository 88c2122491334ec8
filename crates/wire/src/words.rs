//! What records carry beside their first words: argument words, pieces of the program's memory, one small output. They
//! are read where they lie, and never beyond the bytes that are there.

/// Longest record in words.
pub const MAX_WORDS: u32 = 255;
/// Argument words of a record: bytes in the file's memory, read word by word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Words<'a>(pub(crate) &'a [u8]);

impl<'a> Words<'a> {
    /// The words in these bytes.
    pub fn of(bytes: &'a [u8]) -> Words<'a> {
        Words(bytes)
    }
    /// Number of words.
    pub fn len(&self) -> usize {
        self.0.len() / 8
    }
    /// True when the call left no argument words.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// Word `n`.
    pub fn get(&self, n: usize) -> Option<u64> {
        word(self.0, n)
    }
    /// All words in order.
    pub fn iter(self) -> impl Iterator<Item = u64> + 'a {
        self.0.as_chunks::<8>().0.iter().map(|w| u64::from_le_bytes(*w))
    }
}

impl<'a> Words<'a> {
    /// The first `n` words, and what lies behind them.
    #[inline]
    pub fn split(self, n: usize) -> (Words<'a>, Fragments<'a>) {
        let (words, rest) = self.0.split_at(self.0.len().min(n * 8));
        (Words(words), Fragments(rest))
    }
}

/// Memory of the program that was kept with a record: for each piece its address, a word with the bytes
/// kept (low half) and the bytes meant (high half), and the bytes, filled up to whole words.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fragments<'a>(pub(crate) &'a [u8]);

impl<'a> Fragments<'a> {
    /// The pieces that these bytes hold, as [`Fragments::bytes`] gave them.
    pub fn new(bytes: &'a [u8]) -> Fragments<'a> {
        Fragments(bytes)
    }
    /// All of it as bytes, to be kept beyond the record.
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }
}

/// One piece of the program's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment<'a> {
    /// Where it lay.
    pub address: u64,
    /// How many bytes were meant; more than were kept when there was no room, or not all could be read.
    pub full_length: u32,
    /// What was kept.
    pub bytes: &'a [u8],
}

/// Words of a fragment before its bytes.
pub const FRAGMENT_WORDS: usize = 2;

impl<'a> Iterator for Fragments<'a> {
    type Item = Fragment<'a>;

    fn next(&mut self) -> Option<Fragment<'a>> {
        let (address, lengths) = (word(self.0, 0)?, word(self.0, 1)?);
        let rest = self.0.get(FRAGMENT_WORDS * 8..)?;
        let captured = lengths as u32 as usize;
        let bytes = rest.get(..captured)?;
        self.0 = rest.get(captured.next_multiple_of(8)..).unwrap_or(&[]);
        Some(Fragment { address, full_length: (lengths >> 32) as u32, bytes })
    }
}

impl core::fmt::Debug for Fragments<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(*self).finish()
    }
}

impl core::fmt::Debug for Words<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries((*self).iter()).finish()
    }
}

/// In word 1 of an EXIT_OUTPUT: where the argument's number begins; the value stands below.
pub const OUTPUT_WORD: u32 = 48;
/// In word 1 of an EXIT_OUTPUT: where the number of bytes begins.
pub const OUTPUT_LEN: u32 = 52;

/// What a call wrote to the place that one of its argument words points to: up to eight bytes, of which none above the
/// sixth is set. It stands for a fragment whose address the reader takes from the enter record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Output {
    /// Number of the argument word, at most 15.
    pub word: u8,
    /// Bytes, at most 15 of which eight count.
    pub len: u8,
    /// The bytes.
    pub value: u64,
}

impl Output {
    /// From word 1 of the record.
    pub const fn of(word: u64) -> Output {
        let (n, len) = ((word >> OUTPUT_WORD) as u8 & 0xf, (word >> OUTPUT_LEN) as u8 & 0xf);
        Output { word: n, len: if len > 8 { 8 } else { len }, value: word & ((1 << OUTPUT_WORD) - 1) }
    }
    /// The fragment that it stands for, as [`Fragments`] has it; `address` is the argument word.
    pub fn fragment(&self, address: u64) -> [u8; 24] {
        let len = u64::from(self.len);
        let mut bytes = [0; 24];
        let words = [address, len | len << 32, self.value];
        for (to, from) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
            *to = from.to_le_bytes();
        }
        bytes
    }
}

/// Word `n` of `bytes`.
#[inline]
pub(crate) fn word(bytes: &[u8], n: usize) -> Option<u64> {
    bytes.as_chunks::<8>().0.get(n).map(|w| u64::from_le_bytes(*w))
}
