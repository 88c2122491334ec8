//! A cubin as an ELF file: sections and symbols by name, with a limit of what is read.

use crate::error::{Error, Result, damaged};
use crate::source::{Source, number};
use crate::work::Work;
use object::LittleEndian;
use object::elf::{FileHeader64, SHT_SYMTAB};
use object::read::elf::{FileHeader, SectionHeader as _, SectionTable, Sym as _, SymbolTable};
use std::borrow::Cow;
use std::collections::HashMap;

type Header = FileHeader64<LittleEndian>;
pub(crate) type SectionHeader = <Header as FileHeader>::SectionHeader;

pub(crate) const LE: LittleEndian = LittleEndian;
const EM_CUDA: u16 = 190;
/// Bytes of the ELF header.
const HEAD: u64 = 64;

/// Whether bytes begin as an ELF file.
pub fn is_elf(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x7fELF")
}

/// All bytes of a cubin. Where its length is not known, its header says it: the end of the last of its two header
/// tables.
pub fn whole<S: Source + ?Sized>(source: &S) -> Option<Cow<'_, [u8]>> {
    if let Some(length) = source.length() {
        return source.part(0, length);
    }
    let head = source.part(0, HEAD)?;
    let end = |offset, entry| {
        let table = number::<2>(&head, entry)? * number::<2>(&head, entry + 2)?;
        number::<8>(&head, offset)?.checked_add(table)
    };
    // e_shoff with e_shentsize, e_shnum; e_phoff with e_phentsize, e_phnum
    source.part(0, end(40, 58)?.max(end(32, 54)?).max(HEAD))
}

#[derive(Debug)]
pub(crate) struct Elf<'a> {
    pub data: &'a [u8],
    /// Number, name and header of each section that has a name, in order.
    pub sections: Vec<(usize, &'a str, &'a SectionHeader)>,
    pub symbols: SymbolTable<'a, Header>,
    pub architecture: u32,
    /// The version of NVIDIA's ELF. CUDA 13 has 8.
    pub abi: u8,
    pub work: Work,
    /// The names of symbols that were read: many places refer to one symbol.
    names: HashMap<u32, Option<&'a str>>,
}

impl<'a> Elf<'a> {
    pub fn parse(data: &'a [u8]) -> Result<Self> {
        let header = Header::parse(data).map_err(|_| Error::NotElf)?;
        if !header.is_little_endian() {
            return Err(Error::NotElf);
        }
        let machine = header.e_machine(LE).0;
        if machine != EM_CUDA {
            return Err(Error::NotCubin(machine));
        }
        let sections = header.sections(LE, data).map_err(damaged)?;
        let symbols = sections.symbols(LE, data, SHT_SYMTAB).map_err(damaged)?;
        // ABI 8 moved the architecture by a byte.
        let abi = header.e_ident().abi_version;
        let flags = header.e_flags(LE).0;
        let architecture = if abi >= 8 { flags >> 8 & 0xff } else { flags & 0xff };
        let mut work = Work::of(data);
        let sections = named(&sections, &mut work)?;
        Ok(Self { data, sections, symbols, architecture, abi, work, names: HashMap::new() })
    }

    pub fn bytes(&mut self, section: &SectionHeader) -> Result<&'a [u8]> {
        let bytes = section.data(LE, self.data).map_err(damaged)?;
        self.work.take(bytes.len() as u64)?;
        Ok(bytes)
    }

    pub fn symbol_name(&mut self, index: u32) -> Result<Option<&'a str>> {
        if let Some(name) = self.names.get(&index) {
            return Ok(*name);
        }
        let symbol = self.symbols.symbol(object::SymbolIndex(index as usize)).ok();
        let name = symbol.and_then(|symbol| symbol.name(LE, self.symbols.strings()).ok());
        self.work.take(name.map_or(0, <[u8]>::len) as u64)?;
        let name = name.and_then(|name| std::str::from_utf8(name).ok());
        self.names.insert(index, name);
        Ok(name)
    }
}

/// The sections that have a name.
fn named<'a>(sections: &SectionTable<'a, Header>, work: &mut Work) -> Result<Vec<(usize, &'a str, &'a SectionHeader)>> {
    let mut named = Vec::new();
    for (index, section) in sections.enumerate() {
        let name = sections.section_name(LE, section).unwrap_or_default();
        work.take(name.len() as u64)?;
        if let Ok(name) = std::str::from_utf8(name) {
            named.push((index.0, name, section));
        }
    }
    Ok(named)
}
