//! Memory of the program that may not be there. The kernel reads it, so a wrong address is an error and no signal.

use super::fault::{Answer, Fault};
use std::ffi::CStr;

/// Lists and texts up to this many bytes are not checked. Longer ones must end in mapped memory.
pub const TRUSTED: u64 = 1 << 16;

/// Bytes of one copy. A length that a program states has no memory before the bytes are there.
const STEP: usize = 1 << 20;

const PAGE: usize = 4096;

/// INVALID_VALUE for a long range whose last byte is not mapped.
pub fn reaches(address: u64, len: u64) -> Answer {
    if len <= TRUSTED {
        return Ok(());
    }
    there(address.checked_add(len - 1).ok_or(Fault::INVALID_VALUE)?)
}

/// INVALID_VALUE for an address that is not mapped.
pub fn there(address: u64) -> Answer {
    match read(address, &mut [0]) {
        Some(0) => Err(Fault::INVALID_VALUE),
        _ => Ok(()),
    }
}

/// A copy of a range. INVALID_VALUE if a part of it is not mapped.
pub fn copied(address: u64, len: u64) -> Answer<Vec<u8>> {
    let end = address.checked_add(len).ok_or(Fault::INVALID_VALUE)?;
    let mut bytes = Vec::new();
    let mut from = address;
    while from < end {
        let (before, step) = (bytes.len(), (end - from).min(STEP as u64) as usize);
        bytes.try_reserve(step).map_err(|_| Fault::OUT_OF_MEMORY)?;
        bytes.resize(before + step, 0);
        let count = match read(from, &mut bytes[before..]) {
            Some(0) => return Err(Fault::INVALID_VALUE),
            Some(count) => count,
            None => {
                // SAFETY: the process may not use the system call, so the program is trusted to follow the prototype.
                unsafe { std::ptr::copy_nonoverlapping(from as *const u8, bytes[before..].as_mut_ptr(), step) };
                step
            }
        };
        bytes.truncate(before + count);
        from += count as u64;
    }
    Ok(bytes)
}

/// A copy of a text without its zero. INVALID_VALUE for one without an end in mapped memory, or above `most` bytes.
pub fn copied_text(address: u64, most: usize) -> Answer<Vec<u8>> {
    let mut text: Vec<u8> = Vec::new();
    let mut piece = vec![0; 1 << 16];
    while text.len() < most {
        let from = address.checked_add(text.len() as u64).ok_or(Fault::INVALID_VALUE)?;
        // The first piece is small: most texts are. The others begin at a page.
        let len = if text.is_empty() { PAGE - from as usize % PAGE } else { piece.len() };
        let count = match read(from, &mut piece[..len]) {
            Some(0) => return Err(Fault::INVALID_VALUE),
            Some(count) => count,
            // SAFETY: as in `copied`.
            None => return Ok(unsafe { CStr::from_ptr(address as *const std::ffi::c_char) }.to_bytes().to_vec()),
        };
        let piece = &piece[..count];
        if let Some(end) = piece.iter().position(|byte| *byte == 0) {
            text.extend_from_slice(&piece[..end]);
            return Ok(text);
        }
        text.extend_from_slice(piece);
    }
    Err(Fault::INVALID_VALUE)
}

/// Reads the beginning of a range that is mapped, and returns its length. `None` if the process may not use the system
/// call.
fn read(address: u64, into: &mut [u8]) -> Option<usize> {
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: into.len() };
    // SAFETY: the kernel writes to `into`, which has this length, or fails.
    let count = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
    match usize::try_from(count) {
        Ok(count) => Some(count),
        Err(_) if std::io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT) => Some(0),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_with_a_hole_is_refused() {
        // SAFETY: two fresh pages, of which the second is unmapped again.
        let at = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let at = libc::mmap(std::ptr::null_mut(), 2 * PAGE, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            libc::mprotect(at.byte_add(PAGE), PAGE, libc::PROT_NONE);
            at.cast::<u8>().write_bytes(b'a', PAGE);
            at as u64
        };
        let end = at + PAGE as u64;
        assert_eq!(copied(at, PAGE as u64).as_deref(), Ok(&[b'a'; PAGE][..]));
        assert_eq!(copied(at, PAGE as u64 + 1), Err(Fault::INVALID_VALUE));
        assert_eq!(copied(at, u64::MAX), Err(Fault::INVALID_VALUE));
        assert_eq!(copied(at, 1 << 62), Err(Fault::INVALID_VALUE));
        assert_eq!(copied_text(end - 3, 100), Err(Fault::INVALID_VALUE));
        assert_eq!(there(end), Err(Fault::INVALID_VALUE));
        let text = format!("{}\0", "x".repeat(200_000));
        assert_eq!(copied_text(text.as_ptr() as u64, 1 << 20).map(|t| t.len()), Ok(200_000));
        assert_eq!(copied_text(text.as_ptr() as u64, 1000), Err(Fault::INVALID_VALUE));
    }
}
