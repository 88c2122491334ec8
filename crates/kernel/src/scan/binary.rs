//! An ELF file for x86-64: its code, exports, imported functions, and data by address.

use crate::error::{Error, Result, printable_path};
use crate::input_file;
use object::read::elf::ElfFile64;
use object::{Architecture, LittleEndian, Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionKind};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// The largest file that is read.
const LARGEST: u64 = 2 << 30;

/// A file, read.
#[derive(Debug)]
pub struct Binary {
    /// Executable sections: address and bytes.
    pub(super) code: Vec<(u64, Vec<u8>)>,
    /// Other sections that are in memory.
    pub(super) data: Vec<(u64, Vec<u8>)>,
    /// Functions by address.
    functions: BTreeMap<u64, String>,
    /// Imported functions by the address of their slot in the offset table.
    pub(super) slots: HashMap<u64, String>,
}

impl Binary {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or is no ELF file for x86-64.
    pub fn read(path: &Path) -> Result<Self> {
        let unreadable = |e| match path.components().count() {
            1 if std::io::Error::kind(&e) == std::io::ErrorKind::NotFound => no_library(path),
            _ => Error::unreadable(path, &e),
        };
        std::fs::metadata(path).map_err(unreadable)?;
        let bytes = input_file::read(path, LARGEST, "give a library or a program")?;
        Self::parse(&bytes)
            .map_err(|why| Error::new(format!("{} {why}; give a library such as libcuda.so.1", printable_path(path))))
    }

    /// Parses the bytes of a file.
    ///
    /// # Errors
    /// They are no ELF file for x86-64.
    pub fn parse(bytes: &[u8]) -> std::result::Result<Self, String> {
        if !bytes.starts_with(b"\x7fELF") {
            return Err("is no ELF file".to_owned());
        }
        let file = ElfFile64::<LittleEndian>::parse(bytes).map_err(|e| format!("is a damaged ELF file ({e})"))?;
        if file.architecture() != Architecture::X86_64 {
            return Err("is not for x86-64".to_owned());
        }
        let mut binary = Self { code: Vec::new(), data: Vec::new(), functions: BTreeMap::new(), slots: HashMap::new() };
        for section in file.sections().filter(|s| s.address() != 0) {
            let Ok(bytes) = section.data() else { continue };
            let into = if section.kind() == SectionKind::Text { &mut binary.code } else { &mut binary.data };
            into.push((section.address(), bytes.to_vec()));
        }
        for symbol in file.dynamic_symbols().chain(file.symbols()) {
            if symbol.is_definition() && symbol.kind() == object::SymbolKind::Text && symbol.address() != 0 {
                let name = symbol.name().unwrap_or_default();
                binary.functions.entry(symbol.address()).or_insert_with(|| name.to_owned());
            }
        }
        for (address, relocation) in file.dynamic_relocations().into_iter().flatten() {
            let RelocationTarget::Symbol(index) = relocation.target() else { continue };
            let table = file.dynamic_symbol_table();
            let symbol = table.and_then(|table| object::ObjectSymbolTable::symbol_by_index(&table, index).ok());
            if let Some(name) = symbol.and_then(|s| s.name().ok().map(str::to_owned)).filter(|n| !n.is_empty()) {
                binary.slots.insert(address, name);
            }
        }
        Ok(binary)
    }

    /// The nearest function at or before an address: `cuInit+0x12`.
    #[must_use]
    pub fn nearest(&self, address: u64) -> Option<String> {
        let (start, name) = self.functions.range(..=address).next_back()?;
        let name = cutap_printable::printable(name);
        Some(match address - start {
            0 => name.into_owned(),
            offset => format!("{name}+{offset:#x}"),
        })
    }

    /// The function with exactly this name.
    pub(super) fn function(&self, name: &str) -> Option<u64> {
        self.functions.iter().find(|(_, own)| *own == name).map(|(address, _)| *address)
    }

    /// A text at an address, if one is there.
    pub(super) fn text(&self, address: u64) -> Option<String> {
        let (start, bytes) =
            self.data.iter().find(|(start, bytes)| address >= *start && address - start < bytes.len() as u64)?;
        let rest = bytes.get(usize::try_from(address - start).ok()?..)?;
        let end = rest.iter().take(256).position(|b| *b == 0)?;
        let text = std::str::from_utf8(rest.get(..end)?).ok()?;
        (!text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic() || b == b' ')).then(|| text.to_owned())
    }
}
/// A name alone, which is no file here and for which the command has found no library.
fn no_library(path: &Path) -> Error {
    let name = printable_path(path);
    Error::new(format!(
        "there is no file {name} in this folder nor where the loader looks; give the path of a library or a program"
    ))
}
