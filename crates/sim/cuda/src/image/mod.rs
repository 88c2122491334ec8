//! Reads the code that a program passes to the driver: cubin, PTX text and fat binaries. It extracts names and
//! parameters of kernels, and global variables. Wrong bytes must be an error, never a crash. Only the image itself
//! contains its length, so reading starts from a pointer.

mod elf;
mod fatbin;
mod ptx;

use crate::abi::{Answer, Fault, reaches};
use std::ffi::CString;

/// One parameter of a kernel, in its block of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub offset: u64,
    pub size: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Kernel {
    pub name: CString,
    pub parameters: Vec<Parameter>,
    pub registers: i32,
    pub max_threads: Option<i32>,
    pub shared: i32,
    pub local: i32,
}

/// A variable that the host can find by name.
#[derive(Clone, Debug, Default)]
pub struct Variable {
    pub name: String,
    pub size: u64,
    /// The initial bytes. All others are zero.
    pub start: Vec<u8>,
    pub managed: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Image {
    pub kernels: Vec<Kernel>,
    pub variables: Vec<Variable>,
}

/// The wrapper that compilers put around a fat binary in a program.
const WRAPPER: u32 = 0x466243b1;

/// Magic number of the images that `link` makes: this, the total length in bytes, then each image after its length.
const LINKED: u32 = u32::from_le_bytes(*b"cutL");

/// Combines images. A single piece of machine code stays unchanged.
pub fn link(images: &[Vec<u8>]) -> Vec<u8> {
    if let [one] = images
        && u32_at(one, 0) == Ok(elf::MAGIC)
    {
        return one.clone();
    }
    let parts: Vec<u8> = images.iter().flat_map(|i| [&(i.len() as u64).to_le_bytes(), &i[..]].concat()).collect();
    [&u64::from(LINKED).to_le_bytes(), &(16 + parts.len() as u64).to_le_bytes(), &parts[..]].concat()
}

fn read_linked(bytes: &[u8]) -> Answer<Image> {
    let mut all = Image::default();
    let mut at = 16;
    while at < bytes.len() as u64 {
        let len = u64_at(bytes, at as usize)?;
        let one = read_bytes(part(bytes, at + 8, len)?)?;
        all.kernels.extend(one.kernels);
        all.variables.extend(one.variables);
        at += 8 + len;
    }
    Ok(all)
}

/// Memory of the program at an address. Only its content determines its length.
#[derive(Clone, Copy)]
pub struct Memory(u64);

impl Memory {
    /// For an address that a program passed as an image.
    pub fn at(address: u64) -> Answer<Self> {
        if address == 0 { Err(Fault::INVALID_VALUE) } else { Ok(Memory(address)) }
    }

    /// The first `len` bytes. The caller has read this length from the image.
    fn bytes<'a>(self, len: u64) -> Answer<&'a [u8]> {
        if len > isize::MAX as u64 || reaches(self.0, len).is_err() {
            return Err(Fault::INVALID_IMAGE);
        }
        // SAFETY: the program passed an image whose headers contain this length, and its end is mapped. It stays
        // there during the call.
        Ok(unsafe { std::slice::from_raw_parts(self.0 as *const u8, len as usize) })
    }

    fn text<'a>(self) -> &'a [u8] {
        // SAFETY: an image that is neither ELF nor fat binary is PTX, which ends with a zero.
        unsafe { std::ffi::CStr::from_ptr(self.0 as *const std::ffi::c_char) }.to_bytes()
    }
}

/// The image at an address of the program.
pub fn read(at: Memory) -> Answer<Image> {
    match u32_at(at.bytes(4)?, 0)? {
        WRAPPER => {
            let wrapper = at.bytes(16)?;
            read(Memory::at(u64_at(wrapper, 8)?)?)
        }
        fatbin::MAGIC => fatbin::read(at),
        LINKED => read_linked(at.bytes(u64_at(at.bytes(16)?, 8)?)?),
        elf::MAGIC => elf::read(at.bytes(elf::len(at.bytes(elf::HEAD)?)?)?),
        _ => ptx::read(at.text()),
    }
}

/// The image in a slice that contains all of it.
pub fn read_bytes(bytes: &[u8]) -> Answer<Image> {
    match u32_at(bytes, 0)? {
        fatbin::MAGIC => fatbin::read_bytes(bytes),
        LINKED => read_linked(bytes),
        elf::MAGIC => elf::read(bytes),
        _ => ptx::read(bytes.split(|b| *b == 0).next().unwrap_or(bytes)),
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Answer<u16> {
    let found = bytes.get(at..).and_then(|b| b.first_chunk()).ok_or(Fault::INVALID_IMAGE)?;
    Ok(u16::from_le_bytes(*found))
}

fn u32_at(bytes: &[u8], at: usize) -> Answer<u32> {
    let found = bytes.get(at..).and_then(|b| b.first_chunk()).ok_or(Fault::INVALID_IMAGE)?;
    Ok(u32::from_le_bytes(*found))
}

fn u64_at(bytes: &[u8], at: usize) -> Answer<u64> {
    let found = bytes.get(at..).and_then(|b| b.first_chunk()).ok_or(Fault::INVALID_IMAGE)?;
    Ok(u64::from_le_bytes(*found))
}

/// A part of an image. INVALID_IMAGE for a part outside it.
fn part(bytes: &[u8], offset: u64, len: u64) -> Answer<&[u8]> {
    let end = offset.checked_add(len).ok_or(Fault::INVALID_IMAGE)?;
    bytes.get(offset as usize..end as usize).ok_or(Fault::INVALID_IMAGE)
}
