//! Reads a cubin: which section, symbol, attribute and relocation says what.

use super::info::{self, Attribute, attributes};
use super::parts::{Cubin, Entry, Parameter, Relocation, Section, Target, Variable};
use super::work::Work;
use crate::error::{Error, Result};
use object::LittleEndian;
use object::elf::{FileHeader64, SHT_NOBITS, SHT_REL, SHT_RELA};
use object::read::elf::{FileHeader, Rel as _, Rela as _, SectionHeader as _, SectionTable, Sym as _, SymbolTable};
use std::collections::{BTreeMap, HashMap, HashSet};

type Elf = FileHeader64<LittleEndian>;
const LE: LittleEndian = LittleEndian;
const EM_CUDA: u16 = 190;

fn bad(why: impl std::fmt::Display) -> Error {
    Error::BadCubin(why.to_string())
}

/// `.nv.constant3`, `.nv.constant0.KERNEL`: the bank, and the kernel.
fn bank(name: &str) -> Option<(usize, Option<&str>)> {
    let rest = name.strip_prefix(".nv.constant")?;
    let (number, kernel) = rest.split_once('.').map_or((rest, None), |(number, kernel)| (number, Some(kernel)));
    number.parse().ok().filter(|bank| *bank < 8).map(|bank| (bank, kernel))
}

type SectionHeader = <Elf as FileHeader>::SectionHeader;

struct Reader<'a> {
    data: &'a [u8],
    /// Number, name and header of each section that has a name.
    sections: Vec<(usize, &'a str, &'a SectionHeader)>,
    symbols: SymbolTable<'a, Elf>,
    /// The names of symbols that were read, and what symbols lead to: many places refer to one symbol.
    names: HashMap<u32, Option<&'a str>>,
    targets: HashMap<u32, Target>,
    /// Places in [`Cubin::missing`].
    missing: HashMap<&'a str, usize>,
    /// The sections that are kept.
    kept: HashSet<usize>,
    abi: u8,
    work: Work,
    cubin: Cubin,
}

impl Cubin {
    /// Reads a cubin.
    pub fn parse(data: &[u8]) -> Result<Self> {
        let header = Elf::parse(data).map_err(|_| Error::NotElf)?;
        if !header.is_little_endian() {
            return Err(Error::NotElf);
        }
        let machine = header.e_machine(LE).0;
        if machine != EM_CUDA {
            return Err(Error::NotCubin(machine));
        }
        let sections = header.sections(LE, data).map_err(bad)?;
        let symbols = sections.symbols(LE, data, object::elf::SHT_SYMTAB).map_err(bad)?;
        // CUDA 13 has ELF ABI 8, which moved the architecture by a byte.
        let abi = header.e_ident().abi_version;
        let flags = header.e_flags(LE).0;
        let architecture = if abi >= 8 { flags >> 8 & 0xff } else { flags & 0xff };
        let mut work = Work::of(data);
        let mut reader = Reader {
            data,
            sections: named(&sections, &mut work)?,
            symbols,
            names: HashMap::new(),
            targets: HashMap::new(),
            missing: HashMap::new(),
            kept: HashSet::new(),
            abi,
            work,
            cubin: Self { architecture, ..Self::default() },
        };
        reader.read_kernels()?;
        reader.read_sections()?;
        reader.read_symbols()?;
        reader.read_info()?;
        reader.read_relocations()?;
        for kernel in reader.cubin.kernels.values() {
            if kernel.parameters_at.saturating_add(kernel.parameters_size) > 1 << 16 {
                return Err(bad(format!("the parameters of {} do not fit a constant bank", kernel.name)));
            }
        }
        Ok(reader.cubin)
    }
}

/// The sections that have a name.
fn named<'a>(sections: &SectionTable<'a, Elf>, work: &mut Work) -> Result<Vec<(usize, &'a str, &'a SectionHeader)>> {
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

impl<'a> Reader<'a> {
    fn bytes(&mut self, section: &SectionHeader) -> Result<&'a [u8]> {
        let bytes = section.data(LE, self.data).map_err(bad)?;
        self.work.take(bytes.len() as u64)?;
        Ok(bytes)
    }

    fn read_kernels(&mut self) -> Result<()> {
        // A kernel has code and a constant bank 0; a function for calls has code alone.
        let mut entries = BTreeMap::new();
        for (_, name, _) in &self.sections {
            if let Some((0, Some(kernel))) = bank(name) {
                entries.insert(kernel, Entry { name: kernel.to_owned(), ..Entry::default() });
            }
        }
        for &(index, name, section) in &self.sections {
            if let Some(entry) = name.strip_prefix(".text.").and_then(|kernel| entries.get_mut(kernel)) {
                (entry.code, entry.code_size) = (index, section.sh_size(LE));
                // Before ABI 8 the section header has registers and barriers.
                if self.abi < 8 {
                    entry.registers = section.sh_info(LE) >> 24;
                    entry.barriers = (section.sh_flags(LE).0 >> 20) as u32 & 0x7f;
                }
            } else if let Some(entry) = name.strip_prefix(".nv.shared.").and_then(|kernel| entries.get_mut(kernel)) {
                let size = section.sh_size(LE);
                entry.shared = u32::try_from(size).map_err(|_| bad("shared memory of more than 4 GiB"))?;
            } else if let Some((bank, Some(kernel))) = bank(name)
                && bank != 0
                && let Some(entry) = entries.get_mut(kernel)
            {
                entry.banks.push((bank, index));
            }
        }
        entries.retain(|_, entry| entry.code != 0);
        self.cubin.kernels = entries.into_iter().map(|(name, entry)| (name.to_owned(), entry)).collect();
        Ok(())
    }

    fn read_sections(&mut self) -> Result<()> {
        let mut room = self.data.len();
        for at in 0..self.sections.len() {
            let Some(&(index, name, section)) = self.sections.get(at) else { break };
            let constant = bank(name);
            let wanted = name.starts_with(".text.")
                || name == ".nv.global"
                || name == ".nv.global.init"
                || constant.is_some_and(|(bank, _)| bank != 0);
            if !wanted {
                continue;
            }
            let size = section.sh_size(LE);
            let bytes = if section.sh_type(LE) == SHT_NOBITS { &[] } else { self.bytes(section)? };
            // Sections lie side by side, so all of them have no more bytes than the file.
            room = room.checked_sub(bytes.len()).ok_or_else(|| bad("its sections overlap"))?;
            let bytes = bytes.to_vec();
            if size > 1 << 34 {
                return Err(bad(format!("section {name} has {size} bytes")));
            }
            // Banks are used through addresses in units of 64 bytes, code in units of 128.
            let least = if constant.is_some() { 256 } else { 128 };
            let align = section.sh_addralign(LE).clamp(least, 1 << 20).next_power_of_two();
            self.cubin.sections.push(Section { index, align, size, bytes });
            self.kept.insert(index);
            if let Some((bank, None)) = constant {
                self.cubin.banks.push((bank, index));
            }
        }
        Ok(())
    }

    fn read_symbols(&mut self) -> Result<()> {
        const OBJECT: u8 = 1;
        for symbol in self.symbols.iter() {
            let section = usize::from(symbol.st_shndx(LE).0);
            if symbol.st_type().0 != OBJECT || !self.kept.contains(&section) {
                continue;
            }
            let name = symbol.name(LE, self.symbols.strings()).map_err(bad)?;
            self.work.take(name.len() as u64)?;
            let name = String::from_utf8_lossy(name).into_owned();
            let (size, offset) = (symbol.st_size(LE), symbol.st_value(LE));
            self.cubin.variables.insert(name.clone(), Variable { name, size, section, offset });
        }
        Ok(())
    }

    fn symbol_name(&mut self, index: u32) -> Result<Option<&'a str>> {
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

    fn read_info(&mut self) -> Result<()> {
        for at in 0..self.sections.len() {
            let Some(&(_, name, section)) = self.sections.get(at) else { break };
            if name == ".nv.info" {
                for attribute in attributes(self.bytes(section)?) {
                    let Some(symbol) = attribute.word(0) else { continue };
                    let name = self.symbol_name(symbol)?;
                    let Some(entry) = name.and_then(|name| self.cubin.kernels.get_mut(name)) else { continue };
                    let value = attribute.word(1).unwrap_or(0);
                    match attribute.number {
                        info::REGISTERS => entry.registers = value,
                        info::FRAME_SIZE | info::MIN_STACK_SIZE => entry.stack = entry.stack.max(value),
                        _ => {}
                    }
                }
            } else if let Some(kernel) = name.strip_prefix(".nv.info.")
                && self.cubin.kernels.contains_key(kernel)
            {
                let bytes = self.bytes(section)?;
                if let Some(entry) = self.cubin.kernels.get_mut(kernel) {
                    attributes(bytes).for_each(|a| own_attribute(entry, a));
                }
            }
        }
        for entry in self.cubin.kernels.values_mut() {
            entry.parameters.sort_by_key(|parameter| parameter.offset);
        }
        Ok(())
    }

    fn read_relocations(&mut self) -> Result<()> {
        for at in 0..self.sections.len() {
            let Some(&(_, _, section)) = self.sections.get(at) else { break };
            let kind = section.sh_type(LE);
            let target = section.sh_info(LE) as usize;
            if !matches!(kind, SHT_REL | SHT_RELA) {
                continue;
            }
            if !self.kept.contains(&target) {
                self.note_textures(target);
                continue;
            }
            self.work.take(section.sh_size(LE))?;
            if let Some((list, _)) = section.rela(LE, self.data).map_err(bad)? {
                for rela in list {
                    let info = rela.r_info.get(LE);
                    self.add(target, rela.r_offset(LE), info, Some(rela.r_addend(LE)))?;
                }
            } else if let Some((list, _)) = section.rel(LE, self.data).map_err(bad)? {
                for rel in list {
                    self.add(target, rel.r_offset(LE), rel.r_info.get(LE), None)?;
                }
            }
        }
        Ok(())
    }

    /// Relocations in a kernel's constant bank 0 are places of texture headers, samplers and surfaces.
    fn note_textures(&mut self, target: usize) {
        // They are in the order of their numbers.
        let Ok(at) = self.sections.binary_search_by_key(&target, |(index, ..)| *index) else { return };
        let name = self.sections.get(at).map(|(_, name, _)| *name);
        if let Some((0, Some(kernel))) = name.and_then(bank)
            && let Some(entry) = self.cubin.kernels.get_mut(kernel)
        {
            entry.textures = true;
        }
    }

    fn add(&mut self, section: usize, offset: u64, info: u64, addend: Option<i64>) -> Result<()> {
        let symbol = (info >> 32) as u32;
        let target = self.target(symbol)?;
        let (addend_in_place, addend) = (addend.is_none(), addend.unwrap_or(0));
        let kind = info as u32;
        self.cubin.relocations.push(Relocation { section, offset, kind, target, addend, addend_in_place });
        Ok(())
    }

    fn target(&mut self, symbol: u32) -> Result<Target> {
        if let Some(known) = self.targets.get(&symbol) {
            return Ok(*known);
        }
        let target = self.new_target(symbol)?;
        self.targets.insert(symbol, target);
        Ok(target)
    }

    fn new_target(&mut self, symbol: u32) -> Result<Target> {
        const ABSOLUTE: u16 = 0xfff1;
        let found = self.symbols.symbol(object::SymbolIndex(symbol as usize)).map_err(bad)?;
        let (index, offset) = (found.st_shndx(LE).0, found.st_value(LE));
        if index == ABSOLUTE || symbol == 0 {
            return Ok(Target::Value(offset));
        }
        if index != 0 {
            // A symbol of shared memory or of a parameter is an offset.
            let section = usize::from(index);
            return Ok(if self.kept.contains(&section) {
                Target::Place { section, offset }
            } else {
                Target::Value(offset)
            });
        }
        let name = self.symbol_name(symbol)?.ok_or_else(|| bad("a symbol without a name"))?;
        let missing = &mut self.cubin.missing;
        Ok(Target::Missing(*self.missing.entry(name).or_insert_with(|| {
            missing.push(name.to_owned());
            missing.len() - 1
        })))
    }
}

fn own_attribute(entry: &mut Entry, attribute: Attribute<'_>) {
    let word = |at| attribute.word(at);
    match attribute.number {
        info::PARAMETERS_PLACE => {
            if let Some(place) = word(1) {
                (entry.parameters_at, entry.parameters_size) = (place as usize & 0xffff, place as usize >> 16);
            }
        }
        info::PARAMETERS_SIZE => entry.parameters_size = attribute.half.into(),
        info::PARAMETER | info::PARAMETER_V2 => {
            if let (Some(place), Some(size)) = (word(1), word(2)) {
                let size = if attribute.number == info::PARAMETER { size >> 18 } else { size };
                let (offset, size) = (place as usize >> 16, size as usize);
                entry.parameters.push(Parameter { offset, size });
            }
        }
        info::MAX_THREADS => {
            entry.max_threads = (0..3).filter_map(word).fold(1, |product: u32, n| product.saturating_mul(n));
        }
        info::BARRIERS => entry.barriers = u32::from(attribute.half & 0xff),
        info::CLUSTER => entry.cluster = true,
        _ => {}
    }
}
