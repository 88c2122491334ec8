//! Methods: what a channel is asked to do. A header word names a subchannel, a first method and a count; values follow.

/// Most words of one operation: a launch whose descriptor and constants are in them.
pub(crate) const WORDS: usize = 512;

/// The subchannel of compute objects and of copy objects, as libcuda binds them. Host methods work on each.
const HOST: u32 = 0;
const COMPUTE: u32 = 1;
const COPY: u32 = 4;

/// The methods of one operation.
#[derive(Debug, Clone)]
pub(crate) struct Methods {
    words: [u32; WORDS],
    length: usize,
}

/// A copy or fill, of lines that are `pitch` bytes apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lines {
    /// The bytes (of a fill: values) of a line.
    pub length: u32,
    /// How many lines.
    pub count: u32,
    /// From one line to the next of the destination, in bytes.
    pub to_pitch: u32,
    /// The same for the source.
    pub from_pitch: u32,
}

/// What a compute object is said to work with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Versions {
    /// Compute capability, without the dot.
    pub sm: u32,
    /// The descriptors' major version.
    pub descriptor: u32,
}

/// Where an operation reports its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Release {
    pub address: u64,
    pub payload: u32,
}

fn high(address: u64) -> u32 {
    (address >> 32) as u32
}

impl Methods {
    pub fn new() -> Self {
        Self { words: [0; WORDS], length: 0 }
    }

    pub fn words(&self) -> &[u32] {
        self.words.get(..self.length).unwrap_or_default()
    }

    pub fn clear(&mut self) {
        self.length = 0;
    }

    /// A header for increasing methods, and its values. Callers stay below [`WORDS`]; what is beyond is dropped.
    #[inline]
    fn put(&mut self, subchannel: u32, method: u32, values: &[u32]) {
        self.word(1 << 29 | (values.len() as u32) << 16 | subchannel << 13 | method >> 2);
        values.iter().for_each(|value| self.word(*value));
    }

    #[inline]
    fn word(&mut self, value: u32) {
        debug_assert!(self.length < WORDS, "an operation of too many methods");
        if let Some(word) = self.words.get_mut(self.length) {
            *word = value;
            self.length += 1;
        }
    }

    /// Binds the compute class and sets the windows. Once a channel.
    pub fn set_up_compute(&mut self, class: u32, versions: Versions, shared: u64, local: u64) {
        self.put(COMPUTE, 0x0000, &[class]);
        self.put(COMPUTE, 0x0310, &[((versions.sm / 10) << 8) | (versions.sm % 10)]);
        // Without it a tensor map could be read as an older texture header.
        self.put(COMPUTE, 0x07ac, &[1]);
        // The current version, and the oldest that is accepted.
        self.put(COMPUTE, 0x0288, &[(versions.descriptor << 4) | (1 << 16)]);
        self.put(COMPUTE, 0x0298, &[0]); // the scheduler's caches
        self.put(COMPUTE, 0x02a0, &[high(shared), shared as u32]);
        self.put(COMPUTE, 0x07b0, &[high(local), local as u32]);
    }

    /// Binds the copy class. Once a channel.
    pub fn set_up_copy(&mut self, class: u32) {
        self.put(COPY, 0x0000, &[class]);
    }

    /// The pool of local memory.
    pub fn set_local_memory(&mut self, pool: u64, bytes_per_tpc: u64, tpcs: u32) {
        self.put(COMPUTE, 0x0790, &[high(pool), pool as u32]);
        self.put(COMPUTE, 0x02e4, &[high(bytes_per_tpc), bytes_per_tpc as u32, tpcs]);
    }

    /// Caches of instructions, data and constants: after new code was written.
    pub fn invalidate_shader_caches(&mut self) {
        self.put(COMPUTE, 0x021c, &[0x1011]);
    }

    /// Waits until the word at `address` has reached `payload`, as a number that wraps. With `yields` another channel
    /// of the runlist may run meanwhile.
    pub fn acquire(&mut self, address: u64, payload: u32, yields: bool) {
        const CIRCULAR_GREATER_OR_EQUAL: u32 = 3;
        let switch = u32::from(yields) << 12;
        self.put(HOST, 0x5c, &[address as u32, high(address), payload, 0, CIRCULAR_GREATER_OR_EQUAL | switch]);
    }

    /// Writes a word, as soon as the channel comes to it.
    pub fn release(&mut self, release: Release) {
        let Release { address, payload } = release;
        self.put(HOST, 0x5c, &[address as u32, high(address), payload, 0, 1]);
    }

    /// Writes a word, and at `address + 8` the time in nanoseconds.
    pub fn stamp(&mut self, release: Release) {
        let Release { address, payload } = release;
        self.put(HOST, 0x5c, &[address as u32, high(address), payload, 0, 1 | 1 << 25]);
    }

    /// Waits until all grids of the channel have ended.
    pub fn wait_for_idle(&mut self) {
        self.put(COMPUTE, 0x0110, &[0]);
    }

    /// Writes bytes into memory, before any launch that follows. It waits for no kernel. Methods, flags and order are
    /// libcuda's.
    pub fn inline(&mut self, to: u64, bytes: &[u8]) {
        const PITCH: u32 = 1;
        const NO_SYSTEM_BARRIER: u32 = 1 << 6;
        const SAME_METHOD: u32 = 3 << 29;
        let count = bytes.len().div_ceil(4);
        if count == 0 {
            return;
        }
        self.put(COMPUTE, 0x188, &[high(to), to as u32]);
        self.put(COMPUTE, 0x180, &[bytes.len() as u32, 1]);
        self.put(COMPUTE, 0x1b0, &[PITCH | NO_SYSTEM_BARRIER]);
        self.word(SAME_METHOD | (count as u32) << 16 | COMPUTE << 13 | 0x1b4 >> 2);
        debug_assert!(self.length + count <= WORDS, "an operation of too many methods");
        if let Some(into) = self.words.get_mut(self.length..self.length + count) {
            let (whole, rest) = bytes.as_chunks::<4>();
            into.iter_mut().zip(whole).for_each(|(word, four)| *word = u32::from_le_bytes(*four));
            if let Some(last) = into.get_mut(whole.len()) {
                *last = rest.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
            }
            self.length += count;
        }
    }

    /// Starts the grid of a descriptor, whose address is a multiple of 256 below 2^40. After [`inline`](Self::inline)
    /// the action is libcuda's; both ran on an H200.
    pub fn launch(&mut self, descriptor: u64, is_inline: bool) {
        const INVALIDATE_COPY_SCHEDULE: u32 = 3;
        const INVALIDATE_PREFETCH_COPY_SCHEDULE: u32 = 10;
        let action = if is_inline { INVALIDATE_PREFETCH_COPY_SCHEDULE } else { INVALIDATE_COPY_SCHEDULE };
        self.put(COMPUTE, 0x02b4, &[(descriptor >> 8) as u32]);
        self.put(COMPUTE, 0x02c0, &[action]);
    }

    /// Copies lines of bytes. With `end`, reports when all bytes have arrived.
    pub fn copy(&mut self, to: u64, from: u64, lines: Lines, end: Option<Release>) {
        self.put(COPY, 0x400, &[high(from), from as u32, high(to), to as u32]);
        self.transfer(lines, 0, end);
    }

    /// Fills lines with a value of 1, 2 or 4 bytes. The length of a line counts values. The destination is named as the
    /// source too: several lines without a source's address and pitch stopped the channel on an H200.
    pub fn fill(&mut self, to: u64, value: u32, width: u32, lines: Lines, end: Option<Release>) {
        const REMAP: u32 = 1 << 10;
        // The first component of the destination comes from constant A; `width` bytes; one component.
        self.put(COPY, 0x700, &[value]);
        self.put(COPY, 0x708, &[4 | (width - 1) << 16]);
        if lines.count > 1 {
            self.put(COPY, 0x400, &[high(to), to as u32]);
        }
        self.put(COPY, 0x408, &[high(to), to as u32]);
        self.transfer(Lines { from_pitch: lines.to_pitch, ..lines }, REMAP, end);
    }

    fn transfer(&mut self, lines: Lines, flags: u32, end: Option<Release>) {
        const IN_ORDER: u32 = 2;
        const FLUSH: u32 = 1 << 2;
        const ONE_WORD: u32 = 1 << 3;
        const PITCH_TO_PITCH: u32 = 1 << 7 | 1 << 8;
        const SEVERAL_LINES: u32 = 1 << 9;
        let mut flags = flags | IN_ORDER | FLUSH | PITCH_TO_PITCH;
        if lines.count > 1 {
            flags |= SEVERAL_LINES;
            self.put(COPY, 0x410, &[lines.from_pitch, lines.to_pitch, lines.length, lines.count]);
        } else {
            self.put(COPY, 0x418, &[lines.length, 1]);
        }
        if let Some(Release { address, payload }) = end {
            flags |= ONE_WORD;
            self.put(COPY, 0x240, &[high(address), address as u32, payload]);
        }
        self.put(COPY, 0x300, &[flags]);
    }
}

/// An entry of a channel's ring: `words` words at `address`, below 2^40.
#[must_use]
pub(crate) fn ring_entry(address: u64, words: usize) -> u64 {
    u64::from(address as u32) | u64::from(high(address) | (words as u32) << 10) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE_LINE: Lines = Lines { length: 0x2000, count: 1, to_pitch: 0, from_pitch: 0 };

    fn words(f: impl FnOnce(&mut Methods)) -> Vec<u32> {
        let mut methods = Methods::new();
        f(&mut methods);
        methods.words().to_vec()
    }

    /// Values that libcuda 580.159.04 sends on an H200 for the same purpose.
    #[test]
    fn golden_words() {
        assert_eq!(
            words(|m| {
                let versions = Versions { sm: 90, descriptor: 4 };
                m.set_up_compute(0xcbc0, versions, 0x7fc4_0000_0000, 0x7fc3_2100_0000);
            }),
            [
                0x2001_2000,
                0xcbc0,
                0x2001_20c4,
                0x900,
                0x2001_21eb,
                1,
                0x2001_20a2,
                0x1_0040,
                0x2001_20a6,
                0,
                0x2002_20a8,
                0x7fc4,
                0,
                0x2002_21ec,
                0x7fc3,
                0x2100_0000
            ]
        );
        assert_eq!(words(|m| m.launch(0x2_04e1_0000, false)), [0x2001_20ad, 0x0204_e100, 0x2001_20b0, 3]);
        let fill = words(|m| m.fill(0x2_0462_0000, 0, 4, ONE_LINE, None));
        assert_eq!(
            fill,
            [
                0x2001_81c0,
                0,
                0x2001_81c2,
                0x0003_0004,
                0x2002_8102,
                2,
                0x0462_0000,
                0x2002_8106,
                0x2000,
                1,
                0x2001_80c0,
                0x586
            ]
        );
        let end = Some(Release { address: 0x2_0460_ff70, payload: 7 });
        let copy = words(|m| m.copy(0x1_0000_1000, 0x2_0000_2000, ONE_LINE, end));
        assert_eq!(copy.last(), Some(&0x18e));
        assert_eq!(copy.get(..5), Some(&[0x2004_8100, 2, 0x2000, 1, 0x1000][..]));
    }

    /// Words that libcuda 580.159.04 sent on an H200: parameters of vecadd, then the start of a descriptor. Its whole
    /// launch, two descriptors of which are not sent here, had 390 words.
    #[test]
    fn inline_as_libcuda() {
        let parameters = [0x0fe0_0000_u32, 0x7fc3, 0x0fe4_0000, 0x7fc3, 0x0fe8_0000, 0x7fc3, 0x0001_0000];
        let bytes: Vec<u8> = parameters.iter().flat_map(|word| word.to_le_bytes()).collect();
        let found = words(|m| {
            m.inline(0x7fc3_1628_0210, &bytes);
            m.launch(0x2_04e1_0000, true);
        });
        let before = [0x2002_2062, 0x7fc3, 0x1628_0210, 0x2002_2060, 0x1c, 1, 0x2001_206c, 0x41, 0x6007_206d];
        let after = [0x2001_20ad, 0x0204_e100, 0x2001_20b0, 0xa];
        assert_eq!(found, [&before[..], &parameters, &after].concat());
        let whole = words(|m| {
            for (to, length) in [(0x7fc3_1628_0000, 0x210), (0x7fc3_1628_0210, 0x1c), (0x2_04e1_0000, 0x180)] {
                m.inline(to, &vec![0; length]);
            }
            m.launch(0x2_04e1_0000, true);
            m.inline(0x2_04e0_c000, &[0; 0x180]);
            m.inline(0x2_0463_7f3c, &[0; 4]);
            m.launch(0x2_04e0_c000, true);
            m.put(COMPUTE, 0x1b00, &[2, 0x0460_fff0, 0x43, 4]);
        });
        assert_eq!(whole.len(), 390);
        // A format string of libcuda's: the length counts bytes, and the last word is padded.
        let odd = words(|m| m.inline(0x1000, &[1, 2, 3, 4, 5]));
        assert_eq!(odd.get(3..), Some(&[0x2002_2060, 5, 1, 0x2001_206c, 0x41, 0x6002_206d, 0x0403_0201, 5][..]));
        assert!(words(|m| m.inline(0x1000, &[])).is_empty());
    }

    #[test]
    fn several_lines() {
        let lines = Lines { length: 100, count: 3, to_pitch: 512, from_pitch: 256 };
        let copy = words(|m| m.copy(0x1000, 0x2000, lines, None));
        assert_eq!(copy.get(5..), Some(&[0x2004_8104, 256, 512, 100, 3, 0x2001_80c0, 0x386][..]));
    }

    #[test]
    fn ring_entries_have_40_bits() {
        assert_eq!(ring_entry(0x2_0080_0370, 7), 0x1c02_0080_0370);
    }
}
