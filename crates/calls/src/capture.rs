//! Capture plans: which memory the target copies for a call in addition to its argument words.
//!
//! Codegen derives a list of steps for each function from the types and rules in `api/`. The target executes the
//! steps without knowing any function; `known.rs` gives the bytes their meaning outside the target. The tables hold
//! no pointers, so they need no relocation in the preload.
//!
//! A step reads a pointer and copies the memory behind it as a *fragment* (address, length, bytes). The pointer is
//! either among the call's words or in a fragment that an earlier step of the same list copied. So `base` refers to
//! earlier steps only, and the list can be executed in order, once.

/// Entry of the name index: the hash of a function's name, and its row. Thousands of functions share a row.
///
/// The table stores 48 bits of the hash instead of the name: 8 bytes per function and no string comparison in the
/// target. Codegen fails if two names share these bits.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Name {
    /// Bits 32 to 63 of the [`hash`] of the label.
    ///
    /// The label is the function's name. It is followed by `#12` for the form of major version 12, where that differs
    /// from the newest one. It is preceded by `@` for the parameter block that a runtime passes to its callback.
    pub upper: u32,
    /// Bits 16 to 31 of the hash.
    pub lower: u16,
    /// Index into the table of rows.
    pub row: u16,
}

/// The recorded words of a call, and its steps. A word is eight bytes.
///
/// A record holds the integer registers, then the vector registers, then the stack words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Row {
    /// Index of the first step in the table of steps.
    pub first: u16,
    /// Number of steps.
    pub steps: u8,
    /// Number of integer registers, or of all words of a parameter block.
    pub ints: u8,
    /// Number of vector registers, of each its low eight bytes.
    pub vectors: u8,
    /// Number of words on the caller's stack.
    pub stack: u8,
}

/// Copies one piece of memory: `count` elements of `size` bytes behind a pointer, at most `most` bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Step {
    /// One of [`kind`].
    pub kind: u8,
    /// Bits: [`EXIT`], [`ALWAYS`], [`COUNT64`], [`ELSE`], [`MORE`]. Neither `EXIT` nor `ALWAYS`: before the call.
    pub flags: u8,
    /// Where the pointer is: [`WORDS`], [`RESULT`], or the index of an earlier step of this list (its fragment).
    pub base: u8,
    /// Where the count is, encoded like `base`. With [`NONE`], `count` is the count itself.
    pub count_base: u8,
    /// Byte offset of the pointer in `base`.
    pub offset: u16,
    /// Byte offset of the count in `count_base`, or the count itself.
    pub count: u16,
    /// Bytes of one element.
    pub size: u16,
    /// Upper limit of the copied bytes.
    pub most: u16,
}

/// Kinds of steps. Some of them use `count` and `base` in another way than [`Step`] says.
pub mod kind {
    /// `count` elements of `size` bytes.
    pub const MEMORY: u8 = 0;
    /// A text up to and including its zero byte.
    pub const TEXT: u8 = 1;
    /// `count` pointers to texts: a fragment for the pointers, then one for each text.
    pub const TEXTS: u8 = 2;
    /// `count` pointers to `size` bytes each: a fragment for the pointers, then one for each target.
    pub const POINTERS: u8 = 3;
    /// A kernel's parameters, passed as `void **`. Only in driver functions.
    ///
    /// `count_base` and `count` give the location of the function handle. The driver reports the size of each
    /// parameter of that handle. All parameters become one fragment, without gaps, at the address of the array.
    pub const KERNEL_PARAMS: u8 = 4;
    /// A launch's `extra` list, then the size that it points to, then the parameter buffer.
    pub const EXTRA: u8 = 5;
    /// [`KERNEL_PARAMS`] for each struct in the fragment of step `base`. A struct has `size` bytes, its parameter
    /// array is at `offset`, its function handle at `count`.
    pub const KERNELS: u8 = 6;
    /// Whether the host has memory at the address: if so, a fragment without bytes. Skipped where
    /// [`is_programs`](super::is_programs) already answers this.
    pub const PRESENT: u8 = 7;
    /// Remembers where a new linker writes its logs; makes no fragment.
    ///
    /// The pointer leads to the new handle. `count` locates the pointer to the option names; the word before it is the
    /// number of options, the word after it the pointer to their values.
    pub const LOGS: u8 = 8;
    /// The text that the call appended to log number `count` of a linker; `offset` locates the linker's handle.
    pub const LOG: u8 = 9;
    /// The result in vector registers: the low eight bytes of xmm0, then of xmm1. The fragment's address is
    /// [`RETURNED`](super::RETURNED).
    pub const FLOATS: u8 = 10;
}

/// Step flag: runs after the call, and only if the call returned 0.
pub const EXIT: u8 = 1 << 0;
/// Step flag: runs after the call, whatever the call returned.
pub const ALWAYS: u8 = 1 << 1;
/// Step flag: the count has eight bytes instead of four.
pub const COUNT64: u8 = 1 << 2;
/// Step flag: runs only if the previous step copied nothing.
pub const ELSE: u8 = 1 << 3;
/// Step flag: copies one element more than the count.
pub const MORE: u8 = 1 << 4;

/// `base`: the recorded words of the call.
pub const WORDS: u8 = 255;
/// `base`: the result register.
pub const RESULT: u8 = 254;
/// `count_base`: there is none.
pub const NONE: u8 = 253;

/// Address of a [`kind::FLOATS`] fragment. No program has memory there.
pub const RETURNED: u64 = 0;

/// CU_JIT_INFO_LOG_BUFFER and CU_JIT_ERROR_LOG_BUFFER, the linker options that are log buffers. The option with the
/// next higher number is the size of that buffer.
pub const LOG_OPTIONS: [u32; 2] = [3, 5];

/// Upper limit of the copied parameters of one kernel.
pub const PARAMETERS: usize = 64;

/// Upper limits in bytes for each parameter, tried in this order when a kernel's parameters do not all fit.
///
/// The record does not store which limit was chosen. The reader computes it from the total size, see [`cut_of`].
pub const CUTS: [usize; 6] = [256, 128, 64, 32, 16, 8];

/// Total bytes of parameters with these sizes when at most `cut` bytes of each are copied.
pub fn captured_size(sizes: impl Iterator<Item = usize>, cut: usize) -> usize {
    sizes.take(PARAMETERS).fold(0, |all, size| all.saturating_add(size.min(cut)))
}

/// The largest limit for each parameter with which all of them fit into `room` bytes; `usize::MAX`: no limit.
pub fn cut(sizes: impl Iterator<Item = usize> + Clone, room: usize) -> usize {
    let fits = |cut: &usize| captured_size(sizes.clone(), *cut) <= room;
    if fits(&usize::MAX) { usize::MAX } else { CUTS.into_iter().find(fits).unwrap_or(8) }
}

/// The limit that [`cut`] chose, computed from the total of copied bytes. `usize::MAX` if no limit gives that total.
pub fn cut_of(sizes: impl Iterator<Item = usize> + Clone, kept_bytes: usize) -> usize {
    let is = |cut: &usize| captured_size(sizes.clone(), *cut) == kept_bytes;
    if is(&usize::MAX) { usize::MAX } else { CUTS.into_iter().find(is).unwrap_or(usize::MAX) }
}

/// Whether Linux maps only a position-independent program and its heap at this address.
///
/// Drivers choose addresses below or above this range. A program linked to a fixed address is not covered: in other
/// processes any mapping may be at its addresses.
pub const fn is_programs(address: u64) -> bool {
    address >= 0x5555_5555_0000 && address < 0x5700_0000_0000
}

/// Whether a program can have memory at this address: not in its first 64 KiB, nor in the kernel's half.
pub const fn can_be(address: u64) -> bool {
    address >= 1 << 16 && address < 1 << 47
}

/// FNV-1a, 64 bits.
pub const fn hash(name: &[u8]) -> u64 {
    extend(0xcbf2_9ce4_8422_2325, name)
}

/// Continues an FNV-1a hash with more bytes.
pub const fn extend(mut h: u64, mut more: &[u8]) -> u64 {
    while let [first, rest @ ..] = more {
        h = (h ^ *first as u64).wrapping_mul(0x0100_0000_01b3);
        more = rest;
    }
    h
}

/// The upper 48 bits of a hash, which identify a name.
pub const fn bits(hash: u64) -> u64 {
    hash >> 16
}

impl Name {
    /// From [`bits`] of the hash.
    pub const fn of(bits: u64, row: u16) -> Self {
        Self { upper: (bits >> 16) as u32, lower: bits as u16, row }
    }

    const fn bits(&self) -> u64 {
        (self.upper as u64) << 16 | self.lower as u64
    }
}

/// The row index of the name with this hash.
pub fn number(names: &'static [Name], hash: u64) -> Option<usize> {
    let at = names.binary_search_by_key(&bits(hash), Name::bits).ok()?;
    names.get(at).map(|n| usize::from(n.row))
}

/// The steps of a row, in the order in which they run.
pub fn steps(all: &'static [Step], row: &Row) -> &'static [Step] {
    let first = usize::from(row.first);
    all.get(first..first + usize::from(row.steps)).unwrap_or(&[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_parameter_limits() {
        for (sizes, room, expected) in [
            (&[4, 8, 4000][..], 5000, usize::MAX),
            (&[4, 8, 4000], 1000, 256),
            (&[4000, 8, 4], 200, 128),
            (&[4000; 64], 1500, 16),
            (&[4000; 64], 100, 8),
        ] {
            let each = sizes.iter().copied();
            assert_eq!(cut(each.clone(), room), expected, "{sizes:?}");
            assert_eq!(cut_of(each.clone(), captured_size(each, expected)), expected, "{sizes:?}");
        }
        // A total that no limit gives.
        assert_eq!(cut_of([4000, 8].into_iter(), 999), usize::MAX);
    }
}
