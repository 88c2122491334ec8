//! The head of a block: what it holds, how long it is, and the sums by which damage is known. The
//! bytes behind it come in two parts: some that stand unchanged, so that a reader need not unpack a
//! chunk to know where it belongs, and a packed body.

/// Most bytes of a body, unpacked: a chunk of the largest flight recorder. A head that claims more is damaged.
pub const MOST_BYTES: usize = 1 << 24;
/// Bodies that are longer than this are at most so many times as long as they are packed: records are never so much
/// alike, and a small file must not ask for much memory.
const LARGE: usize = 1 << 20;
const MOST_PACKED: usize = 1 << 10;
/// First word of a block.
const MAGIC: u32 = u32::from_le_bytes(*b"CBLK");
/// Bytes of a head.
pub(crate) const HEAD: usize = 40;

/// What blocks hold.
pub mod kind {
    /// The control page; the last one counts.
    pub const CONTROL: u8 = 1;
    /// The folder name of process `process`; before all else of it.
    pub const PROCESS: u8 = 2;
    /// The page of process `process`; the last one counts.
    pub const PAGE: u8 = 3;
    /// Bytes of the names of process `process` from offset `at`; later ones lie over earlier ones.
    pub const NAMES: u8 = 4;
    /// The first page of ring `ring` of process `process`; before its chunks, and the last one counts.
    pub const RING: u8 = 5;
    /// A chunk of ring `ring` of process `process`: its head as it is, its records packed. `at` is its
    /// sequence number; the last one of a number counts.
    pub const CHUNK: u8 = 6;
    /// The recording ended in order. More may follow when something was taken in later.
    pub const END: u8 = 7;
    /// `ring` chunks are missing that were there: they had stood behind byte `at`, at which the file was cut off before
    /// what follows was taken in (0: how many is not known). With 0 as `at`: they were damaged in the run directory;
    /// the last one of these counts. With [`READ_BEFORE`]: a collector had read them for its own output before this
    /// file was begun. With [`UNREAD`], and 0 as `ring`: what files of the run directory hold that could not be read;
    /// the body names them, and the last one of these counts.
    pub const LACKS: u8 = 8;
    /// Part of a chunk that is not full yet, so that the file is never far behind. Numbers are those of [`CHUNK`]. The
    /// unchanged bytes are the offset of the body in the chunk's records, 8 bytes, and the chunk's head. Later parts
    /// lie over earlier ones. None counts beside a chunk of this number or of a later one.
    pub const PART: u8 = 9;
    /// The text of the filter that the run was made with, as `-e` has it.
    pub const FILTER: u8 = 10;
    /// The rank of the run in its job, as decimal text.
    pub const RANK: u8 = 11;
    /// How often calls were counted in ring `ring` of process `process`: its file of counts. `at`: 0 for functions with
    /// a slot, 1 for those that a runtime reports. The last one of each counts.
    pub const COUNTS: u8 = 12;
    /// Bytes of the clocks of the GPUs from offset `at` (`cutap_wire::gpu_clocks`).
    pub const CLOCKS: u8 = 13;
    /// Where the run was made, a `NAME=VALUE` a line: `host`, `boot_id`, then what the launcher told.
    pub const HOST: u8 = 14;
    /// What `cutap where --json` said when the run hung; the last one counts.
    pub const HANG: u8 = 15;
    /// See [`LACKS`]; no block stands there.
    pub const READ_BEFORE: u64 = 1;
    /// See [`LACKS`]; no block stands there.
    pub const UNREAD: u64 = 2;
}

/// How a body stands in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Packing {
    /// As it is, if the others would be longer.
    #[default]
    None,
    /// LZ4, block format: while recording.
    Lz4,
    /// A frame of Zstandard: at rest.
    Zstd,
}

/// A block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Block {
    /// One of [`kind`]; blocks of an unknown kind are stepped over.
    pub kind: u8,
    /// How the body is packed.
    pub packing: Packing,
    /// Bytes between head and body that stand unchanged.
    pub plain: u16,
    /// Number of the process in this file.
    pub process: u32,
    /// Number of its ring.
    pub ring: u32,
    /// See [`kind`].
    pub at: u64,
    /// Bytes of the body, unpacked.
    pub raw: u32,
    /// Bytes of the body in the file.
    pub stored: u32,
    /// Sum of the body in the file.
    pub(crate) body_sum: u32,
    /// Where the body lies in the file.
    pub(crate) place: u64,
}

impl Block {
    /// A block to be written: lengths and sums are the writer's.
    pub fn new(kind: u8, process: u32, ring: u32, at: u64) -> Block {
        Block { kind, process, ring, at, ..Block::default() }
    }

    /// Where the block begins in the file.
    pub fn start(&self) -> u64 {
        self.place - HEAD as u64 - u64::from(self.plain)
    }

    /// Bytes of the block in the file: a multiple of eight.
    pub(crate) fn length(&self) -> u64 {
        (HEAD as u64 + u64::from(self.plain) + u64::from(self.stored)).next_multiple_of(8)
    }

    /// The head's bytes; `plain` are those that stand behind it as they are.
    pub(crate) fn bytes(&self, plain: &[u8]) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        bytes[..4].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[4] = self.kind;
        bytes[5] = self.packing as u8;
        bytes[6..8].copy_from_slice(&self.plain.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.process.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.ring.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.at.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.raw.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.stored.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.body_sum.to_le_bytes());
        let sum = sum(&bytes[..36], plain);
        bytes[36..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads a head at the beginning of `bytes`, which lie at `place` of the file. How many bytes stand
    /// as they are is needed to check it: `Err` says how many bytes must be there.
    pub(crate) fn parse(bytes: &[u8], place: u64) -> Result<Option<Block>, usize> {
        if bytes.len() < HEAD {
            return Err(HEAD);
        }
        let word = |at| u32_at(bytes, at).unwrap_or(0);
        if word(0) != MAGIC {
            return Ok(None);
        }
        let plain = u16::from_le_bytes([bytes[6], bytes[7]]);
        let plain_end = HEAD + usize::from(plain);
        let Some(standing) = bytes.get(HEAD..plain_end) else { return Err(plain_end) };
        let packing = match bytes[5] {
            0 => Packing::None,
            1 => Packing::Lz4,
            2 => Packing::Zstd,
            _ => return Ok(None),
        };
        let block = Block {
            kind: bytes[4],
            packing,
            plain,
            process: word(8),
            ring: word(12),
            at: u64_at(bytes, 16).unwrap_or(0),
            raw: word(24),
            stored: word(28),
            body_sum: word(32),
            place: place + plain_end as u64,
        };
        let most = (block.stored as usize).saturating_mul(MOST_PACKED).clamp(LARGE, MOST_BYTES);
        let sizes = block.raw as usize <= most && (block.stored == block.raw || packing != Packing::None);
        let whole = sum(&bytes[..36], standing) == word(36);
        Ok((whole && sizes).then_some(block))
    }
}

/// The sum of a head and what stands behind it.
fn sum(head: &[u8], plain: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(head);
    sum.update(plain);
    sum.finalize()
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|b| u32::from_le_bytes(*b))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|b| u64::from_le_bytes(*b))
}
