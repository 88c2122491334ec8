//! `names`: what slots, libraries, instances and kernels are called. Never dropped, append-only, made
//! of 64-byte cells. A writer takes cells by adding to a counter in its own memory, writes the length
//! immediately and commits last; a reader steps over cells that a killed thread left empty and comes back
//! to those that are still being written. A name is committed before any record refers to it.

use core::sync::atomic::{AtomicU64, Ordering};

/// Name of the file in the process folder.
pub const FILE: &str = "names";
/// Bytes of a cell.
pub const CELL: usize = 64;
/// The file grows by this much at a time.
pub const GROW: usize = 64 * 1024;
/// Largest file: a name beyond it is dropped and counted.
pub const MAX_BYTES: usize = 256 * 1024 * 1024;

const TAG: u64 = 0xc7a9;
const COMMITTED: u64 = 1 << 24;
/// Bytes of a string at most.
pub const LONGEST: usize = 0xffff;
/// Bytes before the two strings.
pub const FIXED: usize = 48;

/// Kinds of names. `a`, `b`, `c` are numbers, `s` and `t` strings.
pub mod kind {
    /// Nothing: fills a cell that a name could not use, because a name lies within one segment of its writer's memory.
    pub const FILLER: u8 = 0;
    /// a = object id, b = load address, c = layer (a number of api/layers.toml, 0: none) | watched << 8; s = SONAME or
    /// file name, t = path.
    pub const OBJECT: u8 = 1;
    /// a = slot, b = object id | route << 32 | C++ << 40 | [`super::HIDDEN`] | [`super::shape`] << 44, c = real
    /// address; s = name. A slot of one function of one load.
    pub const SLOT: u8 = 2;
    /// a = instance id, b = object id, c = runtime version (12090).
    pub const INSTANCE: u8 = 3;
    /// a = slot, b = instance id, c = callback id | words of the parameter block << 32; s = name. A function of a
    /// runtime instance.
    pub const RUNTIME_SLOT: u8 = 4;
    /// a = id; s = mangled name. A kernel's name as a runtime gave it.
    pub const KERNEL_NAME: u8 = 5;
    /// a = handle, b = handle that it was made from or 0; s = mangled name or empty. A kernel's handle.
    pub const KERNEL_HANDLE: u8 = 6;
    /// a = reason ([`crate::diagnostic`]); s = object or function, t = more. Something that is listed at the end.
    pub const GAP: u8 = 7;
    /// a = function handle; s = (offset, size) of each parameter, two u32 each. What the driver says of a kernel's
    /// parameters; the newest of a handle counts.
    pub const KERNEL_PARAMETERS: u8 = 9;
    /// s = text of an `.entry` of PTX that was loaded, up to the parenthesis that closes its parameters.
    pub const PTX_ENTRY: u8 = 10;
    /// a = object id, b = load bias, c = one of [`super::identity`]; s = what tells the file from another of that name.
    /// The object is there from now on; written only where stacks are kept, and again when it comes back.
    pub const LOADED: u8 = 11;
    /// a = bytes, b = 1 cubin, 2 fatbin, 3 PTX; s = file under `RUN/modules`. A module image that was kept.
    pub const MODULE: u8 = 8;
    /// s = version of the kernel driver, such as 580.159.04. Written with the first function of the layer `syscall`.
    pub const DRIVER: u8 = 12;
    /// a = thread id; s = what the thread is called (PR_GET_NAME) when its first call is recorded, if not as
    /// the program is.
    pub const THREAD: u8 = 13;
    /// a = device, b = number there; s = path as the program gave it. A regular file that the driver is about to load.
    pub const LOADED_FILE: u8 = 14;
    /// a = id; s = mangled name. A kernel's name, as rows of GPU time have it.
    pub const ROW_NAME: u8 = 15;
    /// a = number from 0; s = file name. A hook library.
    pub const HOOK: u8 = 16;
    /// a = id of a schema, b = type of the entry, c = object id of the domain; s = name, t = u32 each: number of the
    /// entry from 0, offset, flags, length of an array. An entry of a payload of NVTX.
    pub const PAYLOAD_ENTRY: u8 = 19;
    /// a = id of an enumeration, b = value, c = object id of the domain | bytes << 32; s = name of the value.
    pub const PAYLOAD_ENUM: u8 = 20;
    /// A code object of Python.
    ///
    /// a = number from 1, b = first line | [`crate::python::line_table`] << 32,
    /// c = [`crate::python::texts`]; s = characters of the file's name, then of the function's.
    pub const PYTHON_CODE: u8 = 17;
    /// a = number of a code object, b = bytes that its table has; s = the first of them. Before its PYTHON_CODE.
    pub const PYTHON_LINES: u8 = 18;
    /// a = id; s = text. A rule of `--inject`.
    pub const RULE: u8 = 21;
    /// a = number from 1, b = 1: there are more frames; s = frames of Python, as in a STACK record. A stack to which a
    /// [`crate::python::Node`] leads.
    pub const PYTHON_STACK: u8 = 22;
    /// a = number from 1; s = mangled name. A type of nodes of autograd.
    pub const NODE_TYPE: u8 = 23;
}

/// Bytes of the second string of a PAYLOAD_ENTRY.
pub const PAYLOAD_LAYOUT_BYTES: usize = 16;

/// By what a LOADED record tells a file.
pub mod identity {
    /// Nothing.
    pub const NONE: u64 = 0;
    /// Its build id.
    pub const BUILD_ID: u64 = 1;
    /// FNV-1a of the first [`HASHED`] bytes of its .eh_frame_hdr, where it has no build id.
    pub const TABLES: u64 = 2;
    /// See `TABLES`.
    pub const HASHED: usize = 65536;
    /// A build id is no longer.
    pub const MOST: usize = 32;

    /// The hash of `TABLES`.
    pub fn hash(bytes: &[u8]) -> u64 {
        bytes.iter().take(HASHED).fold(0xcbf2_9ce4_8422_2325, |h, &b| (h ^ b as u64).wrapping_mul(0x100_0000_01b3))
    }
}

/// Of a slot: the run's filter does not show this function. It is recorded only because annotations depend on it.
pub const HIDDEN: u64 = 1 << 41;

/// Packs how many words of integer registers, vector registers and stack a slot's records have. With no
/// descriptor that is six, none, none.
pub const fn shape(ints: u8, vectors: u8, stack: u8) -> u64 {
    ints as u64 | (vectors as u64) << 4 | (stack as u64) << 8
}

/// How a slot's address was first handed out.
pub mod route {
    /// A relocated word.
    pub const BINDING: u8 = 1;
    /// dlsym or dlvsym.
    pub const DLSYM: u8 = 2;
    /// cuGetProcAddress.
    pub const GET_PROC_ADDRESS: u8 = 3;
    /// A lazy word at its first call.
    pub const FIRST_CALL: u8 = 4;
    /// A word of a table that cuGetExportTable returned: the slot is of the layer hidden, whatever its object's is.
    pub const EXPORT_TABLE: u8 = 5;
    /// No address: ranges of a domain of NVTX, whose names stand in their records.
    pub const NVTX_RANGE: u8 = 16;
    /// The same: marks.
    pub const NVTX_MARK: u8 = 17;
    /// The same: starts of ranges that may end in another thread.
    pub const NVTX_START: u8 = 18;
    /// The same: their ends.
    pub const NVTX_END: u8 = 19;
}

/// The domain of ranges of NVTX that name none.
pub const DEFAULT_DOMAIN: &str = "nvtx";

/// One name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name<'a> {
    /// One of [`kind`].
    pub kind: u8,
    /// When.
    pub ticks: u64,
    /// See [`kind`].
    pub a: u64,
    /// See [`kind`].
    pub b: u64,
    /// See [`kind`].
    pub c: u64,
    /// See [`kind`].
    pub s: &'a [u8],
    /// See [`kind`].
    pub t: &'a [u8],
}

impl Name<'_> {
    /// Cells that it takes.
    pub fn cells(&self) -> usize {
        Name::cells_of(self.s.len().min(LONGEST) + self.t.len().min(LONGEST))
    }

    /// Cells of a name whose strings have so many bytes together.
    pub fn cells_of(bytes: usize) -> usize {
        (FIXED + bytes).div_ceil(CELL)
    }

    /// Writes it to cells that were taken for it.
    ///
    /// # Safety
    /// `at` points to `self.cells()` cells of mapped, allocated file memory, 8-byte aligned.
    pub unsafe fn write(&self, at: *mut u8) {
        let (s, t) = (self.s.len().min(LONGEST), self.t.len().min(LONGEST));
        // SAFETY: the cells hold both strings, by the caller's promise.
        unsafe {
            self.write_filled(at, s + t, |text, _| {
                for i in 0..s {
                    text.add(i).write_volatile(self.s.as_ptr().add(i).read());
                }
                for i in 0..t {
                    text.add(s + i).write_volatile(self.t.as_ptr().add(i).read());
                }
                s + t
            });
        }
    }

    /// Writes it to cells that were taken for `bytes` bytes of strings. `fill` is given where they go and `bytes`, and
    /// answers how many it has put there: the second string as it is here, the first string before it.
    ///
    /// # Safety
    /// `at` points to `Name::cells_of(bytes)` cells of mapped, allocated file memory, 8-byte aligned.
    pub unsafe fn write_filled(&self, at: *mut u8, bytes: usize, fill: impl FnOnce(*mut u8, usize) -> usize) {
        let first = TAG | u64::from(self.kind) << 16 | ((FIXED + bytes) as u64) << 32;
        let words = at.cast::<AtomicU64>();
        // SAFETY: the cells hold the fixed part and the strings, by the caller's promise.
        unsafe {
            (*words).store(first, Ordering::Release);
            for (n, value) in [self.ticks, self.a, self.b, self.c].into_iter().enumerate() {
                (*words.add(n + 1)).store(value, Ordering::Relaxed);
            }
            let t = self.t.len().min(LONGEST);
            let s = fill(at.add(FIXED), bytes).saturating_sub(t).min(LONGEST);
            (*words.add(5)).store(s as u64 | (t as u64) << 16, Ordering::Relaxed);
            (*words).store(first | COMMITTED, Ordering::Release);
        }
    }
}

/// What fills one cell.
pub const FILLER: Name<'static> =
    Name { kind: kind::FILLER, ticks: 0, a: 0, b: 0, c: 0, s: &[b'.'; CELL - FIXED], t: &[] };

/// What stands at one place of the names file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell<'a> {
    /// A name and the bytes it takes.
    Name(Name<'a>, usize),
    /// A name of this many bytes is being written, or its writer died.
    Pending(usize),
    /// Nothing yet, or a hole of one cell.
    Empty,
    /// The end of what the file holds.
    End,
}

/// Looks at the cell at `offset`.
pub fn cell(file: &[u8], offset: usize) -> Cell<'_> {
    let Some(rest) = file.get(offset..).filter(|r| r.len() >= CELL) else { return Cell::End };
    let at = |n: usize| rest.as_chunks::<8>().0.get(n).map_or(0, |w| u64::from_le_bytes(*w));
    let first = at(0);
    if first & 0xffff != TAG {
        return Cell::Empty;
    }
    let len = (first >> 32) as usize;
    let bytes = len.div_ceil(CELL).max(1) * CELL;
    if first & COMMITTED == 0 {
        return Cell::Pending(bytes);
    }
    let (s, t) = ((at(5) & 0xffff) as usize, (at(5) >> 16 & 0xffff) as usize);
    match (rest.get(FIXED..FIXED + s), rest.get(FIXED + s..FIXED + s + t)) {
        (Some(s), Some(t)) => {
            let name = Name { kind: (first >> 16) as u8, ticks: at(1), a: at(2), b: at(3), c: at(4), s, t };
            Cell::Name(name, bytes)
        }
        _ => Cell::End,
    }
}
