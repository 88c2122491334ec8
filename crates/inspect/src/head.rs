//! The head of an ELF file: what its program headers and dynamic section say. Sections are not read, as neither the
//! kernel nor the loader reads them. The file may have any size, and no offset in it is trusted.

use object::elf::{
    DT_NEEDED, DT_RPATH, DT_RUNPATH, DT_SONAME, DT_STRTAB, EM_X86_64, FileHeader32, FileHeader64, PT_DYNAMIC,
    PT_INTERP, PT_LOAD, ProgramHeader64,
};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::read::{ReadCache, ReadRef};
use object::{Endianness, FileKind};
use std::fs::File;

/// Bytes of the longest segment that is read, and of the longest name. No real file has more.
const LONGEST: u64 = 1 << 16;

/// Bytes of all names together.
const MOST_NAMES: usize = 1 << 20;

/// The facts that decide whether a library can be loaded in front of a program's libraries.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Head {
    /// `e_machine`.
    pub machine: u16,
    /// A file of 64 bits. The fields below are empty for other files, and for other machines than x86-64.
    pub wide: bool,
    /// Path of the dynamic loader; `None` in a static program.
    pub interpreter: Option<String>,
    /// SONAME. The dynamic loader, started as a program, has one.
    pub soname: Option<String>,
    /// Libraries that it needs.
    pub needed: Vec<String>,
    /// Folders of RPATH and RUNPATH as the file has them.
    pub folders: Vec<String>,
    /// It has RPATH and no RUNPATH: the loader looks there before LD_LIBRARY_PATH.
    pub has_rpath: bool,
}

/// Reads the head; `None` if the file is no ELF file, or is cut off.
pub fn head(file: &File) -> Option<Head> {
    let cache = &ReadCache::new(file);
    match FileKind::parse(cache).ok()? {
        FileKind::Elf32 => {
            let header = FileHeader32::<Endianness>::parse(cache).ok()?;
            Some(Head { machine: header.e_machine(header.endian().ok()?).0, ..Head::default() })
        }
        FileKind::Elf64 => wide(cache),
        _ => None,
    }
}

fn wide(cache: &ReadCache<&File>) -> Option<Head> {
    let header = FileHeader64::<Endianness>::parse(cache).ok()?;
    let endian = header.endian().ok()?;
    let mut head = Head { machine: header.e_machine(endian).0, wide: true, ..Head::default() };
    if header.e_machine(endian) != EM_X86_64 {
        return Some(head);
    }
    let segments = header.program_headers(endian, cache).ok()?;
    for segment in segments {
        let kind = segment.p_type(endian);
        if kind != PT_INTERP && kind != PT_DYNAMIC {
            continue;
        }
        if segment.p_filesz(endian) > LONGEST {
            return None;
        }
        if let Some(path) = segment.interpreter(endian, cache).ok()? {
            head.interpreter = Some(text(path));
        }
        if let Some(entries) = segment.dynamic(endian, cache).ok()? {
            let entries = entries.iter().map(|entry| (entry.tag(endian), entry.val(endian)));
            dynamic(&mut head, entries.take_while(|(tag, _)| tag.0 != 0), cache, segments, endian)?;
        }
    }
    Some(head)
}

/// The names in the dynamic section. The table of strings is found as the loader finds it: by its address.
fn dynamic(
    head: &mut Head,
    entries: impl Iterator<Item = (object::elf::DynamicTag, u64)> + Clone,
    cache: &ReadCache<&File>,
    segments: &[ProgramHeader64<Endianness>],
    endian: Endianness,
) -> Option<()> {
    let Some((_, strings)) = entries.clone().find(|(tag, _)| *tag == DT_STRTAB) else { return Some(()) };
    let contains_strings = |segment: &&ProgramHeader64<Endianness>| {
        let (from, size) = (segment.p_vaddr(endian), segment.p_filesz(endian));
        segment.p_type(endian) == PT_LOAD && strings.checked_sub(from).is_some_and(|at| at < size)
    };
    let load = segments.iter().find(contains_strings)?;
    let base = (strings - load.p_vaddr(endian)).checked_add(load.p_offset(endian))?;
    let (mut room, mut has_runpath) = (MOST_NAMES, false);
    for (tag, at) in entries {
        if ![DT_NEEDED, DT_SONAME, DT_RPATH, DT_RUNPATH].contains(&tag) {
            continue;
        }
        let from = base.checked_add(at)?;
        let end = from.checked_add(LONGEST)?.min(cache.len().ok()?);
        let name = text(cache.read_bytes_at_until(from..end, 0).ok()?);
        room = room.checked_sub(name.len())?;
        match tag {
            DT_NEEDED => head.needed.push(name),
            DT_SONAME => head.soname = Some(name),
            tag => {
                has_runpath |= tag == DT_RUNPATH;
                head.has_rpath |= tag == DT_RPATH;
                head.folders.extend(name.split(':').map(str::to_owned));
            }
        }
    }
    head.has_rpath &= !has_runpath;
    Some(())
}

/// The text up to the first zero.
pub(crate) fn text(bytes: &[u8]) -> String {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_dynamic() {
        let head = head(&File::open("/proc/self/exe").unwrap()).unwrap();
        assert_eq!((head.machine, head.wide), (EM_X86_64.0, true));
        assert!(head.interpreter.unwrap().contains("ld-linux"));
        assert!(head.needed.iter().any(|n| n == "libc.so.6"), "{:?}", head.needed);
    }

    #[test]
    fn a_file_cut_off_anywhere_is_no_panic() {
        let whole = std::fs::read("/proc/self/exe").unwrap();
        let path = std::env::temp_dir().join(format!("cutap-head-{}", std::process::id()));
        for len in (0..800).chain([4096, 65536]) {
            std::fs::write(&path, &whole[..len]).unwrap();
            let cut = head(&File::open(&path).unwrap());
            assert!(len >= 64 || cut.is_none());
        }
        std::fs::remove_file(path).unwrap();
    }
}
