//! The launch descriptor (QMD), version 4.0 of Hopper: 384 bytes at a multiple of 256. Fields are bits of it, by the
//! positions that NVIDIA publishes in `clcbc0qmd.h`.

/// Words of a descriptor.
pub(crate) const WORDS: usize = 96;

/// Highest and lowest bit.
type Bits = (usize, usize);

const TYPE: Bits = (25, 23);
const API_CALL_LIMIT: Bits = (568, 568);
const SAMPLER_INDEX: Bits = (569, 569);
const MAJOR_VERSION: Bits = (583, 580);
const SASS_VERSION: Bits = (543, 536);
const LOCAL_MEMORY: Bits = (567, 544);
const SHARED_MEMORY: Bits = (601, 584);
const INVALIDATE: Bits = (607, 602);
const SHARED_MIN: Bits = (613, 608);
const SHARED_MAX: Bits = (619, 614);
const SHARED_TARGET: Bits = (625, 620);
const GRID_X: Bits = (1055, 1024);
const GRID_Y: Bits = (1071, 1056);
const GRID_Z: Bits = (1103, 1088);
const MEMBAR: Bits = (1137, 1136);
const BLOCK_X: Bits = (1167, 1152);
const BLOCK_Y: Bits = (1183, 1168);
const BLOCK_Z: Bits = (1199, 1184);
const REGISTERS: Bits = (1208, 1200);
const BARRIERS: Bits = (1215, 1211);
const PROGRAM_LOW: Bits = (1247, 1216);
const PROGRAM_HIGH: Bits = (1272, 1248);

/// Grid or block: x, y, z.
pub type Dim3 = (u32, u32, u32);

/// All but a launch's own fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Program {
    pub address: u64,
    pub registers: u32,
    pub barriers: u32,
    /// Bytes a thread of local memory; 0: none.
    pub local: u32,
}

/// A launch descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Qmd {
    words: [u32; WORDS],
}

/// The code of a carve-out of so many bytes: KiB / 4 + 1, of the sizes that the SM can be set to.
fn carve_out(bytes: u32) -> u32 {
    const KIB: [u32; 9] = [8, 16, 32, 64, 100, 132, 164, 196, 228];
    KIB.into_iter().find(|kib| bytes <= kib * 1024).unwrap_or(228) / 4 + 1
}

impl Qmd {
    pub fn new(program: &Program) -> Self {
        // Texture headers, samplers, texture data, shader data, constants: the host may have changed all of them.
        const CACHES: u32 = 0x2f;
        let mut qmd = Self { words: [0; WORDS] };
        qmd.set(TYPE, 2); // a grid
        qmd.set(MAJOR_VERSION, 4);
        qmd.set(API_CALL_LIMIT, 1);
        qmd.set(SAMPLER_INDEX, 1);
        qmd.set(SASS_VERSION, 0x90);
        qmd.set(INVALIDATE, CACHES);
        qmd.set(MEMBAR, 1); // stores reach the system before the release
        qmd.set(REGISTERS, program.registers);
        qmd.set(BARRIERS, program.barriers);
        qmd.set(PROGRAM_LOW, program.address as u32);
        qmd.set(PROGRAM_HIGH, (program.address >> 32) as u32);
        qmd.set(LOCAL_MEMORY, program.local);
        qmd
    }

    pub fn words(&self) -> &[u32; WORDS] {
        &self.words
    }

    fn set(&mut self, (high, low): Bits, value: u32) {
        let (word, shift, bits) = (low / 32, low % 32, high - low + 1);
        let mask = if bits >= 32 { u64::from(u32::MAX) } else { (1 << bits) - 1 };
        let (mask, value) = (mask << shift, (u64::from(value) & mask) << shift);
        for (at, part) in [(word, 0), (word + 1, 32)] {
            if let (Some(word), true) = (self.words.get_mut(at), mask >> part as u32 != 0) {
                *word = *word & !((mask >> part) as u32) | (value >> part) as u32;
            }
        }
    }

    /// Bytes a thread of local memory.
    pub fn set_local(&mut self, bytes: u32) {
        self.set(LOCAL_MEMORY, bytes);
    }

    /// Grid and block.
    pub fn set_shape(&mut self, grid: Dim3, block: Dim3) {
        self.set(GRID_X, grid.0);
        self.set(GRID_Y, grid.1);
        self.set(GRID_Z, grid.2);
        self.set(BLOCK_X, block.0);
        self.set(BLOCK_Y, block.1);
        self.set(BLOCK_Z, block.2);
    }

    /// Shared memory of a block, with the system's first KiB.
    pub fn set_shared(&mut self, bytes: u32) {
        self.set(SHARED_MEMORY, bytes.next_multiple_of(128));
        self.set(SHARED_MIN, carve_out(bytes));
        self.set(SHARED_TARGET, carve_out(bytes.max(32 << 10)));
        self.set(SHARED_MAX, carve_out(228 << 10));
    }

    /// A constant bank, at a multiple of 64.
    pub fn set_bank(&mut self, bank: usize, address: u64, bytes: usize) {
        let at = 1536 + 64 * bank;
        self.set((416 + 4 * bank, 416 + 4 * bank), 1);
        self.set((at + 31, at), (address >> 6) as u32);
        self.set((at + 50, at + 32), (address >> 38) as u32);
        self.set((at + 63, at + 51), bytes.div_ceil(16) as u32);
    }

    /// One of three words (0 to 2) that the GPU writes when all blocks have ended and their stores have arrived.
    pub fn set_release(&mut self, word: usize, address: u64, payload: u32) {
        let (flags, at) = (320 + 16 * word, 640 + 128 * word);
        self.set((flags, flags), 1);
        self.set((flags + 2, flags + 1), 1); // one word, without the time
        self.set((at + 31, at), address as u32);
        self.set((at + 56, at + 32), (address >> 32) as u32);
        self.set((at + 95, at + 64), payload);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The descriptor that libcuda 580.159.04 sent on an H200 for vecadd<<<256, 256>>>, without the words that have
    /// fields which this driver does not use.
    #[test]
    fn equal_to_libcuda() {
        let program = Program { address: 0x7fc3_177a_0000, registers: 16, barriers: 1, local: 0x640 };
        let mut qmd = Qmd::new(&program);
        qmd.set_shape((256, 1, 1), (256, 1, 1));
        qmd.set_shared(0x400);
        qmd.set_release(0, 0x2_0463_7f3c, 6);
        qmd.set_bank(0, 0x7fc3_1628_0000, 0x300);
        let expected = [
            (10, 3),
            (16, 0x9000_0000),
            (17, 0x0300_0640),
            (18, 0xbc04_0040),
            (19, 0x0000_9e83),
            (20, 0x0463_7f3c),
            (21, 2),
            (22, 6),
            (32, 0x100),
            (33, 1),
            (34, 1),
            (36, 0x0001_0100),
            (37, 0x0810_0001),
            (38, 0x177a_0000),
            (39, 0x7fc3),
            (48, 0x0c58_a000),
            (49, 0x0180_01ff),
        ];
        for (word, value) in expected {
            assert_eq!(qmd.words[word], value, "word {word}");
        }
    }

    #[test]
    fn banks_are_apart() {
        let mut qmd = Qmd { words: [0; WORDS] };
        qmd.set_bank(7, 0x7fc3_1600_0000, 0x10000);
        assert_eq!((qmd.words[62], qmd.words[63]), (0x0c58_0000, 0x8000_01ff));
        assert_eq!(qmd.words[13], 1 << 28);
    }

    #[test]
    fn carve_outs() {
        assert_eq!([0x400, 8 << 10, (8 << 10) + 1, 228 << 10].map(carve_out), [3, 3, 5, 58]);
    }
}
