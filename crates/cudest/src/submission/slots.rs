//! The memory of a lane: ring, large constant banks, and a slot for each operation in flight, with its methods,
//! descriptor and constants. It knows who writes them. When a slot is free again is the lane's matter.

use crate::base::error::{Error, Result};
use crate::encode::methods::{Methods, WORDS};
use crate::encode::qmd::Qmd;
use crate::memory::allocation::{Allocation, MemoryKind, Request};
use crate::memory::space::Space;
use crate::submission::channel::RING_BYTES;
use std::ptr::NonNull;
use std::sync::Arc;

/// Operations in flight.
pub(crate) const SLOTS: u64 = 512;
/// Constant banks for large parameters. The CPU always writes these.
pub(crate) const LARGE_BANKS: usize = 16;
const LARGE_BANK_BYTES: usize = 0x8400;
/// A slot's part of the descriptors, of the constants, and of the methods: without and with the first two in them.
const QMD_BYTES: usize = 512;
const BANK_BYTES: usize = 1024;
const PUSH_BYTES: usize = 1024;
const INLINE_BYTES: usize = WORDS * 4;

/// A copy of the timeline's word that kernels write, for the channel itself.
const NEAR: usize = RING_BYTES - 0x1000;
const PUSH: usize = RING_BYTES;
const QMDS: usize = PUSH + SLOTS as usize * PUSH_BYTES;
const BANKS: usize = QMDS + SLOTS as usize * QMD_BYTES;
const LARGE: usize = BANKS + SLOTS as usize * BANK_BYTES;
const TOTAL: usize = LARGE + LARGE_BANKS * LARGE_BANK_BYTES;

const _: () = assert!(TOTAL <= 2 << 20 && QMDS.is_multiple_of(256) && BANKS.is_multiple_of(256));
// Beside a bank and a descriptor there is room for all waits of an operation.
const _: () = assert!(BANK_BYTES + QMD_BYTES + 432 <= INLINE_BYTES);

/// Who writes the launch descriptors and constants, which are in video memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Placement {
    /// The CPU, through BAR1.
    #[default]
    Mapped,
    /// The GPU, from methods in system memory, as with libcuda.
    Inline,
    /// The GPU, from methods in video memory.
    InlineVideo,
}

/// Memory that CPU and GPU reach.
#[derive(Debug)]
struct Region {
    memory: Allocation,
    host: NonNull<u8>,
}

impl Region {
    fn new(space: &Arc<Space>, place: MemoryKind, size: usize) -> Result<Self> {
        let request = Request { place, size: size as u64, visible: true, unified: false };
        let memory = Allocation::new(space, request)?;
        if memory.address.checked_add(memory.size).is_none_or(|end| end >> 40 != 0) {
            return Err(Error::Unsupported("a ring above 40 address bits"));
        }
        let host = memory.host.ok_or(Error::Unsupported("a ring that the CPU cannot write"))?;
        Ok(Self { memory, host })
    }

    /// Copies bytes into it. The caller knows that they fit.
    #[inline]
    fn write(&self, at: usize, bytes: &[u8]) {
        debug_assert!(at + bytes.len() <= self.memory.size as usize);
        // SAFETY: the offsets of slots are inside, and a slot's length is checked where its bytes are made.
        unsafe { self.host.as_ptr().add(at).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }
}

#[derive(Debug)]
pub(crate) struct Slots {
    region: Region,
    /// Methods that carry descriptors and constants.
    inline: Option<Region>,
}

// SAFETY: the memory is this object's; stores to it are made with the lane's state locked.
unsafe impl Send for Slots {}
// SAFETY: as above.
unsafe impl Sync for Slots {}

impl Slots {
    pub fn new(space: &Arc<Space>, placement: Placement) -> Result<Self> {
        let region = Region::new(space, MemoryKind::Video, TOTAL)?;
        region.write(NEAR, &[0; 4]);
        let apart = |place| Region::new(space, place, SLOTS as usize * INLINE_BYTES).map(Some);
        let inline = match placement {
            Placement::Mapped => None,
            Placement::Inline => apart(MemoryKind::System)?,
            Placement::InlineVideo => apart(MemoryKind::Video)?,
        };
        Ok(Self { region, inline })
    }

    /// The memory that begins with the ring.
    pub fn ring(&self) -> &Allocation {
        &self.region.memory
    }

    fn address(&self, at: usize) -> u64 {
        self.region.memory.address + at as u64
    }

    /// The GPU's address of the near word.
    pub fn near(&self) -> u64 {
        self.address(NEAR)
    }

    fn descriptor_at(value: u64) -> usize {
        QMDS + (value % SLOTS) as usize * QMD_BYTES
    }

    /// The GPU's address of an operation's descriptor.
    pub fn descriptor(&self, value: u64) -> u64 {
        self.address(Self::descriptor_at(value))
    }

    /// Whether methods carry descriptors.
    pub fn is_inline(&self) -> bool {
        self.inline.is_some()
    }

    /// Whether a constant bank of so many bytes is larger than that of a slot.
    pub fn needs_large_bank(length: usize) -> Result<bool> {
        if length > LARGE_BANK_BYTES {
            return Err(Error::Range(format!("constant bank 0 would have {length} bytes")));
        }
        Ok(length > BANK_BYTES)
    }

    /// Writes, or lets `methods` write.
    #[inline]
    fn put(&self, methods: &mut Methods, at: usize, bytes: &[u8]) {
        match self.inline {
            None => self.region.write(at, bytes),
            Some(_) => methods.inline(self.address(at), bytes),
        }
    }

    /// The offset of an operation's constant bank.
    fn bank_at(value: u64, large: Option<usize>) -> usize {
        match large {
            Some(large) => LARGE + large * LARGE_BANK_BYTES,
            None => BANKS + (value % SLOTS) as usize * BANK_BYTES,
        }
    }

    /// The GPU's address of an operation's constant bank.
    pub fn bank(&self, value: u64, large: Option<usize>) -> u64 {
        self.address(Self::bank_at(value, large))
    }

    /// Writes the constant bank of an operation, whose parts are one after the other.
    pub fn write_bank(
        &self,
        methods: &mut Methods,
        value: u64,
        large: Option<usize>,
        header: &[u8],
        parameters: &[u8],
    ) {
        let at = Self::bank_at(value, large);
        if large.is_some() {
            self.region.write(at, header);
            self.region.write(at + header.len(), parameters);
        } else {
            self.put(methods, at, header);
            self.put(methods, at + header.len(), parameters);
        }
    }

    pub fn write_descriptor(&self, methods: &mut Methods, value: u64, qmd: &Qmd) {
        self.put(methods, Self::descriptor_at(value), bytes_of(qmd.words()));
    }

    /// Writes the methods of an operation. The GPU's address of them.
    #[inline]
    pub fn write_methods(&self, value: u64, words: &[u32]) -> u64 {
        let (region, first, length) = match &self.inline {
            None => (&self.region, PUSH, PUSH_BYTES),
            Some(region) => (region, 0, INLINE_BYTES),
        };
        debug_assert!(size_of_val(words) <= length, "methods of {} words", words.len());
        let at = first + (value % SLOTS) as usize * length;
        region.write(at, bytes_of(words));
        region.memory.address + at as u64
    }
}

fn bytes_of(words: &[u32]) -> &[u8] {
    // SAFETY: any initialized words are bytes.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast::<u8>(), size_of_val(words)) }
}
