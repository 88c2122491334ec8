//! The relocations of a cubin: places that take the address of a symbol.

use crate::cubin::Cubin;
use crate::elf::LE;
use crate::error::{Result, damaged};
use object::elf::{SHT_REL, SHT_RELA};
use object::read::elf::{Rel as _, Rela as _, SectionHeader as _, Sym as _};
use std::collections::HashMap;

/// How the names of sections of shared memory begin.
const SHARED: &str = ".nv.shared.";

/// A place that takes the address of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relocation {
    /// The section of the place.
    pub section: usize,
    /// Where it is in the section.
    pub offset: u64,
    /// The type, which says what bits take what part of the address.
    pub kind: u32,
    /// What the symbol leads to.
    pub target: Target,
    /// What is added to the address.
    pub addend: i64,
    /// Whether the place holds the addend (REL).
    pub addend_in_place: bool,
}

/// What a symbol leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A place in a section that a GPU needs in memory.
    Place {
        /// The section.
        section: usize,
        /// The offset in it.
        offset: u64,
    },
    /// A function that is not in the module: a number in [`Relocations::missing`].
    Missing(usize),
    /// A number.
    Value(u64),
}

/// All relocations of a cubin.
#[derive(Debug, Default)]
pub struct Relocations<'a> {
    /// Each place.
    pub list: Vec<Relocation>,
    /// Functions that libcuda would supply.
    pub missing: Vec<String>,
    targets: HashMap<u32, Target>,
    missing_numbers: HashMap<&'a str, usize>,
}

impl<'a> Cubin<'a> {
    /// The relocations of the sections that a GPU needs in memory.
    ///
    /// # Errors
    /// The cubin is damaged.
    pub fn relocations(&mut self) -> Result<Relocations<'a>> {
        let mut relocations = Relocations::default();
        for at in 0..self.elf.sections.len() {
            let Some(&(_, _, section)) = self.elf.sections.get(at) else { break };
            let target = section.sh_info(LE) as usize;
            if !matches!(section.sh_type(LE), SHT_REL | SHT_RELA) || self.section(target).is_none() {
                continue;
            }
            self.elf.work.take(section.sh_size(LE))?;
            if let Some((list, _)) = section.rela(LE, self.elf.data).map_err(damaged)? {
                for rela in list {
                    let addend = Some(rela.r_addend(LE));
                    relocations.add(self, target, rela.r_offset(LE), rela.r_info.get(LE), addend)?;
                }
            } else if let Some((list, _)) = section.rel(LE, self.elf.data).map_err(damaged)? {
                for rel in list {
                    relocations.add(self, target, rel.r_offset(LE), rel.r_info.get(LE), None)?;
                }
            }
        }
        Ok(relocations)
    }
}

impl<'a> Relocations<'a> {
    fn add(
        &mut self,
        cubin: &mut Cubin<'a>,
        section: usize,
        offset: u64,
        info: u64,
        addend: Option<i64>,
    ) -> Result<()> {
        let symbol = (info >> 32) as u32;
        let target = match self.targets.get(&symbol) {
            Some(target) => *target,
            None => self.new_target(cubin, symbol)?,
        };
        self.targets.insert(symbol, target);
        let (addend_in_place, addend) = (addend.is_none(), addend.unwrap_or(0));
        self.list.push(Relocation { section, offset, kind: info as u32, target, addend, addend_in_place });
        Ok(())
    }

    fn new_target(&mut self, cubin: &mut Cubin<'a>, symbol: u32) -> Result<Target> {
        const ABSOLUTE: u16 = 0xfff1;
        // A variable of code that is not linked. In shared memory its value is an alignment, not a place.
        const UNLINKED: u8 = 13;
        let is_unlinked = |name: &str| damaged(format!("{name} has no place: link the cubin with nvlink or nvJitLink"));
        let entry = cubin.elf.symbols.symbol(object::SymbolIndex(symbol as usize)).map_err(damaged)?;
        let (index, offset) = (entry.st_shndx(LE).0, entry.st_value(LE));
        if index == ABSOLUTE || symbol == 0 {
            return Ok(Target::Value(offset));
        }
        if index != 0 {
            // A symbol of shared memory or of a parameter is an offset.
            let section = usize::from(index);
            let is_loaded = cubin.section(section).is_some();
            let is_shared = || cubin.elf.sections.iter().any(|(n, name, _)| *n == section && name.starts_with(SHARED));
            if !is_loaded && entry.st_type().0 == UNLINKED && is_shared() {
                return Err(is_unlinked("shared memory of relocatable code"));
            }
            return Ok(if is_loaded { Target::Place { section, offset } } else { Target::Value(offset) });
        }
        let name = cubin.elf.symbol_name(symbol)?.ok_or_else(|| damaged("a symbol without a name"))?;
        if entry.st_type().0 == UNLINKED {
            return Err(is_unlinked(&format!("variable {name} of relocatable code")));
        }
        let missing = &mut self.missing;
        Ok(Target::Missing(*self.missing_numbers.entry(name).or_insert_with(|| {
            missing.push(name.to_owned());
            missing.len() - 1
        })))
    }
}
