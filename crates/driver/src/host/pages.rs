//! Pages of host memory: anonymous memory, files in memory, and mappings at chosen addresses. Only this file maps and
//! unmaps pages. It must not replace a mapping that the driver did not make.

use crate::abi::{Answer, Fault};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

pub const PAGE: u64 = 4096;
pub const NO_ACCESS: i32 = libc::PROT_NONE;
pub const READ: i32 = libc::PROT_READ;
pub const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;

/// Name of the files in memory; it identifies a descriptor that came from another process.
const FILE_NAME: &std::ffi::CStr = c"cutap-sim";

/// Why pages could not be mapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// Another mapping is at that address. A different address may be free.
    Occupied,
    /// The process may have no more memory, at any address.
    NoRoom,
}

/// Fresh zero pages, at `at` exactly unless that is 0. They replace nothing.
pub fn map(at: u64, size: u64, access: i32) -> Result<u64, Refused> {
    let fixed = if at == 0 { 0 } else { libc::MAP_FIXED_NOREPLACE };
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | fixed;
    // SAFETY: anonymous memory where nothing is mapped yet; it replaces nothing.
    let got = unsafe { libc::mmap(at as *mut libc::c_void, size as usize, access, flags, -1, 0) };
    if got == libc::MAP_FAILED {
        let occupied = std::io::Error::last_os_error().raw_os_error() == Some(libc::EEXIST);
        return Err(if occupied { Refused::Occupied } else { Refused::NoRoom });
    }
    if at != 0 && got as u64 != at {
        // SAFETY: just mapped, by a kernel that ignores MAP_FIXED_NOREPLACE, and not used yet.
        unsafe { libc::munmap(got, size as usize) };
        return Err(Refused::Occupied);
    }
    Ok(got as u64)
}

/// # Safety
/// The driver mapped these pages, and no object refers to them any more.
pub unsafe fn unmap(at: u64, size: u64) {
    // SAFETY: the caller promised it.
    unsafe { libc::munmap(at as *mut libc::c_void, size as usize) };
}

/// Maps a part of a file over reserved pages, without access.
///
/// # Safety
/// The driver reserved these pages, and no mapping of it is there.
pub unsafe fn map_file(at: u64, size: u64, file: BorrowedFd<'_>, offset: u64) -> Answer {
    let flags = libc::MAP_SHARED | libc::MAP_NORESERVE | libc::MAP_FIXED;
    let (place, fd) = (at as *mut libc::c_void, file.as_raw_fd());
    // SAFETY: the caller promised it.
    let got = unsafe { libc::mmap(place, size as usize, NO_ACCESS, flags, fd, offset as i64) };
    if got == libc::MAP_FAILED { Err(Fault::OUT_OF_MEMORY) } else { Ok(()) }
}

/// Replaces pages by reserved ones without access.
///
/// # Safety
/// A mapping of the driver is there that has ended.
pub unsafe fn reserve_again(at: u64, size: u64) {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    // SAFETY: the caller promised it.
    unsafe { libc::mmap(at as *mut libc::c_void, size as usize, NO_ACCESS, flags, -1, 0) };
}

/// # Safety
/// The driver mapped these pages.
pub unsafe fn protect(at: u64, size: u64, access: i32) {
    // SAFETY: the caller promised it.
    unsafe { libc::mprotect(at as *mut libc::c_void, size as usize, access) };
}

/// Whether the process has memory in all of a range.
pub fn is_mapped(start: u64, end: u64) -> bool {
    let first = start & !(PAGE - 1);
    // SAFETY: it changes nothing, and fails for addresses without a mapping.
    unsafe { libc::msync(first as *mut libc::c_void, (end - first) as usize, libc::MS_ASYNC) == 0 }
}

/// A file in memory.
pub fn new_file(size: u64) -> Answer<OwnedFd> {
    // SAFETY: a plain call with a C string.
    let fd = unsafe { libc::memfd_create(FILE_NAME.as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(Fault::OUT_OF_MEMORY);
    }
    // SAFETY: the descriptor was just made and has no other owner.
    let file = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: a plain call on an open descriptor.
    let grown = unsafe { libc::ftruncate(fd, size as i64) };
    if grown == 0 { Ok(file) } else { Err(Fault::OUT_OF_MEMORY) }
}

/// The file of another simulated driver by a descriptor of the program, and its size. INVALID_VALUE for other files.
pub fn import_file(fd: RawFd) -> Answer<(OwnedFd, u64)> {
    let name = std::fs::read_link(format!("/proc/self/fd/{fd}")).map_err(|_| Fault::INVALID_VALUE)?;
    if !name.to_string_lossy().contains("memfd:cutap-sim") {
        return Err(Fault::INVALID_VALUE);
    }
    // SAFETY: the copy was just made and has no other owner.
    let file = unsafe { OwnedFd::from_raw_fd(duplicate(fd)?) };
    // SAFETY: a plain call on a descriptor that is open, because it has a name.
    let size = unsafe { libc::lseek(fd, 0, libc::SEEK_END) } as u64;
    Ok((file, size))
}

/// A copy of a descriptor, which the caller owns.
pub fn duplicate(fd: RawFd) -> Answer<RawFd> {
    // SAFETY: a plain call.
    let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) };
    if copy < 0 { Err(Fault::OUT_OF_MEMORY) } else { Ok(copy) }
}

/// Gives the pages of a part of a file back.
pub fn discard(file: BorrowedFd<'_>, offset: u64, size: u64) {
    let hole = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: a plain call on an open descriptor.
    unsafe { libc::fallocate(file.as_raw_fd(), hole, offset as i64, size as i64) };
}
