//! What the interface has numbers for: escapes, RM controls, classes, UVM commands.

use crate::blob::{Bytes, Section};
use crate::record::Record;

/// What the driver demands of a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Privilege {
    /// The open kernel module does not say.
    Unknown,
    /// Nothing.
    Any,
    /// Root.
    Admin,
    /// RM access rights, else root.
    Rights,
    /// Only other kernel code.
    Kernel,
    /// Only RM itself.
    Internal,
}

/// Who handles a UVM command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Handler {
    /// Nobody: the number is reserved or from another system.
    None,
    /// The main file.
    Uvm,
    /// `/dev/nvidia-uvm-tools`.
    Tools,
    /// A module that was loaded for tests.
    Test,
}

/// Whether an allocation needs parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Need {
    /// It takes none, or they are unknown.
    None,
    /// They may be left out.
    Optional,
    /// They must be there.
    Required,
}

/// An RM control.
#[derive(Clone, Copy)]
pub struct Control(pub(crate) Bytes);
/// A class of objects.
#[derive(Clone, Copy)]
pub struct Class(pub(crate) Bytes);
/// A request of `/dev/nvidiactl` or `/dev/nvidiaN`.
#[derive(Clone, Copy)]
pub struct Escape(pub(crate) Bytes);
/// A request of `/dev/nvidia-uvm`.
#[derive(Clone, Copy)]
pub struct Uvm(pub(crate) Bytes);

/// Bits of `properties`.
mod bit {
    pub(super) const GSP: u32 = 0;
    pub(super) const VGPU_HOST: u32 = 1;
    pub(super) const CACHEABLE: u32 = 2;
    pub(super) const CACHEABLE_BY_INPUT: u32 = 3;
    pub(super) const COPYOUT_ON_ERROR: u32 = 4;
    pub(super) const NO_GPUS_LOCK: u32 = 5;
    pub(super) const TEST_ONLY: u32 = 7;
    pub(super) const UNREGISTERED: u32 = 8;
    pub(super) const HANDLER: u32 = 9;
    pub(super) const REQUIRED: u32 = 10;
    pub(super) const OPTIONAL: u32 = 11;
}

pub(crate) fn number(row: Bytes) -> u32 {
    row.word(0)
}

fn record(row: Bytes) -> Option<Record> {
    Record::of(row.word(12))
}

fn privilege(row: Bytes) -> Privilege {
    match row.word(24) {
        1 => Privilege::Any,
        2 => Privilege::Admin,
        3 => Privilege::Rights,
        4 => Privilege::Kernel,
        5 => Privilege::Internal,
        _ => Privilege::Unknown,
    }
}

fn has(row: Bytes, bit: u32) -> bool {
    row.word(28) >> bit & 1 != 0
}

impl Control {
    /// Its number.
    #[must_use]
    pub fn number(self) -> u32 {
        number(self.0)
    }

    /// Its name in NVIDIA's headers, else the name of the function that handles it: see [`Control::is_handler_name`].
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.text(4)
    }

    /// Whether no header names it, so that `name` is that of a function of the driver.
    #[must_use]
    pub fn is_handler_name(self) -> bool {
        has(self.0, bit::HANDLER)
    }

    /// Its parameters; none where it takes none or they are unknown.
    #[must_use]
    pub fn params(self) -> Option<Record> {
        record(self.0)
    }

    /// The bytes of its parameters; 0 where it takes none or they are unknown. The driver refuses any other number.
    #[must_use]
    pub fn size(self) -> usize {
        self.0.word(20) as usize
    }

    /// What it demands of a caller.
    #[must_use]
    pub fn privilege(self) -> Privilege {
        privilege(self.0)
    }

    /// The bits of RM access rights that it demands.
    #[must_use]
    pub fn rights(self) -> u32 {
        self.0.word(32)
    }

    /// Whether the GSP, a processor of the GPU, handles it.
    #[must_use]
    pub fn goes_to_gsp(self) -> bool {
        has(self.0, bit::GSP)
    }

    /// Whether a virtual GPU sends it to its host.
    #[must_use]
    pub fn goes_to_vgpu_host(self) -> bool {
        has(self.0, bit::VGPU_HOST)
    }

    /// Whether the driver may answer from a cache: always the same, or the same for the same input.
    #[must_use]
    pub fn is_cacheable(self) -> bool {
        has(self.0, bit::CACHEABLE) || has(self.0, bit::CACHEABLE_BY_INPUT)
    }

    /// Whether the parameters are written back even when it fails.
    #[must_use]
    pub fn writes_on_error(self) -> bool {
        has(self.0, bit::COPYOUT_ON_ERROR)
    }

    /// Whether it runs without the lock of all GPUs.
    #[must_use]
    pub fn needs_no_gpus_lock(self) -> bool {
        has(self.0, bit::NO_GPUS_LOCK)
    }

    /// Whether it exists for tests only.
    #[must_use]
    pub fn is_test_only(self) -> bool {
        has(self.0, bit::TEST_ONLY)
    }

    /// Whether the open kernel module handles it; others are only in a header.
    #[must_use]
    pub fn is_registered(self) -> bool {
        !has(self.0, bit::UNREGISTERED)
    }
}

impl Class {
    /// Its number.
    #[must_use]
    pub fn number(self) -> u32 {
        number(self.0)
    }

    /// Its name in NVIDIA's headers.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.text(4)
    }

    /// The parameters of an allocation.
    #[must_use]
    pub fn params(self) -> Option<Record> {
        record(self.0)
    }

    /// The bytes of the parameters.
    #[must_use]
    pub fn size(self) -> usize {
        self.0.word(20) as usize
    }

    /// Whether an allocation needs them.
    #[must_use]
    pub fn need(self) -> Need {
        match (has(self.0, bit::REQUIRED), has(self.0, bit::OPTIONAL)) {
            (true, _) => Need::Required,
            (_, true) => Need::Optional,
            _ => Need::None,
        }
    }

    /// What an allocation demands of the caller.
    #[must_use]
    pub fn privilege(self) -> Privilege {
        privilege(self.0)
    }

    /// Whether the driver asks the GSP to allocate it.
    #[must_use]
    pub fn goes_to_gsp(self) -> bool {
        has(self.0, bit::GSP)
    }
}

impl Escape {
    /// Its number: the low byte of the request.
    #[must_use]
    pub fn number(self) -> u32 {
        number(self.0)
    }

    /// Its name in NVIDIA's headers.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.text(4)
    }

    /// The struct that it has when its request says `size` bytes: the one of that size, else the usual one.
    #[must_use]
    pub fn params(self, size: usize) -> Option<Record> {
        let other = Record::of(self.0.word(16)).filter(|r| r.size() == size);
        other.or_else(|| record(self.0))
    }

    /// Whether any number of its structs may follow each other.
    #[must_use]
    pub fn is_array(self) -> bool {
        self.0.word(28) & 1 != 0
    }
}

impl Uvm {
    /// Its number: the whole request.
    #[must_use]
    pub fn number(self) -> u32 {
        number(self.0)
    }

    /// Its name in NVIDIA's headers.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.text(4)
    }

    /// Its struct.
    #[must_use]
    pub fn params(self) -> Option<Record> {
        record(self.0)
    }

    /// The bytes of its struct, which the request does not say.
    #[must_use]
    pub fn size(self) -> usize {
        self.0.word(20) as usize
    }

    /// Who handles it.
    #[must_use]
    pub fn handler(self) -> Handler {
        match self.0.word(24) {
            1 => Handler::Uvm,
            2 => Handler::Tools,
            3 => Handler::Test,
            _ => Handler::None,
        }
    }
}

/// A row by its place.
pub(crate) fn get(at: u32) -> Option<Bytes> {
    Section::Rows.get(at)
}

macro_rules! debug {
    ($($name:ident),*) => {$(
        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, "{}({:#x} {})", stringify!($name), self.number(), self.name())
            }
        }
    )*};
}
debug!(Control, Class, Escape, Uvm);
