//! Cubin: ELF64 with NVIDIA's sections. A kernel is a global function symbol with a section `.text.<name>`. Its
//! parameters are in `.nv.info.<name>`, one attribute each. Variables are global objects.

use super::{Image, Kernel, Parameter, Variable, part, u16_at, u32_at, u64_at};
use crate::abi::{Answer, Fault};
use std::ffi::CString;

pub const MAGIC: u32 = u32::from_le_bytes(*b"\x7fELF");
/// Bytes of the ELF header.
pub const HEAD: u64 = 64;

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

/// The length of a cubin, from its header: the end of the last of its two header tables.
pub fn len(head: &[u8]) -> Answer<u64> {
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

pub fn read(image: &[u8]) -> Answer<Image> {
    let sections = sections(image)?;
    let mut found = Image::default();
    for table in sections.iter().filter(|s| s.kind == SYMTAB) {
        let names = sections.get(table.link as usize).ok_or(Fault::INVALID_IMAGE)?.bytes;
        for (index, symbol) in table.bytes.chunks_exact(24).enumerate() {
            let (kind, other) = (symbol[4] & 15, symbol[5]);
            let Some(section) = sections.get(usize::from(u16_at(symbol, 6)?)) else { continue };
            let name = string(names, u32_at(symbol, 0)?);
            if kind == FUNCTION && other & ENTRY != 0 {
                found.kernels.push(kernel(name, index as u32, section, &sections)?);
            } else if kind == OBJECT && matches!(section.name, ".nv.global" | ".nv.global.init" | ".nv.constant3") {
                found.variables.push(variable(name, section, other, (u64_at(symbol, 8)?, u64_at(symbol, 16)?)));
            }
        }
    }
    Ok(found)
}

fn sections(image: &[u8]) -> Answer<Vec<Section<'_>>> {
    let (offset, size) = (u64_at(image, 40)?, u16_at(image, 58)?);
    let (count, names) = (u16_at(image, 60)?, u16_at(image, 62)?);
    let headers = part(image, offset, u64::from(size) * u64::from(count))?;
    let content = |header: &[u8]| -> Answer<&[u8]> {
        if u32_at(header, 4)? == NOBITS { Ok(&[]) } else { part(image, u64_at(header, 24)?, u64_at(header, 32)?) }
    };
    let header = |n: u16| part(headers, u64::from(n) * u64::from(size), u64::from(size));
    let strings = if count == 0 { &[] } else { content(header(names)?)? };
    (0..count)
        .map(|n| {
            let header = header(n)?;
            Ok(Section {
                name: string(strings, u32_at(header, 0)?),
                kind: u32_at(header, 4)?,
                link: u32_at(header, 40)?,
                info: u32_at(header, 44)?,
                size: u64_at(header, 32)?,
                bytes: content(header)?,
            })
        })
        .collect()
}

fn string(strings: &[u8], at: u32) -> &str {
    let rest = strings.get(at as usize..).unwrap_or_default();
    std::str::from_utf8(rest.split(|b| *b == 0).next().unwrap_or_default()).unwrap_or_default()
}

fn kernel(name: &str, symbol: u32, text: &Section<'_>, sections: &[Section<'_>]) -> Answer<Kernel> {
    let find = |prefix: &str| sections.iter().find(|s| s.name.strip_prefix(prefix) == Some(name));
    let shared = find(".nv.shared.").map_or(0, |s| s.size);
    let mut kernel = Kernel {
        name: CString::new(name).map_err(|_| Fault::INVALID_IMAGE)?,
        registers: (text.info >> 24) as i32,
        shared: shared as i32,
        ..Kernel::default()
    };
    // Attributes of the whole cubin: pairs of symbol and value.
    for (id, value) in attributes(sections.iter().find(|s| s.name == ".nv.info").map_or(&[], |s| s.bytes))? {
        let of_it = value.len() == 8 && u32_at(value, 0)? == symbol;
        match id {
            REGISTERS if of_it => kernel.registers = u32_at(value, 4)? as i32,
            FRAME if of_it => kernel.local = u32_at(value, 4)? as i32,
            _ => {}
        }
    }
    let mut parameters = Vec::new();
    for (id, value) in attributes(find(".nv.info.").map_or(&[], |s| s.bytes))? {
        match id {
            PARAMETER => parameters.push(parameter(value)?),
            PARAMETER_V2 => parameters.push(parameter_v2(value)?),
            MAX_THREADS => {
                let sides = [u32_at(value, 0)?, u32_at(value, 4)?, u32_at(value, 8)?];
                kernel.max_threads = Some(sides.iter().fold(1u32, |a, b| a.saturating_mul(*b)) as i32);
            }
            _ => {}
        }
    }
    parameters.sort_by_key(|(ordinal, _)| *ordinal);
    kernel.parameters = parameters.into_iter().map(|(_, parameter)| parameter).collect();
    Ok(kernel)
}

/// Id and value of each attribute. An attribute without a size has an empty value.
fn attributes(mut info: &[u8]) -> Answer<Vec<(u8, &[u8])>> {
    let mut all = Vec::new();
    while let [format, id, low, high, after @ ..] = info {
        let size = if *format == SIZED { usize::from(u16::from_le_bytes([*low, *high])) } else { 0 };
        let (value, next) = after.split_at_checked(size).ok_or(Fault::INVALID_IMAGE)?;
        all.push((*id, value));
        info = next;
    }
    Ok(all)
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

fn variable(name: &str, section: &Section<'_>, other: u8, (value, size): (u64, u64)) -> Variable {
    let start = part(section.bytes, value, size).unwrap_or_default().to_vec();
    Variable { name: name.to_owned(), size, start, managed: other & MANAGED != 0 }
}
