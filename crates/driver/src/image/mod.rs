//! Reads the code that a program passes to the driver: cubin, PTX text and fat binaries. `cutap_cubin` reads them; here
//! is which entry of a fat binary is taken, and what of code this driver needs. Only the image itself contains its
//! length, so reading starts from a pointer.
//!
//! Any bytes give an answer or an error. A copy ends where memory or the file ends. Containers do not nest: a wrapper
//! has a fat binary, a fat binary has code, and linked images have both.

mod code;
mod linked;
mod source;

pub use code::{Image, Kernel};
pub use linked::link;
pub use source::Source;

use crate::abi::{Answer, Fault};
use crate::engine::machine;
use cutap_cubin::fatbin::{self, Entry, Kind};
use cutap_cubin::{LARGEST, Work, is_elf, number, whole};
use std::os::unix::fs::FileTypeExt;

/// The wrapper that compilers put around a fat binary in a program.
const WRAPPER: u32 = 0x466243b1;
/// The simulated device.
const ARCHITECTURE: u32 = 90;

/// The image at a place.
pub fn read(source: Source<'_>) -> Answer<Image> {
    let mut work = Work::unpacking();
    let magic = source.bytes(0, 4)?;
    match number::<4>(&magic, 0).unwrap_or(0) as u32 {
        WRAPPER => {
            let wrapper = source.bytes(0, 16)?;
            let inner = Source::at(number::<8>(&wrapper, 8).ok_or(Fault::INVALID_IMAGE)?)?;
            if fatbin::is_fatbin(&inner.bytes(0, 4)?) { fat(inner, &mut work) } else { Err(Fault::INVALID_IMAGE) }
        }
        linked::MAGIC => linked::read(source, &mut work),
        _ => piece(source, &mut work),
    }
}

/// An image that is neither wrapped nor linked.
fn piece(source: Source<'_>, work: &mut Work) -> Answer<Image> {
    let magic = source.bytes(0, 4)?;
    if fatbin::is_fatbin(&magic) {
        fat(source, work)
    } else if is_elf(&magic) {
        code::of_cubin(&whole(&source).ok_or(Fault::INVALID_IMAGE)?)
    } else {
        code::of_ptx(&source.text()?)
    }
}

/// The entry of a fat binary that an H200 would run. If there is none, any entry where no code runs.
fn fat(source: Source<'_>, work: &mut Work) -> Answer<Image> {
    let mut best = None;
    for entry in fatbin::entries(&source)? {
        let entry = entry?;
        if entry.kind != Kind::Other && best.is_none_or(|best| fitness(&best) <= fitness(&entry)) {
            best = Some(entry);
        }
    }
    let entry = best.ok_or(Fault::NO_BINARY_FOR_GPU)?;
    if machine().runs_kernels() && fitness(&entry).0 == UNFIT {
        return Err(Fault::NO_BINARY_FOR_GPU);
    }
    let code = entry.code(&source, work)?;
    if entry.kind == Kind::Ptx { code::of_ptx(&Source::Bytes(&code).text()?) } else { code::of_cubin(&code) }
}

/// The lowest fitness: the device cannot run it.
const UNFIT: u32 = 1;

/// Machine code for this architecture or an older one of its family, then the newest PTX that it can take.
fn fitness(entry: &Entry) -> (u32, u32) {
    let (own, theirs) = (ARCHITECTURE, entry.architecture);
    match entry.kind {
        Kind::Cubin if theirs / 10 == own / 10 && theirs <= own => (3, theirs),
        Kind::Ptx if theirs <= own => (2, theirs),
        _ => (UNFIT, theirs),
    }
}

impl From<cutap_cubin::Error> for Fault {
    fn from(_: cutap_cubin::Error) -> Self {
        Fault::INVALID_IMAGE
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

#[cfg(test)]
mod any;
