//! What the dynamic loader would make of the file: its kind, what it needs, what it imports and by
//! which relocated words, and the oddities that matter to bindings. Knows ELF, not CUDA.

use crate::Error;
use crate::head::{head, text};
use cutap_calls::{Role, function_with};
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::read::{ReadCache, ReadCacheRange};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, elf};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// As the standard library takes it.
const O_NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits() as i32;

/// What the loader would know.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) machine: u16,
    pub(crate) bits: u8,
    /// Marks of the file by which a program gains rights at its start: the loader then ignores LD_PRELOAD.
    pub(crate) rights: Vec<&'static str>,
    /// The loader's path, of a program.
    pub(crate) interpreter: Option<String>,
    pub(crate) executable: bool,
    /// Has a dynamic section: the loader has something to do.
    pub(crate) dynamic: bool,
    pub(crate) soname: Option<String>,
    pub(crate) needed: Vec<String>,
    pub(crate) imports: Vec<Import>,
    /// Exported functions that choose their own implementation when they are bound.
    pub(crate) ifuncs: Vec<String>,
    pub(crate) exports_runtime: bool,
    /// Relocated words in executable pages, or the flag that allows them.
    pub(crate) textrel: bool,
    /// Exported names are found through DT_HASH only.
    pub(crate) old_hash_only: bool,
}

/// A name that another object must have.
#[derive(Debug)]
pub(crate) struct Import {
    pub(crate) name: String,
    pub(crate) weak: bool,
    /// The library that it was linked against, where symbol versions say so.
    pub(crate) library: Option<String>,
    /// Relocated words by their kind.
    pub(crate) words: BTreeMap<&'static str, u32>,
    /// A non-PIE program's PLT entry stands for the function.
    pub(crate) address_taken: bool,
}

/// A part of the file that is mapped into memory.
struct Part {
    offset: u64,
    size: u64,
    executable: bool,
}

/// An ELF file.
pub(crate) struct Image {
    path: PathBuf,
    file: File,
    parts: Vec<Part>,
    pub(crate) facts: Facts,
}

type Elf<'a> = ElfFile64<'a, Endianness, ReadCacheRange<'a, File>>;

impl Image {
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let read = |error| Error::Read { path: path.to_owned(), error };
        // Not to wait for somebody who writes: a path that a recording names may be a pipe by now.
        let file = OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path).map_err(read)?;
        let metadata = file.metadata().map_err(read)?;
        if metadata.is_dir() {
            return Err(read(std::io::ErrorKind::IsADirectory.into()));
        }
        if !metadata.is_file() {
            return Err(read(std::io::Error::other("it is a pipe or a device")));
        }
        let mut start = [0; 256];
        let length = file.read_at(&mut start, 0).map_err(read)?;
        check_start(path, start.get(..length).unwrap_or_default())?;
        let mut facts = Facts { rights: rights(path, metadata.mode()), ..Facts::default() };
        // A file whose head is cut off is taken for one of 64 bits, which is then found damaged.
        let head = head(&file);
        facts.bits = if head.as_ref().is_some_and(|head| !head.wide) { 32 } else { 64 };
        facts.machine = head.map_or(0, |head| head.machine);
        let mut parts = Vec::new();
        if facts.bits == 64 {
            let cache = ReadCache::new(file.try_clone().map_err(read)?);
            let damaged = |error: String| Error::Damaged { path: path.to_owned(), error };
            let elf = ElfFile64::parse(cache.range(0, metadata.len())).map_err(|error| damaged(error.to_string()))?;
            // Names may share their ends, and several names one library.
            let mut names = Names(metadata.len().saturating_mul(4));
            gather(&elf, &mut facts, &mut names).map_err(|error| damaged(error.to_string()))?;
            if names.0 == 0 {
                return Err(damaged("its names overlap".to_owned()));
            }
            parts = inside(mapped_parts(&elf), metadata.len());
        }
        Ok(Self { path: path.to_owned(), file, parts, facts })
    }

    /// Shows the bytes of each mapped part, code or data, one part after the other. A large part is shown in pieces.
    pub(crate) fn each(&self, executable: bool, visit: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
        let mut bytes = Vec::new();
        for part in self.parts.iter().filter(|p| p.executable == executable) {
            let result = pieces(&self.file, part, PIECE, &mut bytes, visit);
            result.map_err(|error| Error::Read { path: self.path.clone(), error })?;
        }
        Ok(())
    }
}

/// Bytes of a piece. A file with holes may be larger than the memory.
const PIECE: u64 = 64 << 20;
/// Bytes of the longest thing that is looked for, if it is no string.
const OVERLAP: usize = 64;

/// Shows a part in pieces. Each string is whole in at least one piece, because pieces begin and end at a zero. The last
/// bytes of a piece are shown again in the next one. Holes have only zeros.
fn pieces(
    file: &File,
    part: &Part,
    most: u64,
    bytes: &mut Vec<u8>,
    visit: &mut dyn FnMut(&[u8]),
) -> std::io::Result<()> {
    let end = part.offset.saturating_add(part.size);
    let mut at = part.offset;
    while at < end {
        match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(at)) {
            // The zeros in front of the data end a string.
            Ok(data) if data > at => at = data.saturating_sub(OVERLAP as u64).max(at),
            Err(rustix::io::Errno::NXIO) => break,
            _ => {}
        }
        let size = end.saturating_sub(at).min(most);
        bytes.resize(size as usize, 0);
        file.read_exact_at(bytes, at)?;
        let last = at + size == end;
        let zero = |bytes: &[u8]| bytes.iter().rposition(|byte| *byte == 0).map(|zero| zero + 1);
        let length = if last { bytes.len() } else { zero(bytes).unwrap_or(bytes.len()) };
        let chunk = bytes.get(..length).unwrap_or_default();
        visit(chunk);
        if last {
            break;
        }
        let overlap_start = chunk.len().saturating_sub(OVERLAP);
        let next = zero(chunk.get(..overlap_start).unwrap_or_default()).unwrap_or(overlap_start);
        at += (next as u64).max(1);
    }
    Ok(())
}

/// Bytes that names may still have. A damaged file may have many long names in the same bytes.
struct Names(u64);

impl Names {
    /// Whether a name of this length is taken.
    fn take(&mut self, name: &[u8]) -> bool {
        self.0 = self.0.saturating_sub(name.len() as u64);
        self.0 > 0
    }
}

/// The parts as far as they lie in the file, each byte once for what it holds: neither the kernel nor the loader looks
/// at what sections say.
fn inside(mut parts: Vec<Part>, length: u64) -> Vec<Part> {
    parts.sort_by_key(|part| (part.executable, part.offset));
    let (mut executable, mut from) = (false, 0);
    for part in &mut parts {
        if part.executable != executable {
            (executable, from) = (part.executable, 0);
        }
        let end = part.offset.saturating_add(part.size).min(length);
        part.offset = part.offset.max(from).min(length);
        part.size = end.saturating_sub(part.offset);
        from = from.max(end);
    }
    parts
}

/// As the kernel reads them: setgid without execution by the group means something else.
fn rights(path: &Path, mode: u32) -> Vec<&'static str> {
    let mut value = [0u8; 64];
    let capable =
        rustix::fs::getxattr(path.as_os_str().as_bytes(), c"security.capability", &mut value[..]).is_ok_and(|n| n > 0);
    [("setuid", mode & 0o4000 != 0), ("setgid", mode & 0o2010 == 0o2010), ("capabilities", capable)]
        .iter()
        .filter_map(|(what, there)| there.then_some(*what))
        .collect()
}

/// Tells apart what people hand to a command like this.
fn check_start(path: &Path, start: &[u8]) -> Result<(), Error> {
    let path = path.to_owned();
    if start.starts_with(b"\x7fELF") {
        return Ok(());
    }
    if start.starts_with(b"!<arch>\n") {
        return Err(Error::Archive { path });
    }
    if let Some(rest) = start.strip_prefix(b"#!") {
        let line = rest.split(|b| *b == b'\n').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or("its interpreter");
        let interpreter = if first.ends_with("/env") { words.next().unwrap_or(first) } else { first };
        return Err(Error::Script { path, interpreter: interpreter.to_owned() });
    }
    Err(Error::NotElf { path })
}

fn gather(file: &Elf<'_>, facts: &mut Facts, names: &mut Names) -> object::read::Result<()> {
    let endian = file.endian();
    let header = file.elf_header();
    facts.machine = header.e_machine(endian).0;
    let segments = file.elf_program_headers();
    for segment in segments {
        if let Ok(Some(path)) = segment.interpreter(endian, file.data()) {
            facts.interpreter = Some(text(path));
        }
        facts.dynamic |= segment.p_type(endian) == elf::PT_DYNAMIC;
    }
    let dynamic = file.elf_dynamic_table()?;
    let (mut hash, mut gnu_hash, mut pie) = (false, false, false);
    for entry in dynamic.iter() {
        match entry.tag {
            elf::DT_NEEDED => {
                let name = dynamic.string(entry)?;
                if !names.take(name) {
                    break;
                }
                facts.needed.push(text(name));
            }
            elf::DT_SONAME => facts.soname = Some(text(dynamic.string(entry)?)),
            elf::DT_TEXTREL => facts.textrel = true,
            elf::DT_FLAGS => facts.textrel |= entry.val & elf::DF_TEXTREL.0 != 0,
            elf::DT_FLAGS_1 => pie = entry.val & elf::DF_1_PIE.0 != 0,
            elf::DT_HASH => hash = true,
            elf::DT_GNU_HASH => gnu_hash = true,
            _ => {}
        }
    }
    facts.executable = header.e_type(endian) == elf::ET_EXEC || facts.interpreter.is_some() || pie;
    facts.old_hash_only = hash && !gnu_hash;
    symbols(file, facts, names)
}

fn symbols(file: &Elf<'_>, facts: &mut Facts, names: &mut Names) -> object::read::Result<()> {
    let endian = file.endian();
    let versions = file.elf_section_table().versions(endian, file.data())?;
    let mut imports = BTreeMap::new();
    for symbol in file.dynamic_symbols() {
        let Ok(name) = symbol.name() else { continue };
        if !names.take(name.as_bytes()) {
            break;
        }
        if !symbol.is_undefined() {
            facts.exports_runtime |= name == const { function_with(Role::RuntimeVersion) };
            if symbol.elf_symbol().st_type() == elf::STT_GNU_IFUNC {
                facts.ifuncs.push(name.to_owned());
            }
        } else if !name.is_empty() {
            let version = versions.as_ref().and_then(|all| {
                let index = all.version_index(endian, symbol.index());
                all.version(index.index()).ok().flatten()
            });
            let library = version.and_then(|v| v.file());
            if !names.take(library.unwrap_or_default()) {
                break;
            }
            let import = Import {
                name: name.to_owned(),
                weak: symbol.is_weak(),
                library: library.map(text),
                words: BTreeMap::new(),
                address_taken: symbol.address() != 0,
            };
            imports.insert(symbol.index().0, import);
        }
    }
    for (_, relocation) in file.dynamic_relocations().into_iter().flatten() {
        if let RelocationTarget::Symbol(index) = relocation.target()
            && let Some(import) = imports.get_mut(&index.0)
            && let RelocationFlags::Elf { r_type, .. } = relocation.flags()
        {
            *import.words.entry(word(r_type)).or_default() += 1;
        }
    }
    facts.imports = imports.into_values().collect();
    Ok(())
}

/// What a relocated word is for, on x86-64.
fn word(r_type: elf::RelocationType) -> &'static str {
    match r_type {
        elf::R_X86_64_JUMP_SLOT => "plt",
        elf::R_X86_64_GLOB_DAT => "got",
        elf::R_X86_64_64 => "data",
        elf::R_X86_64_COPY => "copy",
        _ => "other",
    }
}

/// The parts worth reading: code and constant data, but not the kernels, which are most of a CUDA
/// library and say nothing here.
fn mapped_parts(file: &Elf<'_>) -> Vec<Part> {
    let mut parts = Vec::new();
    for section in file.sections() {
        let object::SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
        let name = section.name().unwrap_or("");
        let executable = sh_flags.contains(elf::SHF_EXECINSTR);
        let constant = !sh_flags.contains(elf::SHF_WRITE);
        let dull = [".nv_fatbin", ".eh_frame", ".gcc_except_table", ".rela", ".dyn"];
        if sh_flags.contains(elf::SHF_ALLOC)
            && constant
            && !dull.iter().any(|d| name.starts_with(d))
            && let Some((offset, size)) = section.file_range()
        {
            parts.push(Part { offset, size, executable });
        }
    }
    if !parts.is_empty() {
        return parts;
    }
    let endian = file.endian();
    for segment in file.elf_program_headers().iter().filter(|s| s.p_type(endian) == elf::PT_LOAD) {
        let (offset, size) = segment.file_range(endian);
        parts.push(Part { offset, size, executable: false });
        if segment.p_flags(endian).contains(elf::PF_X) {
            parts.push(Part { offset, size, executable: true });
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::io::Write;

    #[test]
    fn strings_are_whole_in_some_piece_and_holes_are_skipped() {
        let mut file = tempfile::tempfile().unwrap();
        let words: Vec<String> = (0..500).map(|n| format!("{n}{}", "word".repeat(n % 20))).collect();
        file.write_all(words.join("\0").as_bytes()).unwrap();
        file.set_len(1 << 42).unwrap();
        let end = file.metadata().unwrap().len();
        std::os::unix::fs::FileExt::write_all_at(&file, b"\0at the end", end - 11).unwrap();
        for most in [700, 4096, 1 << 20] {
            let (mut found, mut bytes, mut read) = (BTreeSet::new(), Vec::new(), 0);
            let part = Part { offset: 0, size: end, executable: false };
            let mut visit = |bytes: &[u8]| {
                read += bytes.len();
                let strings = bytes.split(|byte| *byte == 0).filter(|string| !string.is_empty());
                found.extend(strings.map(|string| String::from_utf8_lossy(string).into_owned()));
            };
            pieces(&file, &part, most, &mut bytes, &mut visit).unwrap();
            let expected: BTreeSet<_> = words.iter().cloned().chain(["at the end".to_owned()]).collect();
            assert_eq!(found, expected, "{most}");
            assert!(read < 8 << 20, "{read} bytes");
        }
    }
}
