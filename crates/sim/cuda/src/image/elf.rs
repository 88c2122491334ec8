//! Cubin: ELF64 with NVIDIA's sections. A kernel is a global function symbol with a section `.text.<name>`. Its
//! parameters are in `.nv.info.<name>`, one attribute each. Variables are global objects.

use super::source::Source;
use super::work::Work;
use super::{Image, Kernel, Parameter, Variable, part, u16_at, u32_at, u64_at};
use crate::abi::{Answer, Fault};
use std::collections::HashMap;
use std::ffi::CString;

pub const MAGIC: u32 = u32::from_le_bytes(*b"\x7fELF");
/// Bytes of the ELF header, and of the header of a section.
pub const HEAD: u64 = 64;
const SECTION_HEAD: u16 = 64;

const SYMTAB: u32 = 2;
const NOBITS: u32 = 8;
const OBJECT: u8 = 1;
const FUNCTION: u8 = 2;
/// `st_other` of the symbol of a kernel. A device function has 0.
const ENTRY: u8 = 0x10;
/// `st_other` of a variable in managed memory.
const MANAGED: u8 = 0x04;

/// Attributes of `.nv.info`: format and id in two bytes, then a size or a value in two more.
const SIZED: u8 = 4;
const MAX_THREADS: u8 = 0x05;
const PARAMETER: u8 = 0x17;
const PARAMETER_V2: u8 = 0x45;
const FRAME: u8 = 0x11;
const REGISTERS: u8 = 0x2f;

/// Limits of compute capability 9.0. They keep sums of hostile numbers small.
const MOST_REGISTERS: u32 = 255;
const MOST_SHARED: u64 = 232_448;

/// The length of a cubin, from its header: the end of the last of its two header tables.
pub fn len(head: &[u8], source: Source<'_>) -> Answer<u64> {
    if let Some(len) = source.len() {
        return Ok(len);
    }
    let table = |at, count_at| -> Answer<u64> {
        let size = u64::from(u16_at(head, count_at)?) * u64::from(u16_at(head, count_at + 2)?);
        u64_at(head, at)?.checked_add(size).ok_or(Fault::INVALID_IMAGE)
    };
    // e_shoff with e_shentsize, e_shnum; e_phoff with e_phentsize, e_phnum
    Ok(table(40, 58)?.max(table(32, 54)?).max(HEAD))
}

struct Section<'a> {
    name: &'a str,
    kind: u32,
    link: u32,
    info: u32,
    size: u64,
    bytes: &'a [u8],
}

/// The sections, by number and by name, and what the whole cubin says of its kernels.
struct Cubin<'a> {
    sections: Vec<Section<'a>>,
    /// The first section of a name.
    by_name: HashMap<&'a str, usize>,
    /// Registers and bytes of stack, by the number of a kernel's symbol.
    registers: HashMap<u32, u32>,
    stack: HashMap<u32, u32>,
    work: Work,
}

pub fn read(image: &[u8]) -> Answer<Image> {
    let mut cubin = Cubin::new(image)?;
    let mut found = Image::default();
    for table in 0..cubin.sections.len() {
        let Section { kind: SYMTAB, link, bytes, .. } = cubin.sections[table] else { continue };
        let names = cubin.sections.get(link as usize).ok_or(Fault::INVALID_IMAGE)?.bytes;
        cubin.work.take(bytes.len() as u64)?;
        for (index, symbol) in bytes.as_chunks::<24>().0.iter().enumerate() {
            let (kind, other) = (symbol[4] & 15, symbol[5]);
            let home = usize::from(u16_at(symbol, 6)?);
            let Some(section) = cubin.sections.get(home) else { continue };
            let is_variable = matches!(section.name, ".nv.global" | ".nv.global.init" | ".nv.constant3");
            if kind == FUNCTION && other & ENTRY != 0 {
                let name = string(names, u32_at(symbol, 0)?, &mut cubin.work)?;
                found.kernels.push(cubin.kernel(name, index as u32, home)?);
            } else if kind == OBJECT && is_variable {
                let bytes = section.bytes;
                let name = string(names, u32_at(symbol, 0)?, &mut cubin.work)?.to_owned();
                let (value, size) = (u64_at(symbol, 8)?, u64_at(symbol, 16)?);
                let start = part(bytes, value, size).unwrap_or_default();
                cubin.work.take(start.len() as u64)?;
                let managed = other & MANAGED != 0;
                found.variables.push(Variable { name, size, start: start.to_vec(), managed });
            }
        }
    }
    Ok(found)
}

/// A string of a table. Text that is no UTF-8 is empty.
fn string<'a>(strings: &'a [u8], at: u32, work: &mut Work) -> Answer<&'a str> {
    let rest = strings.get(at as usize..).unwrap_or_default();
    let text = rest.split(|b| *b == 0).next().unwrap_or_default();
    work.take(text.len() as u64)?;
    Ok(std::str::from_utf8(text).unwrap_or_default())
}

impl<'a> Cubin<'a> {
    fn new(image: &'a [u8]) -> Answer<Self> {
        let mut work = Work::of(image);
        let sections = sections(image, &mut work)?;
        let mut by_name = HashMap::new();
        for (index, section) in sections.iter().enumerate() {
            by_name.entry(section.name).or_insert(index);
        }
        let mut cubin = Cubin { sections, by_name, registers: HashMap::new(), stack: HashMap::new(), work };
        cubin.read_info()?;
        Ok(cubin)
    }

    fn find(&self, name: &str) -> Option<&Section<'a>> {
        self.sections.get(*self.by_name.get(name)?)
    }

    /// The bytes of a section with attributes.
    fn info(&mut self, name: &str) -> Answer<&'a [u8]> {
        let bytes = self.find(name).map_or(&[][..], |section| section.bytes);
        self.work.take(bytes.len() as u64)?;
        Ok(bytes)
    }

    /// Attributes of the whole cubin: pairs of symbol and value.
    fn read_info(&mut self) -> Answer {
        for attribute in attributes(self.info(".nv.info")?) {
            let (id, value) = attribute?;
            let values = match id {
                REGISTERS => &mut self.registers,
                FRAME => &mut self.stack,
                _ => continue,
            };
            if value.len() == 8 {
                values.insert(u32_at(value, 0)?, u32_at(value, 4)?);
            }
        }
        Ok(())
    }

    fn kernel(&mut self, name: &str, symbol: u32, home: usize) -> Answer<Kernel> {
        let info = self.sections.get(home).map_or(0, |text| text.info);
        let registers = self.registers.get(&symbol).copied().unwrap_or(info >> 24);
        let shared = self.find(&format!(".nv.shared.{name}")).map_or(0, |section| section.size);
        let mut kernel = Kernel {
            name: CString::new(name).map_err(|_| Fault::INVALID_IMAGE)?,
            registers: registers.min(MOST_REGISTERS) as i32,
            shared: shared.min(MOST_SHARED) as i32,
            local: self.stack.get(&symbol).map_or(0, |bytes| (*bytes).min(i32::MAX as u32) as i32),
            ..Kernel::default()
        };
        let mut parameters = Vec::new();
        for attribute in attributes(self.info(&format!(".nv.info.{name}"))?) {
            let (id, value) = attribute?;
            match id {
                PARAMETER => parameters.push(parameter(value)?),
                PARAMETER_V2 => parameters.push(parameter_v2(value)?),
                MAX_THREADS => {
                    let sides = [u32_at(value, 0)?, u32_at(value, 4)?, u32_at(value, 8)?];
                    let threads = sides.iter().fold(1u32, |a, b| a.saturating_mul(*b));
                    kernel.max_threads = Some(threads.min(i32::MAX as u32) as i32);
                }
                _ => {}
            }
        }
        parameters.sort_by_key(|(ordinal, _)| *ordinal);
        kernel.parameters = parameters.into_iter().map(|(_, parameter)| parameter).collect();
        if kernel.has_sane_parameters() { Ok(kernel) } else { Err(Fault::INVALID_IMAGE) }
    }
}

fn sections<'a>(image: &'a [u8], work: &mut Work) -> Answer<Vec<Section<'a>>> {
    let (offset, size) = (u64_at(image, 40)?, u16_at(image, 58)?);
    let (count, names) = (u16_at(image, 60)?, u16_at(image, 62)?);
    if count > 0 && size != SECTION_HEAD {
        return Err(Fault::INVALID_IMAGE);
    }
    let headers = part(image, offset, u64::from(size) * u64::from(count))?;
    let content = |header: &[u8]| -> Answer<&'a [u8]> {
        if u32_at(header, 4)? == NOBITS { Ok(&[]) } else { part(image, u64_at(header, 24)?, u64_at(header, 32)?) }
    };
    let header = |n: u16| part(headers, u64::from(n) * u64::from(size), u64::from(size));
    let strings = if count == 0 { &[] } else { content(header(names)?)? };
    (0..count)
        .map(|n| {
            let header = header(n)?;
            Ok(Section {
                name: string(strings, u32_at(header, 0)?, work)?,
                kind: u32_at(header, 4)?,
                link: u32_at(header, 40)?,
                info: u32_at(header, 44)?,
                size: u64_at(header, 32)?,
                bytes: content(header)?,
            })
        })
        .collect()
}

/// Id and value of each attribute. An attribute without a size has an empty value.
fn attributes(mut info: &[u8]) -> impl Iterator<Item = Answer<(u8, &[u8])>> {
    std::iter::from_fn(move || {
        let [format, id, low, high, after @ ..] = info else { return None };
        let size = if *format == SIZED { usize::from(u16::from_le_bytes([*low, *high])) } else { 0 };
        let Some((value, next)) = after.split_at_checked(size) else {
            info = &[];
            return Some(Err(Fault::INVALID_IMAGE));
        };
        info = next;
        Some(Ok((*id, value)))
    })
}

/// KPARAM_INFO: index (4 bytes), ordinal (2), offset (2). Bits 18 and up of the last word are the size.
fn parameter(value: &[u8]) -> Answer<(u16, Parameter)> {
    let size = u64::from(u32_at(value, 8)? >> 18);
    Ok((u16_at(value, 4)?, Parameter { offset: u16_at(value, 6)?.into(), size }))
}

/// The newer form, with a separate word for the size.
fn parameter_v2(value: &[u8]) -> Answer<(u16, Parameter)> {
    let size = u32_at(value, value.len().saturating_sub(4))?.into();
    Ok((u16_at(value, 4)?, Parameter { offset: u16_at(value, 6)?.into(), size }))
}
