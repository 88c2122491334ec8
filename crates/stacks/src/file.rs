//! One file that a process had loaded: its unwind tables, its functions, and where they stand in the source, if it says
//! so. Read in pieces with plain reads, for a file that is mapped and cut short meanwhile is a crash.

use crate::bounded::Bounded;
use crate::demangle;
use crate::map::Loaded;
use crate::regular::open;
use crate::rows::{Row, Tables};
use crate::symbols::Symbols;
use addr2line::Context;
use cutap_wire::names::identity;
use gimli::{Dwarf, EndianArcSlice, LittleEndian};
use object::read::elf::ElfFile64;
use object::{Object, ObjectSection};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Debug information of more than this, unpacked, is not read: its frames have functions and no lines.
const MOST_DEBUG: u64 = 1 << 30;
/// Bytes of unwind tables and symbols that are read of a file.
const MOST_TABLES: u64 = 512 << 20;

type Reader = EndianArcSlice<LittleEndian>;
type Elf<'data> = ElfFile64<'data, object::Endianness, &'data Bounded>;

/// Why a file is of no use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// It cannot be read.
    Missing,
    /// It is not the one that was loaded.
    Changed,
}

pub struct File {
    tables: Tables,
    symbols: Symbols,
    debug: PathBuf,
    lines: OnceCell<Option<Context<Reader>>>,
    rows: HashMap<u64, Option<Arc<Row>>>,
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("File").field("debug", &self.debug).finish_non_exhaustive()
    }
}

/// A place in the source.
pub struct SourcePlace {
    /// The function, if the debug information names it.
    pub function: Option<Arc<str>>,
    /// File and line.
    pub source: Option<(Arc<str>, u32)>,
}

impl File {
    pub fn open(path: &Path, load: &Loaded) -> Result<File, Why> {
        let cache = Bounded::new(open(path).ok_or(Why::Missing)?, MOST_TABLES);
        let elf = Elf::parse(&cache).map_err(|_| Why::Changed)?;
        let tables = Tables { frames: section(&elf, ".eh_frame"), header: section(&elf, ".eh_frame_hdr"), text: 0 };
        let build_id = elf.build_id().ok().flatten();
        let same = match load.identity_kind {
            identity::BUILD_ID => build_id == Some(&load.identity),
            identity::TABLES => identity::hash(&tables.header.1).to_le_bytes() == *load.identity,
            _ => true,
        };
        if !same {
            return Err(Why::Changed);
        }
        let text = elf.section_by_name(".text").map_or(0, |s| s.address());
        // What a distribution took out of its files may lie beside them, by their build ids.
        let beside = build_id.and_then(beside).filter(|p| p.is_file());
        let more = beside.as_deref().and_then(open).map(|file| Bounded::new(file, MOST_TABLES));
        let more = more.as_ref().and_then(|cache| Elf::parse(cache).ok());
        let more = more.filter(|m| m.build_id().ok().flatten() == build_id);
        let symbols = match &more {
            Some(more) => Symbols::read(&[&elf, more]),
            None => Symbols::read(&[&elf]),
        };
        let debug = beside.filter(|_| more.is_some()).unwrap_or_else(|| path.to_owned());
        Ok(File { tables: Tables { text, ..tables }, symbols, debug, lines: OnceCell::new(), rows: HashMap::new() })
    }

    /// What the unwind tables say of an address of the file.
    pub fn row(&mut self, address: u64) -> Option<Arc<Row>> {
        let tables = &self.tables;
        self.rows.entry(address).or_insert_with(|| tables.row(address).map(Arc::new)).clone()
    }

    /// The function at an address of the file, and how far into it the address is.
    pub fn function(&self, address: u64) -> Option<(Arc<str>, u64)> {
        self.symbols.at(address).map(|(name, from)| (demangle::function(name), address - from))
    }

    /// Where an address stands in the source: the innermost inlined function first. Empty if the file does not say.
    pub fn places(&self, address: u64) -> Vec<SourcePlace> {
        let Some(lines) = self.lines.get_or_init(|| lines(&self.debug)) else { return Vec::new() };
        let Ok(mut frames) = lines.find_frames(address).skip_all_loads() else { return Vec::new() };
        let mut places = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            let name = frame.function.and_then(|f| f.raw_name().ok().map(|n| demangle::function(&n)));
            let source = frame.location.and_then(|l| Some((Arc::from(l.file?), l.line.unwrap_or(0))));
            places.push(SourcePlace { function: name, source });
        }
        places
    }
}

/// Address and bytes of a section.
fn section(elf: &Elf<'_>, name: &str) -> (u64, Vec<u8>) {
    let Some(section) = elf.section_by_name(name) else { return (0, Vec::new()) };
    (section.address(), section.data().unwrap_or(&[]).to_vec())
}

/// Where debug information lies that was taken out of a file with this build id.
fn beside(id: &[u8]) -> Option<PathBuf> {
    let hex: String = id.iter().map(|b| format!("{b:02x}")).collect();
    let (first, rest) = hex.split_at_checked(2)?;
    Some(PathBuf::from(format!("/usr/lib/debug/.build-id/{first}/{rest}.debug")))
}

fn lines(path: &Path) -> Option<Context<Reader>> {
    let cache = Bounded::new(open(path)?, MOST_TABLES + MOST_DEBUG);
    let elf = Elf::parse(&cache).ok()?;
    let debug = elf.sections().filter(|s| s.name().is_ok_and(|n| n.starts_with(".debug_")));
    let size =
        |s: object::read::elf::ElfSection64<'_, '_, _, _>| s.compressed_data().map_or(0, |d| d.uncompressed_size);
    if debug.map(size).fold(0u64, u64::saturating_add) > MOST_DEBUG {
        return None;
    }
    let read = |id: gimli::SectionId| -> Result<Reader, gimli::Error> {
        let data = elf.section_by_name(id.name()).and_then(|s| s.uncompressed_data().ok()).unwrap_or_default();
        Ok(Reader::new(data.into(), LittleEndian))
    };
    let dwarf = Dwarf::load(read).ok()?;
    Context::from_dwarf(dwarf).ok()
}
