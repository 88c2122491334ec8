//! What the target keeps of a call beside its words: a list of small steps for each function, chosen by
//! codegen from the types and rules in `api/`. The target follows the steps blindly; what the bytes mean
//! is told by `known.rs` outside. No names, no addresses: the tables need no relocation.
//!
//! A step reads a pointer and keeps memory that it points to as a *fragment* (address, length, bytes). A
//! pointer stands in the call's words or in a fragment that an earlier step of the same call kept.

/// A function's name, and what is kept of its calls. Thousands of functions have the same row.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Name {
    /// Upper 32 bits of the [`hash`] of the name, with `#12` behind it for a form of that major version,
    /// and with `@` in front for the parameter block that a runtime's callback gives.
    pub upper: u32,
    /// The 16 bits below: 48 in all, of which codegen has seen that they differ.
    pub lower: u16,
    /// Number of its row.
    pub row: u16,
}

/// What is kept of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Row {
    /// First of its steps in the table of steps.
    pub first: u16,
    /// Number of its steps.
    pub steps: u8,
    /// Words of integer registers, or of the parameter block in all.
    pub ints: u8,
    /// Words of vector registers.
    pub vectors: u8,
    /// Words of the stack.
    pub stack: u8,
}

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Step {
    /// One of [`kind`].
    pub kind: u8,
    /// [`EXIT`] and other bits.
    pub flags: u8,
    /// Where the pointer stands: [`WORDS`], [`RESULT`], or the fragment of this step of the same list.
    pub base: u8,
    /// Where the count stands, like `base`; [`NONE`]: `count` is the count itself.
    pub count_base: u8,
    /// Byte offset of the pointer in the base.
    pub offset: u16,
    /// Byte offset of the count in its base, or the count.
    pub count: u16,
    /// Bytes of one element.
    pub size: u16,
    /// Keep no more bytes than this.
    pub most: u16,
}

/// Kinds of steps.
pub mod kind {
    /// `count` elements of `size` bytes.
    pub const MEMORY: u8 = 0;
    /// Up to and with a zero byte.
    pub const TEXT: u8 = 1;
    /// `count` pointers to texts: the pointers, then each text.
    pub const TEXTS: u8 = 2;
    /// `count` pointers, each to `size` bytes: the pointers, then what they lead to.
    pub const POINTERS: u8 = 3;
    /// A kernel's parameters: the pointer is void **; the count stands for where the function handle is. One
    /// fragment at the pointer's address, of the parameters one behind the other without gaps, in the
    /// sizes that KERNEL_PARAMETERS names for the handle. Only in driver functions.
    pub const KERNEL_PARAMS: u8 = 4;
    /// The list of `extra`, the size that it points to, and the buffer.
    pub const EXTRA: u8 = 5;
    /// The same as KERNEL_PARAMS for each struct in the fragment of the step in `base`: of `size` bytes, the pointer at
    /// `offset` in it, the function handle at `count`.
    pub const KERNELS: u8 = 6;
    /// Nothing of what lies there, but whether the processor has memory there: then a fragment without bytes. Not where
    /// [`is_programs`](super::is_programs) tells already.
    pub const PRESENT: u8 = 7;
    /// Nothing, but where the logs of a new linker are is remembered: the pointer is to its handle; the count stands for where
    /// the pointer to the options' names is, with their number in the word before it, their values in the one behind.
    pub const LOGS: u8 = 8;
    /// Of a linker's handle, which is in the place of the pointer: what the call has added to its log of the number `count`.
    pub const LOG: u8 = 9;
    /// What the function returned in vector registers, the low eight bytes of xmm0 and of xmm1: a fragment whose address is
    /// [`RETURNED`](super::RETURNED).
    pub const FLOATS: u8 = 10;
}

/// Step bit: after the call, if it returned 0; else before it.
pub const EXIT: u8 = 1 << 0;
/// Step bit: after the call whatever it returned.
pub const ALWAYS: u8 = 1 << 1;
/// Step bit: the count has eight bytes; else four.
pub const COUNT64: u8 = 1 << 2;
/// Step bit: only if the step before kept nothing.
pub const ELSE: u8 = 1 << 3;

/// Step bit: one element more than the count that was read.
pub const MORE: u8 = 1 << 4;

/// Base: the call's words.
pub const WORDS: u8 = 255;
/// Base: the result register.
pub const RESULT: u8 = 254;
/// No base.
pub const NONE: u8 = 253;

/// In the place of the address of what a function returned in vector registers.
pub const RETURNED: u64 = 0;

/// CU_JIT_INFO_LOG_BUFFER and CU_JIT_ERROR_LOG_BUFFER: options of a linker that are its logs, by their number; the next option
/// is how long each is.
pub const LOG_OPTIONS: [u32; 2] = [3, 5];

/// Parameters of a kernel that are kept at most.
pub const PARAMETERS: usize = 64;

/// Bytes that are kept of each of a kernel's parameters where they do not all fit.
pub const CUTS: [usize; 6] = [256, 128, 64, 32, 16, 8];

/// Bytes of parameters of these sizes, if of each no more than `cut` are kept.
pub fn kept(sizes: impl Iterator<Item = usize>, cut: usize) -> usize {
    sizes.take(PARAMETERS).fold(0, |all, size| all.saturating_add(size.min(cut)))
}

/// How many bytes of each parameter are kept, so that as many as can be fit into `room`; `usize::MAX`: all.
pub fn cut(sizes: impl Iterator<Item = usize> + Clone, room: usize) -> usize {
    let fits = |cut: &usize| kept(sizes.clone(), *cut) <= room;
    if fits(&usize::MAX) { usize::MAX } else { CUTS.into_iter().find(fits).unwrap_or(8) }
}

/// The same, read off how many bytes were kept in all.
pub fn cut_of(sizes: impl Iterator<Item = usize> + Clone, kept_bytes: usize) -> usize {
    let is = |cut: &usize| kept(sizes.clone(), *cut) == kept_bytes;
    if is(&usize::MAX) { usize::MAX } else { CUTS.into_iter().find(is).unwrap_or(usize::MAX) }
}

/// Whether Linux puts only a relocated program and its heap here. Drivers put theirs below or above. (Where a program that is not relocated
/// lies, anything may lie in one that is.)
pub const fn is_programs(address: u64) -> bool {
    address >= 0x5555_5555_0000 && address < 0x5700_0000_0000
}

/// Whether a program can have memory at this address: not on its first pages, nor in the kernel's half.
pub const fn can_be(address: u64) -> bool {
    address >= 1 << 16 && address < 1 << 47
}

/// FNV-1a, 64 bits.
pub const fn hash(name: &[u8]) -> u64 {
    extend(0xcbf2_9ce4_8422_2325, name)
}

/// Goes on with a hash.
pub const fn extend(mut h: u64, mut more: &[u8]) -> u64 {
    while let [first, rest @ ..] = more {
        h = (h ^ *first as u64).wrapping_mul(0x0100_0000_01b3);
        more = rest;
    }
    h
}

/// The bits of a hash by which names are found.
pub const fn bits(hash: u64) -> u64 {
    hash >> 16
}

impl Name {
    /// A name by its [`bits`].
    pub const fn of(bits: u64, row: u16) -> Self {
        Self { upper: (bits >> 16) as u32, lower: bits as u16, row }
    }

    const fn bits(&self) -> u64 {
        (self.upper as u64) << 16 | self.lower as u64
    }
}

/// The number of the row of a hash.
pub fn number(names: &'static [Name], hash: u64) -> Option<usize> {
    let at = names.binary_search_by_key(&bits(hash), Name::bits).ok()?;
    names.get(at).map(|n| usize::from(n.row))
}

/// The steps of a row.
pub fn steps(all: &'static [Step], row: &Row) -> &'static [Step] {
    let first = usize::from(row.first);
    all.get(first..first + usize::from(row.steps)).unwrap_or(&[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_that_do_not_all_fit() {
        for (sizes, room, expected) in [
            (&[4, 8, 4000][..], 5000, usize::MAX),
            (&[4, 8, 4000], 1000, 256),
            (&[4000, 8, 4], 200, 128),
            (&[4000; 64], 1500, 16),
            (&[4000; 64], 100, 8),
        ] {
            let each = sizes.iter().copied();
            assert_eq!(cut(each.clone(), room), expected, "{sizes:?}");
            assert_eq!(cut_of(each.clone(), kept(each, expected)), expected, "{sizes:?}");
        }
        // Cut off in the middle: by nobody who knew of cuts.
        assert_eq!(cut_of([4000, 8].into_iter(), 999), usize::MAX);
    }
}
