//! `RUN/hooks`: the hook libraries of a run in their order, and for each known function what its
//! parameters are called and where they are, so that nothing of that has to be carried in the target.
//! Written whole by `cutap` before the program starts, read once in each process. At its end, on pages of
//! its own, processes write what the libraries want, and whether any such function was called: only
//! outside it is known which names there are.

mod hook_active;

pub use hook_active::*;

use core::sync::atomic::{AtomicU8, AtomicU32};

/// Name of the file in the run directory.
pub const FILE: &str = "hooks";
/// Largest file.
pub const MAX_BYTES: usize = 16 << 20;
/// Hook libraries at most.
pub const LIBRARIES: usize = 8;

/// Bytes of the head.
pub const HEAD: usize = 48;
/// Where the word stands that a process leaves while it asks a library what it wants: [`asking`], or while the
/// library's constructors or destructors run: [`constructing`], [`destroying`]. It lasts a moment; of several processes
/// that ask at the same time one is remembered.
pub const ASKING: usize = 32;
/// Bytes of a row.
pub const ROW: usize = 24;
/// Bytes of a parameter.
pub const PARAMETER: usize = 16;

/// Where the number stands that a process sets to 1 when it asks the libraries: none has begun while it is 0.
pub const BEGUN: usize = 44;

/// The head: magic (8 bytes), then six numbers of four bytes, then the word at [`ASKING`], then one number more, and
/// that at [`BEGUN`].
#[derive(Debug, Clone, Copy)]
pub struct Head {
    /// [`crate::VERSION`].
    pub version: u32,
    /// Bytes of the file.
    pub bytes: u32,
    /// Number of hook libraries.
    pub libraries: u32,
    /// Where their paths begin: each ends with a zero.
    pub paths: u32,
    /// Number of rows, which stand behind the head, sorted by hash and version.
    pub rows: u32,
    /// Where the parameters begin.
    pub parameters: u32,
    /// Where the selectors of the libraries begin, behind `bytes`: [`SelectorRow`], [`SELECTORS`] times.
    pub selectors: u32,
}

/// Selectors of all libraries at most.
pub const SELECTORS: usize = 64;
/// Longest pattern.
pub const PATTERN: usize = 128;
/// Where the place of the wants stands in the head.
const SELECTORS_AT: usize = 40;

/// A want of a library, as processes of the run write it: each is there once.
#[repr(C)]
pub struct SelectorRow {
    /// 0: empty; 1: being written; 2: there.
    pub state: AtomicU32,
    /// 1 once a function that it is of was called.
    pub met: AtomicU32,
    /// Number of the library.
    pub library: AtomicU32,
    /// Layers.
    pub layers: AtomicU32,
    /// Pattern of the name, and of the library, filled up with zeros.
    pub text: [[AtomicU8; PATTERN]; 2],
}

/// Bytes of the wants in the file.
pub const SELECTOR_BYTES: usize = SELECTORS * size_of::<SelectorRow>();

/// A want as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selector<'a> {
    /// Number of the library.
    pub library: u32,
    /// Layers.
    pub layers: u32,
    /// A function that it is of was called.
    pub met: bool,
    /// Pattern of the name.
    pub name: &'a [u8],
    /// Pattern of the library.
    pub of: &'a [u8],
}

/// The wants in a file.
pub fn selectors<'a>(file: &'a [u8], head: &Head) -> impl Iterator<Item = Selector<'a>> {
    let rows = file.get(head.selectors as usize..).filter(|_| head.selectors >= head.bytes).unwrap_or(&[]);
    rows.chunks_exact(size_of::<SelectorRow>()).take(SELECTORS).filter_map(|row| {
        let (numbers, text) = row.split_at_checked(16)?;
        let (name, of) = text.split_at_checked(PATTERN)?;
        let number = |n: usize| u32_at(numbers, n * 4);
        let text = |t: &'a [u8]| t.get(..t.iter().position(|&b| b == 0).unwrap_or(PATTERN));
        (number(0)? == 2).then_some(())?;
        Some(Selector {
            library: number(2)?,
            layers: number(3)?,
            met: number(1)? != 0,
            name: text(name)?,
            of: text(of)?,
        })
    })
}

/// Whether a pattern for names is a plain one: it then means the versions of that function too, as a program that was
/// compiled with any header calls them.
pub fn is_plain(pattern: &[u8]) -> bool {
    !pattern.iter().any(|b| matches!(b, b'*' | b'?'))
}

/// Whether a function's name is a version of this plain one: `cuMemAlloc_v2` is one of `cuMemAlloc`.
pub fn is_version(plain: &[u8], name: &[u8]) -> bool {
    !plain.is_empty() && name.strip_prefix(plain).is_some_and(|rest| rest.first() == Some(&b'_'))
}

impl Head {
    /// As bytes.
    pub fn to_bytes(&self) -> [u8; HEAD] {
        let mut out = [0; HEAD];
        let words = [self.version, self.bytes, self.libraries, self.paths, self.rows, self.parameters];
        let bytes = crate::MAGIC.to_le_bytes().into_iter().chain(words.into_iter().flat_map(u32::to_le_bytes));
        for (to, from) in out.iter_mut().zip(bytes.chain([0; 8]).chain(self.selectors.to_le_bytes())) {
            *to = from;
        }
        out
    }
    /// From bytes, if they are a head of this version.
    pub fn read(file: &[u8]) -> Option<Head> {
        let magic = file.first_chunk::<8>()?;
        let word = |n: usize| u32_at(file, 8 + n * 4);
        let head = Head {
            version: word(0)?,
            bytes: word(1)?,
            libraries: word(2)?,
            paths: word(3)?,
            rows: word(4)?,
            parameters: word(5)?,
            selectors: u32_at(file, SELECTORS_AT)?,
        };
        (u64::from_le_bytes(*magic) == crate::MAGIC && head.version == crate::VERSION).then_some(head)
    }
}

/// A function, or one form of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Hash of its name.
    pub hash: u64,
    /// First and last version with this form, as `cutap_calls::known::Function` has it.
    pub since: u32,
    /// See `since`.
    pub until: u32,
    /// First of its parameters.
    pub first: u32,
    /// How many.
    pub count: u8,
    /// Words of integer registers in a frame.
    pub ints: u8,
    /// Words of vector registers, which follow; then those of the stack.
    pub vectors: u8,
    /// One of [`returns`].
    pub returns: u8,
}

/// What functions return.
pub mod returns {
    /// Not known.
    pub const NOT_KNOWN: u8 = 0;
    /// A number or a pointer.
    pub const WORD: u8 = 1;
    /// A float or a double.
    pub const FLOAT: u8 = 2;
    /// A struct, in whatever registers or memory.
    pub const STRUCT: u8 = 3;
    /// Nothing.
    pub const NOTHING: u8 = 4;
}

impl Row {
    /// As bytes.
    pub fn to_bytes(&self) -> [u8; ROW] {
        let mut out = [0; ROW];
        let numbers = [self.since, self.until, self.first].into_iter().flat_map(u32::to_le_bytes);
        let bytes = self.hash.to_le_bytes().into_iter().chain(numbers).chain([
            self.count,
            self.ints,
            self.vectors,
            self.returns,
        ]);
        for (to, from) in out.iter_mut().zip(bytes) {
            *to = from;
        }
        out
    }
    fn read(file: &[u8], n: usize) -> Option<Row> {
        let at = HEAD + n * ROW;
        let hash = u64::from(u32_at(file, at)?) | u64::from(u32_at(file, at + 4)?) << 32;
        let last = u32_at(file, at + 20)?;
        Some(Row {
            hash,
            since: u32_at(file, at + 8)?,
            until: u32_at(file, at + 12)?,
            first: u32_at(file, at + 16)?,
            count: last as u8,
            ints: (last >> 8) as u8,
            vectors: (last >> 16) as u8,
            returns: (last >> 24) as u8,
        })
    }
}

/// A parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Where its name stands in the file; it ends with a zero.
    pub name: u32,
    /// Its bytes.
    pub bytes: u16,
    /// Its place in a runtime's parameter block.
    pub offset: u16,
    /// Its first word in a frame's words; 255: it is not there.
    pub word: u8,
    /// Its second, when it is a struct of two registers; else 255.
    pub second: u8,
    /// One of `cutap_hook::contract::kind`.
    pub kind: u8,
    /// 1: surely nothing that a call writes lies where it leads to.
    pub input: u8,
}

impl Parameter {
    /// As bytes.
    pub fn to_bytes(&self) -> [u8; PARAMETER] {
        let mut out = [0; PARAMETER];
        let halves = [self.bytes, self.offset].into_iter().flat_map(u16::to_le_bytes);
        let bytes =
            self.name.to_le_bytes().into_iter().chain(halves).chain([self.word, self.second, self.kind, self.input]);
        for (to, from) in out.iter_mut().zip(bytes) {
            *to = from;
        }
        out
    }
    /// Parameter `n` of the file.
    pub fn read(file: &[u8], head: &Head, n: u32) -> Option<Parameter> {
        let at = head.parameters as usize + n as usize * PARAMETER;
        let (sizes, last) = (u32_at(file, at + 4)?, u32_at(file, at + 8)?);
        Some(Parameter {
            name: u32_at(file, at)?,
            bytes: sizes as u16,
            offset: (sizes >> 16) as u16,
            word: last as u8,
            second: (last >> 8) as u8,
            kind: (last >> 16) as u8,
            input: (last >> 24) as u8,
        })
    }
}

/// The form of a function that this version has; of an unknown version the nearest below.
pub fn find(file: &[u8], head: &Head, hash: u64, version: u32) -> Option<Row> {
    let (mut low, mut high) = (0, head.rows as usize);
    while low < high {
        let middle = low + (high - low) / 2;
        if Row::read(file, middle)?.hash < hash {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    let mut best = None;
    while let Some(row) = Row::read(file, low).filter(|r| low < head.rows as usize && r.hash == hash) {
        if best.is_none() || row.since <= version {
            best = Some(row);
        }
        low += 1;
    }
    best
}

/// A string that ends with a zero: its place and length.
pub fn text(file: &[u8], at: usize) -> Option<&[u8]> {
    let rest = file.get(at..)?;
    rest.get(..rest.iter().position(|&b| b == 0)?)
}

fn u32_at(file: &[u8], at: usize) -> Option<u32> {
    file.get(at..)?.first_chunk::<4>().map(|b| u32::from_le_bytes(*b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let rows = [(7, 0, 12990), (7, 13000, u32::MAX), (9, 0, u32::MAX)].map(|(hash, since, until)| Row {
            hash,
            since,
            until,
            first: 0,
            count: 1,
            ints: 2,
            vectors: 3,
            returns: returns::FLOAT,
        });
        let parameter = Parameter { name: 0, bytes: 8, offset: 16, word: 1, second: 255, kind: 3, input: 1 };
        let at = (HEAD + rows.len() * ROW) as u32;
        let head =
            Head { version: crate::VERSION, bytes: 0, libraries: 1, paths: 0, rows: 3, parameters: at, selectors: 0 };
        let mut file = head.to_bytes().to_vec();
        rows.iter().for_each(|r| file.extend(r.to_bytes()));
        file.extend(parameter.to_bytes());
        let head = Head::read(&file).unwrap();
        assert_eq!(find(&file, &head, 7, 12090), Some(rows[0]));
        assert_eq!(find(&file, &head, 7, 13050), Some(rows[1]));
        assert_eq!(find(&file, &head, 9, 1), Some(rows[2]));
        assert_eq!((find(&file, &head, 8, 1), find(&file, &head, 99, 1)), (None, None));
        assert_eq!(Parameter::read(&file, &head, 0), Some(parameter));
        for len in 0..file.len() {
            let cut = &file[..len];
            let _ = Head::read(cut).map(|h| (find(cut, &h, 7, 1), Parameter::read(cut, &h, 0)));
        }
    }

    #[test]
    fn wants_are_read_as_they_stand() {
        let head =
            Head { version: crate::VERSION, bytes: 8, libraries: 1, paths: 0, rows: 0, parameters: 0, selectors: 8 };
        let mut file = vec![0; 8 + 3 * size_of::<SelectorRow>()];
        for (n, state) in [(0, 2), (1, 1)] {
            let row = &mut file[8 + n * size_of::<SelectorRow>()..];
            (row[0], row[8], row[12]) = (state, 3, 7);
            row[16..19].copy_from_slice(b"cu*");
            row[16 + PATTERN..][..PATTERN].fill(b'l');
        }
        let want = Selector { library: 3, layers: 7, met: false, name: b"cu*", of: &[b'l'; PATTERN] };
        assert!(selectors(&file, &head).eq([want]));
        (0..file.len()).for_each(|len| assert!(selectors(&file[..len], &head).count() < 2));
        assert_eq!(
            selectors(&file, &Head { selectors: 4, ..head }).count(),
            0,
            "behind the file that was written before"
        );
    }

    #[test]
    fn a_plain_name_has_versions() {
        assert!(is_plain(b"cuMemAlloc") && !is_plain(b"cuMem*") && !is_plain(b"cu?"));
        assert!(is_version(b"cuMemAlloc", b"cuMemAlloc_v2") && is_version(b"cuMemAlloc_v2", b"cuMemAlloc_v2_ptds"));
        assert!(!is_version(b"cuMemAlloc", b"cuMemAlloc") && !is_version(b"cuMemAlloc", b"cuMemAllocHost"));
    }
}
