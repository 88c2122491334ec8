//! The image of a module in GPU memory: sections side by side, stubs for missing functions, relocations applied.

use super::relocation::{Outcome, apply, is_offset_in_bank};
use crate::base::error::{Error, Result};
use cutap_cubin::{Cubin, Kernel, Relocation, Relocations, Section, Target, Variable};
use std::collections::HashMap;

/// The instruction fetch reads beyond the end of code.
const PADDING: u64 = 4096;
/// Bytes between the sections of an image: for each section, and for few sections with a large alignment.
const GAP: u64 = 4096;
const LARGE_GAPS: u64 = 64 << 20;
/// Bytes of the stub.
const STUB: u64 = 128;

/// Code of sm_90 that ends the grid with an error: BPT.TRAP, EXIT, a branch to itself.
const TRAP: [u64; 6] = [
    0x0000_0004_0000_795c,
    0x000f_ea00_0030_0000,
    0x0000_0000_0000_794d,
    0x000f_ea00_0380_0000,
    0xffff_fffc_00fc_7947,
    0x000f_c000_0383_ffff,
];

/// Whether an instruction ends or stops its kernel on purpose: BPT, which PTX calls `trap` and `brkpt`. `word` is its
/// first half.
pub(crate) fn is_trap(word: u64) -> bool {
    const OPCODE: u64 = 0xfff;
    const BPT: u64 = 0x95c;
    word & OPCODE == BPT
}

/// Where each section of a cubin goes, from a base that is a multiple of 1 MiB.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    /// Offset and size of each section.
    places: HashMap<usize, (u64, u64)>,
    /// Constant banks of the whole module: bank, section.
    banks: Vec<(usize, usize)>,
    /// The first stub. Each missing function has one.
    stub: u64,
    stubs: u64,
    /// Bytes of the image.
    pub size: u64,
}

impl Layout {
    /// `missing`: how many functions the module lacks.
    pub fn of(cubin: &Cubin<'_>, missing: usize) -> Result<Self> {
        let mut places = HashMap::new();
        let mut place = |section: &Section<'_>, size: u64| {
            let at = size.next_multiple_of(section.align);
            places.insert(section.index, (at, section.size));
            at + section.size
        };
        // Memory that begins as zero is at the end: the image has no bytes for it.
        let (full, zero): (Vec<_>, Vec<_>) = cubin.sections.iter().partition(|section| !section.bytes.is_empty());
        let stub = full.into_iter().fold(0, |size, section| place(section, size)).next_multiple_of(STUB);
        // The image is made in memory. A small file must not make it large by alignments.
        let bytes: u64 = cubin.sections.iter().map(|section| section.bytes.len() as u64 + GAP).sum();
        if stub > bytes + LARGE_GAPS {
            return Err(Error::BadCubin(format!("its sections of {bytes} bytes are spread over {stub} bytes")));
        }
        let stubs = missing.max(1) as u64;
        let size = zero.into_iter().fold(stub + stubs * STUB + PADDING, |size, section| place(section, size));
        Ok(Self { places, banks: cubin.banks.clone(), stub, stubs, size })
    }

    fn section(&self, index: usize) -> Option<u64> {
        self.places.get(&index).map(|(at, _)| *at)
    }

    /// The stub of a missing function, from the base.
    fn stub_of(&self, number: usize) -> u64 {
        self.stub + (number as u64).min(self.stubs - 1) * STUB
    }

    /// The number of the missing function whose stub has this offset from the base.
    pub fn missing_at(&self, offset: u64) -> Option<usize> {
        let number = offset.checked_sub(self.stub)? / STUB;
        (number < self.stubs).then_some(number as usize)
    }

    /// Offset and size of a kernel's code, from the base.
    pub fn code_range(&self, kernel: &Kernel) -> Option<(u64, u64)> {
        self.places.get(&kernel.code).copied()
    }

    /// A kernel's first instruction, from the base.
    pub fn code(&self, kernel: &Kernel) -> Option<u64> {
        self.section(kernel.code)
    }

    /// A variable, from the base.
    pub fn variable(&self, variable: &Variable) -> Option<u64> {
        self.section(variable.section)?.checked_add(variable.offset)
    }

    /// The constant banks of a kernel besides bank 0: bank, offset from the base, bytes.
    pub fn banks<'a>(&'a self, kernel: &'a Kernel) -> impl Iterator<Item = (usize, u64, usize)> + 'a {
        self.banks.iter().chain(&kernel.banks).filter_map(|(bank, index)| {
            let (at, size) = *self.places.get(index)?;
            Some((*bank, at, usize::try_from(size).ok()?.min(1 << 16)))
        })
    }

    /// The bytes for a base address. They end where only zeros would follow, and the padding.
    pub fn image(&self, cubin: &Cubin<'_>, relocations: &Relocations<'_>, base: u64) -> Result<Vec<u8>> {
        let mut by_section: HashMap<usize, Vec<&Relocation>> = HashMap::new();
        for relocation in &relocations.list {
            by_section.entry(relocation.section).or_default().push(relocation);
        }
        let mut image = Vec::new();
        for section in cubin.sections.iter().filter(|section| !section.bytes.is_empty()) {
            let offset = self.section(section.index).ok_or_else(|| Error::BadCubin("a lost section".to_owned()))?;
            let mut bytes = section.bytes.to_vec();
            let mut own = by_section.get(&section.index).into_iter().flatten();
            own.try_for_each(|relocation| self.relocate(relocation, section, &mut bytes, base))?;
            put(&mut image, offset, &bytes);
        }
        let stub: Vec<u8> = TRAP.iter().flat_map(|word| word.to_le_bytes()).collect();
        for number in 0..self.stubs as usize {
            put(&mut image, self.stub_of(number), &stub);
        }
        Ok(image)
    }

    fn relocate(&self, relocation: &Relocation, section: &Section<'_>, bytes: &mut [u8], base: u64) -> Result<()> {
        let Relocation { offset, kind, target, addend, addend_in_place, .. } = *relocation;
        let address = match target {
            Target::Value(value) => value,
            Target::Missing(number) => base.wrapping_add(self.stub_of(number)),
            Target::Place { offset, .. } if is_offset_in_bank(kind) => offset,
            Target::Place { section, offset } => {
                let section = self.section(section).ok_or_else(|| Error::BadCubin("a lost section".to_owned()))?;
                base.wrapping_add(section).wrapping_add(offset)
            }
        };
        let in_place = || {
            let at = usize::try_from(offset).ok()?;
            bytes.get(at..)?.first_chunk::<8>().map(|word| u64::from_le_bytes(*word))
        };
        // Places of REL that hold an addend are whole words.
        let addend = if addend_in_place && matches!(kind, 2 | 4) { in_place().unwrap_or(0) } else { addend as u64 };
        match apply(bytes, offset, kind, address.wrapping_add(addend)) {
            Outcome::Done => Ok(()),
            Outcome::Unknown => Err(Error::BadCubin(format!("relocation type {kind} is not known"))),
            Outcome::Outside => {
                let index = section.index;
                Err(Error::BadCubin(format!("a relocation at {offset:#x} is outside of section {index}")))
            }
        }
    }
}

fn put(image: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    let offset = offset as usize;
    if image.len() < offset + bytes.len() {
        image.resize(offset + bytes.len(), 0);
    }
    if let Some(into) = image.get_mut(offset..offset + bytes.len()) {
        into.copy_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The code of a section, at one base.
    fn code(cubin: &[u8], name: &str) -> Vec<u8> {
        let mut cubin = Cubin::parse(cubin).unwrap();
        let relocations = cubin.relocations().unwrap();
        let layout = Layout::of(&cubin, relocations.missing.len()).unwrap();
        let image = layout.image(&cubin, &relocations, 0x7f00_0000_0000).unwrap();
        let (at, size) = layout.code_range(cubin.kernels.iter().find(|kernel| kernel.name == name).unwrap()).unwrap();
        image[at as usize..(at + size) as usize].to_vec()
    }

    /// The trap of a program, by ptxas, and no other instruction there.
    #[test]
    fn traps() {
        let trapped = code(include_bytes!("../../tests/cubins/faults-ptxas-12.9-sm_90.cubin"), "trapped");
        let words: Vec<bool> =
            trapped.chunks(16).map(|i| is_trap(u64::from_le_bytes(*i.first_chunk().unwrap()))).collect();
        assert_eq!(words.iter().position(|is_trap| *is_trap), Some(1));
        assert_eq!(words.iter().filter(|is_trap| **is_trap).count(), 1);
        assert!(is_trap(TRAP[0]));
    }

    /// Relocatable code gets the offsets of constants that NVIDIA's linker gives it.
    #[test]
    fn linked_as_by_nvidia() {
        let relocatable = code(include_bytes!("../../tests/cubins/relocatable-12.9-sm_90.cubin"), "constants");
        let linked = code(include_bytes!("../../tests/cubins/linked-12.9-sm_90.cubin"), "constants");
        assert_eq!(relocatable, linked);
    }
}
