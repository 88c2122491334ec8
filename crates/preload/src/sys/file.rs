//! Files of ours, for moments. The program's threads share the table of descriptors with us: while a file is open,
//! another thread may close its number or give it to another file (a daemon that points its standard streams
//! elsewhere does), and what we do with the number next would be done to that file. So a file is moved immediately to a
//! number that programs do not choose, and before anything is done to it it is asked whether it still is the one that
//! its path names.
//!
//! Must never read, change, map or close a descriptor without that question. What cannot be helped is the moment
//! between question and deed, and that the first free number is taken while the kernel opens the file: another thread's
//! dup2 to it says EBUSY meanwhile.
//!
//! Measured: a program that only calls `dup2`, beside threads that come and go
//! (`tests/programs/calls/reused_numbers.c`). In five runs on two cores, `dup2` failed with EBUSY 114 to 1936 times
//! in 800,000. One to four writes of the program went to a file of cutap and were lost. They are appended there, and
//! damage nothing. A child that another thread forks in such a moment may inherit the file.

use super::arch::{syscall2, syscall3, syscall4, syscall6};
use super::used::nr;
use super::{ENOSYS, PROT_READ, PROT_WRITE, allowed, block_signals, restore_signals};
use cutap_wire::PAGE;

const MAP_SHARED: usize = 1;
const MAP_FIXED: usize = 0x10;
const MAP_POPULATE: usize = 0x8000;
const READ_WRITE: usize = PROT_READ | PROT_WRITE;
const MADV_POPULATE_WRITE: usize = 23;
const O_RDWR: usize = 2;
const O_CREAT: usize = 0o100;
const O_EXCL: usize = 0o200;
const O_APPEND: usize = 0o2000;
const O_NONBLOCK: usize = 0o4000;
/// Who may write to the run directory must not choose which other file is written.
const O_NOFOLLOW: usize = 0o400000;
const O_CLOEXEC: usize = 0o2000000;
const AT_FDCWD: usize = -100isize as usize;
const AT_EMPTY_PATH: usize = 0x1000;
const F_DUPFD_CLOEXEC: usize = 1030;
const RLIMIT_FSIZE: usize = 1;
const EEXIST: isize = -17;

/// The first number that files of ours have, where the limit allows it: below the usual limit of 1024, for a higher one
/// makes the table longer.
const OURS: usize = 1000;

/// To make a file, or have one that a try before has left.
pub const MADE: &[Open] = &[Open::New, Open::ReadWrite];

/// How to open.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// An existing file, to read.
    Read,
    /// An existing file, to read and write.
    ReadWrite,
    /// The same, if nobody has a lease of it just now.
    AtOnce,
    /// A new file, to read and write.
    New,
}

/// Opens a path that ends in a zero byte, in the first of these ways that can be had, and does something with the file.
/// A handler of the program's must not come between.
pub fn with<R>(path: &[u8], how: &[Open], then: impl FnOnce(&File) -> R) -> Option<R> {
    debug_assert!(path.last() == Some(&0));
    let signals = block_signals();
    let result = how.iter().find_map(|how| open(path, *how)).map(|file| then(&file));
    restore_signals(signals);
    result
}

/// A struct stat as words: device, number there, links, mode in the lower half of the fourth. By the call that libc
/// makes behind each of its own opens, so that a sandbox that lets a file be opened knows it.
fn stat(fd: usize, path: &[u8], flags: usize) -> Option<[u64; 18]> {
    let mut stat = [0u64; 18];
    let to = stat.as_mut_ptr() as usize;
    // SAFETY: the path ends in a zero byte; the kernel writes 144 bytes.
    let status = unsafe { syscall4(nr::NEWFSTATAT, fd, path.as_ptr() as usize, to, flags) };
    (status == 0).then_some(stat)
}

/// Device, number there, and the device that it is, of a descriptor of a character device.
pub fn device_node(fd: i32) -> Option<[u64; 3]> {
    const KIND: u32 = 0o170000;
    const CHARACTER_DEVICE: u32 = 0o020000;
    let [device, number, _, mode, _, node, ..] = stat(fd as usize, b"\0", AT_EMPTY_PATH)?;
    (mode as u32 & KIND == CHARACTER_DEVICE).then_some([device, number, node])
}

/// True if two paths, which end in a zero byte, lead to one file.
pub fn is_same_file(path: &[u8], other: &[u8]) -> bool {
    debug_assert!(path.last() == Some(&0) && other.last() == Some(&0));
    let of = |path| stat(AT_FDCWD, path, 0).map(Identity::of);
    of(path).is_some_and(|file| of(other) == Some(file))
}

/// Device and number there of the regular file that a path of the program's leads to; the kernel reads the path.
pub fn regular_file(path: usize) -> Option<[u64; 2]> {
    const KIND: u32 = 0o170000;
    const REGULAR: u32 = 0o100000;
    if !allowed::may_open_files() {
        return None;
    }
    let mut stat = [0u64; 18];
    // SAFETY: the kernel checks the path's memory and answers EFAULT; it writes 144 bytes.
    let status = unsafe { syscall4(nr::NEWFSTATAT, AT_FDCWD, path, stat.as_mut_ptr() as usize, 0) };
    let [device, number, _, mode, ..] = stat;
    (status == 0 && mode as u32 & KIND == REGULAR).then_some([device, number])
}

/// Gives what was just made its mode, if the program's umask has taken rights of its owner's: the collector, which is
/// the same user, and we open it again by its path.
fn allow_owner(path: &[u8], found: &[u64; 18], mode: u32) {
    let [_, _, _, now, ..] = found;
    if *now as u32 & mode != mode {
        // SAFETY: the path ends in a zero byte.
        unsafe { syscall2(nr::CHMOD, path.as_ptr() as usize, mode as usize) };
    }
}

/// Makes a folder of mode 0700; `Err(true)` when the name is taken.
pub fn make_folder(path: &[u8]) -> Result<(), bool> {
    debug_assert!(path.last() == Some(&0));
    // SAFETY: the path ends in a zero byte.
    match unsafe { syscall2(nr::MKDIR, path.as_ptr() as usize, 0o700) } {
        0 => {
            stat(AT_FDCWD, path, 0).iter().for_each(|found| allow_owner(path, found, 0o700));
            Ok(())
        }
        e => Err(e == EEXIST),
    }
}

/// Removes a file of ours.
pub fn remove(path: &[u8]) {
    debug_assert!(path.last() == Some(&0));
    // SAFETY: the path ends in a zero byte.
    unsafe { syscall2(nr::UNLINK, path.as_ptr() as usize, 0) };
}

/// Which file something is: device and number there.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Identity([u64; 2]);

impl Identity {
    fn of([device, number, ..]: [u64; 18]) -> Identity {
        Identity([device, number])
    }
    fn of_descriptor(fd: usize) -> Option<Identity> {
        stat(fd, b"\0", AT_EMPTY_PATH).map(Identity::of)
    }
}

fn open(path: &[u8], how: Open) -> Option<File> {
    // What cannot be closed or told from another's file is not opened.
    if !allowed::may_open_files() {
        return None;
    }
    let flags = O_CLOEXEC
        | match how {
            Open::Read => 0,
            // Only mappings write. What the program writes to the number meanwhile goes behind all that is there.
            Open::ReadWrite => O_RDWR | O_APPEND | O_NOFOLLOW,
            Open::AtOnce => O_RDWR | O_APPEND | O_NONBLOCK | O_NOFOLLOW,
            Open::New => O_RDWR | O_CREAT | O_EXCL,
        };
    // SAFETY: the path ends in a zero byte.
    let first = unsafe { syscall4(nr::OPENAT, AT_FDCWD, path.as_ptr() as usize, flags, 0o600) };
    if first < 0 {
        return None;
    }
    // SAFETY: no memory.
    let moved = unsafe { syscall3(nr::FCNTL, first as usize, F_DUPFD_CLOEXEC, OURS) };
    let named = stat(AT_FDCWD, path, 0);
    named.iter().filter(|_| how == Open::New).for_each(|found| allow_owner(path, found, 0o600));
    let named = named.map(Identity::of);
    let here = if moved < 0 { first } else { moved } as usize;
    let identity = named.or_else(|| Identity::of_descriptor(here))?;
    // Closed at the end if it was moved; one that is somebody else's by now is left unchanged.
    let first = File { fd: first as usize, identity };
    if moved < 0 {
        return (named.is_some() && first.is_ours()).then_some(first);
    }
    let moved = File { fd: here, identity };
    if moved.is_ours() && named.is_some() {
        return Some(moved);
    }
    // The number is new and ours, whatever was moved there.
    moved.close();
    core::mem::forget(moved);
    None
}

/// An open file, closed on drop.
pub struct File {
    fd: usize,
    identity: Identity,
}

impl Drop for File {
    fn drop(&mut self) {
        if self.is_ours() {
            self.close();
        }
    }
}

impl File {
    fn close(&self) {
        // SAFETY: the descriptor is ours.
        unsafe { syscall2(nr::CLOSE, self.fd, 0) };
    }
    fn is_ours(&self) -> bool {
        Identity::of_descriptor(self.fd) == Some(self.identity)
    }
    /// Allocates the bytes up to `size`: a full disk is an error here and not a SIGBUS later.
    pub fn allocate(&self, size: usize) -> bool {
        self.allocate_part(0, size)
    }
    /// Like `allocate`, for `bytes` bytes from `offset` on.
    pub fn allocate_part(&self, offset: usize, bytes: usize) -> bool {
        // Beyond the limit the kernel would send SIGXFSZ, which ends the program.
        if (offset + bytes) as u64 > file_size_limit() || !self.is_ours() {
            return false;
        }
        // SAFETY: no memory is involved.
        let allocated = unsafe { syscall4(nr::FALLOCATE, self.fd, 0, offset, bytes) == 0 };
        // A filter may answer in the kernel's place, and what is mapped behind the end of a file cannot be touched.
        allocated && self.length().is_some_and(|length| length >= (offset + bytes) as u64)
    }
    /// Bytes of it.
    fn length(&self) -> Option<u64> {
        stat(self.fd, b"\0", AT_EMPTY_PATH).map(|[_, _, _, _, _, _, length, ..]| length)
    }
    /// Bytes that are free where the file is; as many as one likes if that cannot be told.
    pub fn room(&self) -> u64 {
        // struct statfs: type, bytes of a block, blocks, free ones, those that we may use, ...
        let mut fs = [0u64; 16];
        // SAFETY: the kernel writes 120 bytes.
        let status = unsafe { syscall4(nr::FSTATFS, self.fd, fs.as_mut_ptr() as usize, 0, 0) };
        let [_, block, blocks, _, free, ..] = fs;
        if status != 0 || blocks == 0 { u64::MAX } else { free.saturating_mul(block) }
    }
    /// Its first page, allocated and mapped.
    pub fn first_page(&self) -> Option<*mut u8> {
        let page = if self.allocate(PAGE) { self.map(0, PAGE) } else { core::ptr::null_mut() };
        (!page.is_null()).then_some(page)
    }
    /// Maps part of the file, shared. Null when refused.
    pub fn map(&self, offset: usize, bytes: usize) -> *mut u8 {
        // SAFETY: not over anything.
        unsafe { self.map_as(core::ptr::null_mut(), offset, bytes, READ_WRITE, MAP_SHARED) }
    }
    /// The same for what will all be written soon, over a mapping of this length if `over` is not null. Its pages are
    /// there immediately and may be written, which costs four fifths of touching each: of a file on a disk a first
    /// write would be another fault if they were only there.
    ///
    /// # Safety
    /// What is mapped over is ours, and what it holds is not needed.
    pub unsafe fn map_whole(&self, offset: usize, bytes: usize, over: *mut u8) -> *mut u8 {
        let fixed = |at: *mut u8| if at.is_null() { MAP_SHARED } else { MAP_SHARED | MAP_FIXED };
        // SAFETY: the caller's promise, and what was just mapped.
        unsafe {
            let p = self.map_as(over, offset, bytes, READ_WRITE, fixed(over));
            // Linux before 5.14 does not know it.
            if !p.is_null() && syscall3(nr::MADVISE, p as usize, bytes, MADV_POPULATE_WRITE) != 0 {
                self.map_as(p, offset, bytes, READ_WRITE, fixed(p) | MAP_POPULATE);
            }
            p
        }
    }
    /// Maps part of a file that will grow, to more than its end. Nothing of it can be touched before
    /// [`opened`](super::opened): who reads whatever a process has (a leak check, a debugger) would meet a SIGBUS in
    /// each page behind the end.
    pub fn map_closed(&self, offset: usize, bytes: usize) -> *mut u8 {
        // SAFETY: not over anything.
        unsafe { self.map_as(core::ptr::null_mut(), offset, bytes, 0, MAP_SHARED) }
    }
    /// Maps the beginning of the file over pages that are there, shared.
    ///
    /// # Safety
    /// The pages are ours, and what they hold is not needed.
    pub unsafe fn map_over(&self, at: *mut u8, bytes: usize) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.map_as(at, 0, bytes, READ_WRITE, MAP_SHARED | MAP_FIXED) == at }
    }
    /// # Safety
    /// With `MAP_FIXED`, what is at `at` is ours, and what it holds is not needed.
    unsafe fn map_as(&self, at: *mut u8, offset: usize, bytes: usize, rights: usize, how: usize) -> *mut u8 {
        if !self.is_ours() {
            return core::ptr::null_mut();
        }
        // SAFETY: the caller's promise; else a new mapping at an address of the kernel's choice.
        let p = unsafe { syscall6(nr::MMAP, at as usize, bytes, rights, how, self.fd, offset) };
        if p < 0 { core::ptr::null_mut() } else { p as *mut u8 }
    }
    /// Reads up to `to.len()` bytes.
    pub fn read(&self, to: &mut [u8]) -> usize {
        if !self.is_ours() {
            return 0;
        }
        // SAFETY: the buffer is ours.
        let n = unsafe { syscall3(nr::READ, self.fd, to.as_mut_ptr() as usize, to.len()) };
        n.max(0) as usize
    }
    /// Writes all bytes at `from`, which the caller knows to be readable; false when it could not.
    pub fn write(&self, mut from: usize, mut len: usize) -> bool {
        if !self.is_ours() {
            return false;
        }
        while len > 0 {
            // SAFETY: the kernel checks the memory and answers EFAULT.
            let n = unsafe { syscall3(nr::WRITE, self.fd, from, len) };
            if n <= 0 {
                return false;
            }
            from += n as usize;
            len -= n as usize;
        }
        true
    }
}

fn file_size_limit() -> u64 {
    let mut limit = [u64::MAX; 2];
    // SAFETY: the kernel writes two words.
    let answer = unsafe { syscall4(nr::PRLIMIT64, 0, RLIMIT_FSIZE, 0, limit.as_mut_ptr() as usize) };
    let [soft, _] = limit;
    if answer == ENOSYS { 0 } else { soft }
}
