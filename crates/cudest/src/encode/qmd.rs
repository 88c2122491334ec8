//! The launch descriptor (QMD): at most 384 bytes at a multiple of 256. `format.rs` has the positions of its fields.
//! It releases up to three words. Like libcuda's, it has no memory barrier at a release: one at the end suffices.

use super::format::{Bits, Format};

/// Words of the longest descriptor.
pub(crate) const WORDS: usize = 96;

/// Grid or block: x, y, z.
pub type Dim3 = (u32, u32, u32);

/// A grid of blocks, counted in clusters.
pub(crate) fn in_clusters(grid: Dim3, sides: Dim3) -> Dim3 {
    (grid.0 / sides.0.max(1), grid.1 / sides.1.max(1), grid.2 / sides.2.max(1))
}

/// All but a launch's own fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Program {
    pub address: u64,
    pub registers: u32,
    pub barriers: u32,
    /// Bytes a thread of local memory; 0: none.
    pub local: u32,
    /// Compute capability; its digits are the version of the code.
    pub sm: u32,
}

/// A launch descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Qmd {
    words: [u32; WORDS],
    format: &'static Format,
}

impl Qmd {
    pub fn new(format: &'static Format, program: &Program) -> Self {
        // All caches but that of instructions: the host may have changed what is in them.
        const CACHES: u32 = 0x2f;
        const GRID: u32 = 2;
        let mut qmd = Self { words: [0; WORDS], format };
        if let Some(kind) = format.kind {
            qmd.set(kind, GRID);
        }
        qmd.set(format.major_at, format.major);
        qmd.set(format.api_call_limit, 1);
        qmd.set(format.sampler_index, 1);
        // 0x90 is sm_90. Later numbers do not follow this rule, and 0 is accepted.
        if program.sm < 100 {
            qmd.set(format.sass_version, ((program.sm / 10) << 4) | (program.sm % 10));
        }
        qmd.set(format.invalidate, CACHES);
        qmd.set(format.membar, 1); // stores reach the system before the release
        qmd.set(format.registers, program.registers);
        qmd.set(format.barriers, program.barriers);
        let (low, high, shift) = format.program;
        qmd.set(low, (program.address >> shift) as u32);
        qmd.set(high, (program.address >> shift >> 32) as u32);
        qmd.set_local(program.local);
        qmd
    }

    pub fn words(&self) -> &[u32] {
        self.words.get(..self.format.words).unwrap_or_default()
    }

    #[inline]
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
        let (at, shift) = self.format.local;
        self.set(at, bytes >> shift);
    }

    /// Grid and block.
    pub fn set_shape(&mut self, grid: Dim3, block: Dim3) {
        let Format { grid: grid_at, block: block_at, .. } = self.format;
        for (at, value) in grid_at.iter().zip([grid.0, grid.1, grid.2]) {
            self.set(*at, value);
        }
        for (at, value) in block_at.iter().zip([block.0, block.1, block.2]) {
            self.set(*at, value);
        }
    }

    /// Shared memory of a block, with the system's first KiB.
    pub fn set_shared(&mut self, bytes: u32) {
        const TARGET: u32 = 32 << 10;
        let (at, shift) = self.format.shared;
        self.set(at, bytes.next_multiple_of(128) >> shift);
        let [least, target, most] = self.format.carve_out;
        self.set(least, carve_out(self.format, bytes));
        self.set(target, carve_out(self.format, bytes.max(TARGET)));
        self.set(most, carve_out(self.format, u32::MAX));
    }

    /// Several blocks share an SM, so that all of a grid run together: they have so much shared memory.
    pub fn set_shared_of_sm(&mut self, bytes: u32) {
        let [least, target, _] = self.format.carve_out;
        for at in [least, target] {
            self.set(at, carve_out(self.format, bytes));
        }
    }

    /// All blocks of the grid run together. The GPU takes such a grid as one array of blocks, as libcuda has it.
    pub fn set_cooperative(&mut self, grid: Dim3) {
        const ARRAY: u32 = 4;
        const GROUP: u32 = 8;
        let (Some(kind), Some((group, size))) = (self.format.kind, self.format.cooperative) else { return };
        self.set(kind, ARRAY);
        self.set(group, GROUP);
        for ((at, array_at), value) in self.format.grid.iter().zip(size).zip([grid.0, grid.1, grid.2]) {
            self.set(*at, 1);
            self.set(array_at, value);
        }
    }

    /// The grid consists of clusters, and is counted in them. Whether this format has clusters.
    pub fn set_cluster(&mut self, grid: Dim3, sides: Dim3) -> bool {
        const CLUSTERS: u32 = 3;
        let (Some(kind), Some(cluster)) = (self.format.kind, self.format.cluster) else { return false };
        self.set(kind, CLUSTERS);
        let grid = in_clusters(grid, sides);
        for (at, value) in self.format.grid.iter().zip([grid.0, grid.1, grid.2]) {
            self.set(*at, value);
        }
        for (at, value) in cluster.into_iter().zip([sides.0, sides.1, sides.2]) {
            self.set(at, value);
        }
        true
    }

    /// A constant bank, at a multiple of 64.
    pub fn set_bank(&mut self, bank: usize, address: u64, bytes: usize) {
        let (first, distance) = self.format.bank_valid;
        let valid = first + distance * bank;
        self.set((valid, valid), 1);
        let [low, high, size] = self.format.bank.map(|(high, low)| (high + 64 * bank, low + 64 * bank));
        let address = address >> self.format.bank_shift;
        self.set(low, address as u32);
        self.set(high, (address >> 32) as u32);
        self.set(size, bytes.div_ceil(16) as u32);
    }

    /// One of two words that the GPU writes when all blocks have ended and their stores have arrived.
    pub fn set_release(&mut self, word: usize, address: u64, payload: u32) {
        let Some(fields) = self.format.release.get(word) else { return };
        self.set(fields.enable, 1);
        self.set(fields.size, 1); // one word, without the time
        self.set(fields.low, address as u32);
        self.set(fields.high, (address >> 32) as u32);
        self.set(fields.payload, payload);
    }
}

/// The code of a carve-out of so many bytes, of those that the SM can be set to: KiB / 4 + 1.
fn carve_out(format: &Format, bytes: u32) -> u32 {
    let most = format.carve_outs.last().copied().unwrap_or(0);
    let smallest = format.carve_outs.iter().copied().find(|kib| bytes <= kib * 1024);
    smallest.unwrap_or(most) / 4 + 1
}

#[cfg(test)]
mod tests {
    use super::super::format::{V3, V4, V5};
    use super::*;

    /// The descriptor that libcuda 580.159.04 sent on an H200 for vecadd<<<256, 256>>>, without the words that have
    /// fields which this driver does not use.
    #[test]
    fn equal_to_libcuda() {
        let program = Program { address: 0x7fc3_177a_0000, registers: 16, barriers: 1, local: 0x640, sm: 90 };
        let mut qmd = Qmd::new(&V4, &program);
        qmd.set_shape((256, 1, 1), (256, 1, 1));
        qmd.set_shared(0x400);
        qmd.set_release(0, 0x2_0463_7f3c, 6);
        qmd.set_bank(0, 0x7fc3_1628_0000, 0x300);
        // The second word is this driver's.
        qmd.set_release(1, 0x1_2345_6780, 9);
        let expected = [
            (10, 3 | 3 << 16),
            (24, 0x2345_6780),
            (25, 1),
            (26, 9),
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

    /// The fields of a cooperative launch of 200 blocks that libcuda 580.159.04 sent on an H200.
    #[test]
    fn cooperative_as_libcuda() {
        let mut qmd = Qmd { words: [0; WORDS], format: &V4 };
        qmd.set_shape((200, 1, 1), (256, 1, 1));
        qmd.set_cooperative((200, 1, 1));
        assert_eq!(qmd.words[0], 4 << 23 | 8 << 16);
        assert_eq!((qmd.words[32], qmd.words[33], qmd.words[34]), (1, 1, 1));
        assert_eq!((qmd.words[69], qmd.words[70]), (200 | 1 << 16, 1));
    }

    /// What a launch decides, of thirteen launches of libcuda: kind, grid, block, cluster, shared memory, registers.
    #[test]
    fn launches_as_libcuda() {
        for truth in crate::encode::truth::launches() {
            let program = Program { address: truth.program, registers: truth.registers, barriers: 1, local: 0, sm: 90 };
            let mut qmd = Qmd::new(&V4, &program);
            qmd.set_shape(truth.grid, truth.block);
            qmd.set_shared(truth.dynamic + 0x400);
            if let Some(sides) = truth.cluster {
                assert!(qmd.set_cluster(truth.grid, sides));
            }
            if truth.cooperative {
                qmd.set_cooperative(truth.grid);
            }
            for (bank, address, size) in &truth.banks {
                qmd.set_bank(*bank, *address, *size);
            }
            let same = |(high, low): Bits| {
                let of = |words: &[u32]| (low..=high).map(|bit| words[bit / 32] >> (bit % 32) & 1).collect::<Vec<_>>();
                assert_eq!(of(qmd.words()), of(&truth.words), "bits {high}:{low} of {}", truth.name);
            };
            let (low, high, _) = V4.program;
            for at in [V4.kind.unwrap(), low, high, V4.shared.0, V4.registers, V4.sass_version, V4.major_at] {
                same(at);
            }
            for at in [V4.grid, V4.block, V4.cluster.unwrap(), V4.cooperative.unwrap().1].as_flattened() {
                same(*at);
            }
            for bank in 0..8 {
                let [low, high, size] = V4.bank.map(|(high, low)| (high + 64 * bank, low + 64 * bank));
                let valid = V4.bank_valid.0 + V4.bank_valid.1 * bank;
                [low, high, size, (valid, valid)].into_iter().for_each(same);
            }
        }
    }

    #[test]
    fn banks_are_apart() {
        let mut qmd = Qmd { words: [0; WORDS], format: &V4 };
        qmd.set_bank(7, 0x7fc3_1600_0000, 0x10000);
        assert_eq!((qmd.words[62], qmd.words[63]), (0x0c58_0000, 0x8000_01ff));
        assert_eq!(qmd.words[13], 1 << 28);
    }

    #[test]
    fn carve_outs() {
        assert_eq!([0x400, 8 << 10, (8 << 10) + 1, 228 << 10].map(|bytes| carve_out(&V4, bytes)), [3, 3, 5, 58]);
    }

    /// Descriptors of chips that have not run: each field where NVIDIA's headers have it.
    #[test]
    fn other_versions() {
        let program = Program { address: 0x7f12_3456_7800, registers: 40, barriers: 2, local: 0x640, sm: 86 };
        let filled = |format| {
            let mut qmd = Qmd::new(format, &program);
            qmd.set_shape((70_000, 3, 5), (128, 2, 4));
            qmd.set_shared(0x4400);
            qmd.set_bank(0, 0x7f11_0000_0040, 0x200);
            qmd.set_bank(3, 0x7f11_0000_1000, 0x100);
            qmd.set_release(1, 0x1_2345_6780, 9);
            qmd
        };
        let ampere = filled(&V3);
        let expected: [(usize, u32); 16] = [
            (5, 0x2f << 26),
            (11, 1 << 16 | 1 << 26 | 1 << 30),
            (12, 70_000),
            (13, 3),
            (14, 5),
            (17, 0x4400 | 9 << 18 | 42 << 25),
            (18, 3 << 4 | 128 << 16),
            (19, 2 | 4 << 16),
            (20, 1 | 1 << 3 | 40 << 8 | 9 << 17),
            (28, 0x2345_6780),
            (29, 1 | 1 << 23 | 1 << 30),
            (30, 9),
            (32, 0x40),
            (33, 0x7f11 | 0x20 << 19),
            (49, 0x7f12),
            (51, 0x86 << 24),
        ];
        for (word, value) in expected {
            assert_eq!(ampere.words[word], value, "Ampere, word {word}");
        }
        assert_eq!((ampere.words().len(), ampere.words[48], ampere.words[50]), (64, 0x3456_7800, 0x640));
        let blackwell = filled(&V5);
        let expected: [(usize, u32); 12] = [
            (4, 2 << 23),
            (9, 1 << 16 | 1 << 17),
            (14, 0x86 | 1 << 8 | 1 << 9 | 5 << 20 | 0x2f << 24),
            (19, 1 << 16),
            (24, 0x2345_6780),
            (34, 128 | 2 << 16),
            (35, 4 | 40 << 8 | 2 << 17),
            (36, 0x4400 >> 7 | 9 << 11 | 58 << 17 | 9 << 23),
            (37, 0x64 << 16),
            (39, 70_000),
            (40, 3),
            (41, 5),
        ];
        for (word, value) in expected {
            assert_eq!(blackwell.words[word], value, "Blackwell, word {word}");
        }
        let address = u64::from(blackwell.words[32]) | u64::from(blackwell.words[33]) << 32;
        assert_eq!(address << 4, program.address);
        assert_eq!((blackwell.words[42], blackwell.words[58]), ((0x7f11_0000_0040_u64 >> 6) as u32, 1 | 1 << 12));
    }
}
