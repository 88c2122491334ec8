//! What a cubin has: which section, symbol and attribute says what.

use crate::elf::{Elf, LE};
use crate::error::{Result, damaged};
use crate::info::{self, Attribute, attributes};
use crate::parts::{Kernel, Parameter, Section, Variable};
use object::elf::{SHT_NOBITS, SHT_REL, SHT_RELA};
use object::read::elf::{SectionHeader as _, Sym as _};
use std::collections::{HashMap, HashSet};

/// The type of a symbol of a variable, and its `st_other` in managed memory.
const OBJECT: u8 = 1;
const MANAGED: u8 = 4;
/// The type of a symbol of a function, and its `st_other` if it is a kernel.
const FUNCTION: u8 = 2;
const ENTRY: u8 = 0x10;

/// A cubin that was read, but for its relocations.
#[derive(Debug)]
pub struct Cubin<'a> {
    /// The compute capability that it is for, without the dot.
    pub architecture: u32,
    /// Its kernels, in the order of their code.
    pub kernels: Vec<Kernel>,
    /// Its variables, in the order of their symbols.
    pub variables: Vec<Variable>,
    /// What a GPU needs in memory, in the order of their numbers.
    pub sections: Vec<Section<'a>>,
    /// Constant banks of the whole module: bank, section.
    pub banks: Vec<(usize, usize)>,
    pub(crate) elf: Elf<'a>,
}

/// `.nv.constant3`, `.nv.constant0.KERNEL`: the bank, and the kernel.
fn bank(name: &str) -> Option<(usize, Option<&str>)> {
    let rest = name.strip_prefix(".nv.constant")?;
    let (number, kernel) = rest.split_once('.').map_or((rest, None), |(number, kernel)| (number, Some(kernel)));
    number.parse().ok().filter(|bank| *bank < 8).map(|bank| (bank, kernel))
}

impl<'a> Cubin<'a> {
    /// Reads a cubin.
    ///
    /// # Errors
    /// It is no cubin, or it is damaged.
    pub fn parse(data: &'a [u8]) -> Result<Self> {
        let mut elf = Elf::parse(data)?;
        let mut kernels = kernels(&elf)?;
        let sections = sections(&mut elf)?;
        let module_bank = |section: &Section<'_>| match bank(section.name)? {
            (bank, None) => Some((bank, section.index)),
            _ => None,
        };
        let banks = sections.iter().filter_map(module_bank).collect();
        let variables = variables(&mut elf, &sections)?;
        add_attributes(&mut elf, &mut kernels)?;
        for kernel in &kernels {
            if kernel.parameters_at.saturating_add(kernel.parameters_size) > 1 << 16 {
                return Err(damaged(format!("the parameters of {} do not fit a constant bank", kernel.name)));
            }
        }
        Ok(Self { architecture: elf.architecture, kernels, variables, sections, banks, elf })
    }

    /// A section that a GPU needs in memory.
    pub fn section(&self, index: usize) -> Option<&Section<'a>> {
        let at = self.sections.binary_search_by_key(&index, |section| section.index).ok()?;
        self.sections.get(at)
    }
}

fn kernels(elf: &Elf<'_>) -> Result<Vec<Kernel>> {
    // A kernel has a constant bank 0, or a symbol that is marked as an entry; a function for calls has neither.
    let mut by_name = HashMap::new();
    let mut by_bank = HashMap::new();
    let entries =
        elf.symbols.iter().filter(|symbol| symbol.st_type().0 == FUNCTION && symbol.st_other().0 & ENTRY != 0);
    let entries: HashSet<usize> = entries.map(|symbol| usize::from(symbol.st_shndx(LE).0)).collect();
    for &(index, name, _) in &elf.sections {
        if let Some(kernel) = name.strip_prefix(".text.").filter(|_| entries.contains(&index)) {
            by_name.insert(kernel, Kernel { name: kernel.to_owned(), ..Kernel::default() });
        }
    }
    for &(index, name, section) in &elf.sections {
        if let Some((0, Some(kernel))) = bank(name) {
            // An attribute says where parameters begin, if there are any.
            let parameters_at = section.sh_size(LE).min(0xffff) as usize;
            by_name.insert(kernel, Kernel { name: kernel.to_owned(), parameters_at, ..Kernel::default() });
            by_bank.insert(index, kernel);
        }
    }
    for &(index, name, section) in &elf.sections {
        if let Some(kernel) = name.strip_prefix(".text.").and_then(|kernel| by_name.get_mut(kernel)) {
            kernel.code = index;
            // Before ABI 8 the section header has registers and barriers.
            if elf.abi < 8 {
                kernel.registers = section.sh_info(LE) >> 24;
                kernel.barriers = (section.sh_flags(LE).0 >> 20) as u32 & 0x7f;
            }
        } else if let Some(kernel) = name.strip_prefix(".nv.shared.").and_then(|kernel| by_name.get_mut(kernel)) {
            let size = section.sh_size(LE);
            kernel.shared = u32::try_from(size).map_err(|_| damaged("shared memory of more than 4 GiB"))?;
        } else if let Some((bank, Some(kernel))) = bank(name)
            && bank != 0
            && let Some(kernel) = by_name.get_mut(kernel)
        {
            kernel.banks.push((bank, index));
        } else if matches!(section.sh_type(LE), SHT_REL | SHT_RELA)
            && let Some(kernel) = by_bank.get(&(section.sh_info(LE) as usize))
            && let Some(kernel) = by_name.get_mut(kernel)
        {
            // Relocations in a kernel's constant bank 0 are places of texture headers, samplers and surfaces.
            kernel.textures = true;
        }
    }
    let mut kernels: Vec<_> = by_name.into_values().filter(|kernel| kernel.code != 0).collect();
    kernels.sort_by_key(|kernel| kernel.code);
    Ok(kernels)
}

/// The sections that a GPU needs in memory.
fn sections<'a>(elf: &mut Elf<'a>) -> Result<Vec<Section<'a>>> {
    let mut sections = Vec::new();
    let mut room = elf.data.len();
    for at in 0..elf.sections.len() {
        let Some(&(index, name, section)) = elf.sections.get(at) else { break };
        let constant = bank(name);
        let is_loaded = name.starts_with(".text.")
            || matches!(name, ".nv.global" | ".nv.global.init")
            || constant.is_some_and(|(bank, _)| bank != 0);
        if !is_loaded {
            continue;
        }
        let size = section.sh_size(LE);
        let bytes = if section.sh_type(LE) == SHT_NOBITS { &[] } else { elf.bytes(section)? };
        // Sections lie side by side, so all of them have no more bytes than the file.
        room = room.checked_sub(bytes.len()).ok_or_else(|| damaged("its sections overlap"))?;
        if size > 1 << 34 {
            return Err(damaged(format!("section {name} has {size} bytes")));
        }
        // Banks are used through addresses in units of 64 bytes, code in units of 128.
        let least = if constant.is_some() { 256 } else { 128 };
        let align = section.sh_addralign(LE).clamp(least, 1 << 20).next_power_of_two();
        sections.push(Section { index, name, align, size, bytes });
    }
    Ok(sections)
}

fn variables(elf: &mut Elf<'_>, sections: &[Section<'_>]) -> Result<Vec<Variable>> {
    let mut variables = Vec::new();
    for symbol in elf.symbols.iter() {
        let section = usize::from(symbol.st_shndx(LE).0);
        let is_loaded = || sections.binary_search_by_key(&section, |section| section.index).is_ok();
        if symbol.st_type().0 != OBJECT || !is_loaded() {
            continue;
        }
        let name = symbol.name(LE, elf.symbols.strings()).map_err(damaged)?;
        elf.work.take(name.len() as u64)?;
        let name = String::from_utf8_lossy(name).into_owned();
        let (size, offset) = (symbol.st_size(LE), symbol.st_value(LE));
        variables.push(Variable { name, size, managed: symbol.st_other().0 & MANAGED != 0, section, offset });
    }
    Ok(variables)
}

/// What the sections of attributes say of each kernel.
fn add_attributes(elf: &mut Elf<'_>, kernels: &mut [Kernel]) -> Result<()> {
    let by_name: HashMap<_, _> = kernels.iter().enumerate().map(|(at, kernel)| (kernel.name.clone(), at)).collect();
    for at in 0..elf.sections.len() {
        let Some(&(_, name, section)) = elf.sections.get(at) else { break };
        if name == ".nv.info" {
            for attribute in attributes(elf.bytes(section)?) {
                let Some(symbol) = attribute.word(0) else { continue };
                let at = elf.symbol_name(symbol)?.and_then(|name| by_name.get(name));
                if let Some(kernel) = at.and_then(|at| kernels.get_mut(*at)) {
                    module_attribute(kernel, attribute);
                }
            }
        } else if let Some(at) = name.strip_prefix(".nv.info.").and_then(|kernel| by_name.get(kernel)) {
            let bytes = elf.bytes(section)?;
            if let Some(kernel) = kernels.get_mut(*at) {
                attributes(bytes).for_each(|attribute| own_attribute(kernel, attribute));
            }
        }
    }
    for kernel in kernels {
        kernel.parameters.sort_by_key(|parameter| parameter.offset);
    }
    Ok(())
}

/// An attribute of the whole cubin, for a kernel.
fn module_attribute(kernel: &mut Kernel, attribute: Attribute<'_>) {
    let value = attribute.word(1).unwrap_or(0);
    match attribute.number {
        info::REGISTERS => kernel.registers = value,
        info::FRAME_SIZE => (kernel.frame, kernel.stack) = (value, kernel.stack.max(value)),
        info::MIN_STACK_SIZE => kernel.stack = kernel.stack.max(value),
        _ => {}
    }
}

fn own_attribute(kernel: &mut Kernel, attribute: Attribute<'_>) {
    let word = |at| attribute.word(at);
    match attribute.number {
        info::PARAMETERS_PLACE => {
            if let Some(place) = word(1) {
                (kernel.parameters_at, kernel.parameters_size) = (place as usize & 0xffff, place as usize >> 16);
            }
        }
        info::PARAMETERS_SIZE => kernel.parameters_size = attribute.half.into(),
        info::PARAMETER | info::PARAMETER_V2 => {
            if let (Some(place), Some(size)) = (word(1), word(2)) {
                let size = if attribute.number == info::PARAMETER { size >> 18 } else { size };
                let (offset, size) = (place as usize >> 16, size as usize);
                kernel.parameters.push(Parameter { offset, size });
            }
        }
        info::MAX_THREADS => {
            kernel.max_threads = (0..3).filter_map(word).fold(1, |product: u32, n| product.saturating_mul(n));
        }
        info::BARRIERS => kernel.barriers = u32::from(attribute.half & 0xff),
        info::CLUSTER => {
            let sides = [0, 1, 2].map(|side| word(side).unwrap_or(0));
            kernel.cluster = Some(sides).filter(|sides| !sides.contains(&0));
        }
        _ => {}
    }
}
