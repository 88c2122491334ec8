//! Reads the code that a program passes to the driver: cubin, PTX text and fat binaries. It extracts names and
//! parameters of kernels, and global variables. Only the image itself contains its length, so reading starts from a
//! pointer.
//!
//! Any bytes give an answer or an error. No size in an image is trusted. A copy ends where memory or the file ends.
//! Unpacked code has at most [`LARGEST`] bytes. A reader that looks at the same bytes again and again stops: see
//! [`work`]. Containers do not nest: a wrapper has a fat binary, a fat binary has code, and linked images have both.

mod elf;
mod fatbin;
mod linked;
mod ptx;
mod source;
mod work;

pub use linked::link;
pub use source::Source;

use crate::abi::{Answer, Fault};
use std::ffi::CString;
use std::os::unix::fs::FileTypeExt;
use work::Work;

/// Bytes of code at most, packed or not. The largest cubins have about a tenth of it.
const LARGEST: u64 = 1 << 28;

/// Bytes of all parameters of a kernel at most, on every GPU.
const MOST_PARAMETERS: u64 = 32_764;

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

impl Kernel {
    /// Whether all parameters lie where a kernel can have some.
    fn has_sane_parameters(&self) -> bool {
        let end = |p: &Parameter| p.offset.checked_add(p.size);
        self.parameters.len() as u64 <= MOST_PARAMETERS
            && self.parameters.iter().all(|p| end(p).is_some_and(|end| end <= MOST_PARAMETERS))
    }
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

/// The image at a place.
pub fn read(source: Source<'_>) -> Answer<Image> {
    let mut work = Work::unpacking();
    match source.magic()? {
        WRAPPER => {
            let wrapper = source.part(0, 16)?;
            let inner = Source::at(u64_at(&wrapper, 8)?)?;
            match inner.magic()? {
                fatbin::MAGIC => fatbin::read(inner, &mut work),
                _ => Err(Fault::INVALID_IMAGE),
            }
        }
        linked::MAGIC => linked::read(source, &mut work),
        _ => piece(source, &mut work),
    }
}

/// An image that is neither wrapped nor linked.
fn piece(source: Source<'_>, work: &mut Work) -> Answer<Image> {
    match source.magic()? {
        fatbin::MAGIC => fatbin::read(source, work),
        elf::MAGIC => elf::read(&source.part(0, elf::len(&source.part(0, elf::HEAD)?, source)?)?),
        _ => ptx::read(&source.text()?),
    }
}

/// The bytes of a file with code. INVALID_IMAGE for what is no ordinary file, and for one that is too large.
pub fn file(path: &std::path::Path) -> Answer<Vec<u8>> {
    use std::io::Read;
    let about = std::fs::metadata(path).map_err(|_| Fault::FILE_NOT_FOUND)?;
    if about.is_dir() {
        return Err(Fault::OUT_OF_MEMORY); // as the driver has it
    }
    let kind = about.file_type();
    let is_special = kind.is_fifo() || kind.is_char_device() || kind.is_block_device() || kind.is_socket();
    // Fat binaries may be larger than code.
    if is_special || about.len() > 8 * LARGEST {
        return Err(Fault::INVALID_IMAGE);
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(|_| Fault::FILE_NOT_FOUND)?;
    // A file of /proc has no size, and may have no end.
    file.take(about.len()).read_to_end(&mut bytes).map_err(|_| Fault::FILE_NOT_FOUND)?;
    Ok(bytes)
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

#[cfg(test)]
mod any;
