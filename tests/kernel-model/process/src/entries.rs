//! The functions that stand in front of libc's.

use crate::files::{self, File};
use crate::state::{self, state, version};
use libc::{FILE, c_char, c_int, c_long, c_ulong, c_void, dev_t, mode_t, nfds_t, pollfd, stat as Stat};
use std::ffi::CStr;
use std::mem::transmute;

/// A path, where it is text.
unsafe fn text<'a>(path: *const c_char) -> Option<&'a str> {
    if path.is_null() {
        return None;
    }
    // SAFETY: a text of the caller.
    unsafe { CStr::from_ptr(path) }.to_str().ok()
}

/// A result of the kernel as libc gives it.
fn result(raw: i64) -> c_int {
    if raw < 0 {
        // SAFETY: errno of this thread.
        unsafe { *libc::__errno_location() = i32::try_from(-raw).unwrap_or(libc::EINVAL) };
        return -1;
    }
    raw as c_int
}

fn short(raw: c_long) -> c_int {
    raw as c_int
}

unsafe fn open_at(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the caller's path.
    match unsafe { text(path) }.and_then(state::open) {
        Some(fd) => result(fd),
        // SAFETY: the caller's arguments.
        None => short(unsafe { libc::syscall(libc::SYS_openat, folder, path, flags, mode) }),
    }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { open_at(libc::AT_FDCWD, path, flags, mode) }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { open_at(libc::AT_FDCWD, path, flags, mode) }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn openat(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { open_at(folder, path, flags, mode) }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn openat64(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { open_at(folder, path, flags, mode) }
}

unsafe fn stream(name: &CStr, path: *const c_char, mode: *const c_char) -> *mut FILE {
    // SAFETY: the caller's path.
    match unsafe { text(path) }.and_then(state::open).map(result) {
        Some(-1) => std::ptr::null_mut(),
        // SAFETY: a descriptor of the model, and the caller's mode.
        Some(fd) => unsafe { libc::fdopen(fd, mode) },
        None => {
            type Fopen = unsafe extern "C" fn(*const c_char, *const c_char) -> *mut FILE;
            // SAFETY: libc's function of this name and type.
            let next: Fopen = unsafe { transmute(libc::dlsym(libc::RTLD_NEXT, name.as_ptr())) };
            // SAFETY: the caller's arguments.
            unsafe { next(path, mode) }
        }
    }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fopen(path: *const c_char, mode: *const c_char) -> *mut FILE {
    // SAFETY: the caller's arguments.
    unsafe { stream(c"fopen", path, mode) }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fopen64(path: *const c_char, mode: *const c_char) -> *mut FILE {
    // SAFETY: the caller's arguments.
    unsafe { stream(c"fopen64", path, mode) }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn close(fd: c_int) -> c_int {
    if let Some(mut state) = state() {
        state.close(fd);
    }
    // SAFETY: the caller's descriptor.
    short(unsafe { libc::syscall(libc::SYS_close, fd) })
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    let answered = state().and_then(|mut state| state.ioctl(fd, request as u32, argument as u64));
    match answered {
        Some(answer) => result(answer),
        // SAFETY: the caller's arguments.
        None => short(unsafe { libc::syscall(libc::SYS_ioctl, fd, request, argument) }),
    }
}

unsafe fn map(at: *mut c_void, len: usize, protection: c_int, flags: c_int, fd: c_int, offset: i64) -> *mut c_void {
    // A mapping of the unified memory driver has its own address as offset: no file is so long.
    let is_file = fd >= 0 && flags & libc::MAP_ANONYMOUS == 0;
    let is_uvm = is_file && state().is_some_and(|state| state.path(fd).is_some_and(|path| path.contains("uvm")));
    let (flags, fd, offset) = if is_uvm { (flags | libc::MAP_ANONYMOUS, -1, 0) } else { (flags, fd, offset) };
    // SAFETY: the caller's arguments.
    let raw = unsafe { libc::syscall(libc::SYS_mmap, at, len, protection, flags, fd, offset) };
    raw as *mut c_void
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap(
    at: *mut c_void,
    len: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: i64,
) -> *mut c_void {
    // SAFETY: the caller's arguments.
    unsafe { map(at, len, protection, flags, fd, offset) }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap64(
    at: *mut c_void,
    len: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: i64,
) -> *mut c_void {
    // SAFETY: the caller's arguments.
    unsafe { map(at, len, protection, flags, fd, offset) }
}

/// No event of the driver ever comes: a memfd would always be ready.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn poll(list: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int {
    // SAFETY: the caller's list.
    let list = if count == 0 { &mut [] } else { unsafe { std::slice::from_raw_parts_mut(list, count as usize) } };
    let mut asked = list.to_vec();
    if let Some(state) = state() {
        // The kernel passes over what is no descriptor.
        asked.iter_mut().filter(|one| state.path(one.fd).is_some()).for_each(|one| one.fd = -1);
    }
    // SAFETY: as many as are said.
    let ready = short(unsafe { libc::syscall(libc::SYS_poll, asked.as_mut_ptr(), count, timeout) });
    list.iter_mut().zip(&asked).for_each(|(to, from)| to.revents = from.revents);
    ready
}

fn duplicated(fd: c_int, new: c_int) -> c_int {
    if let Some(mut state) = state().filter(|_| new >= 0) {
        state.dup(fd, new);
    }
    new
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dup(fd: c_int) -> c_int {
    // SAFETY: the caller's descriptor.
    duplicated(fd, short(unsafe { libc::syscall(libc::SYS_dup, fd) }))
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dup2(fd: c_int, new: c_int) -> c_int {
    // SAFETY: the caller's descriptors.
    duplicated(fd, short(unsafe { libc::syscall(libc::SYS_dup2, fd, new) }))
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dup3(fd: c_int, new: c_int, flags: c_int) -> c_int {
    // SAFETY: the caller's descriptors.
    duplicated(fd, short(unsafe { libc::syscall(libc::SYS_dup3, fd, new, flags) }))
}

/// Fills what is known of a file; false where there is none.
unsafe fn describe(file: &File, to: *mut Stat) -> bool {
    if *file == File::Absent {
        return false;
    }
    // SAFETY: the caller's struct.
    unsafe {
        to.write_bytes(0, 1);
        (*to).st_nlink = 1;
        match file {
            File::Node(major, minor) => {
                (*to).st_mode = libc::S_IFCHR | 0o666;
                (*to).st_rdev = libc::makedev(*major, *minor);
            }
            _ => (*to).st_mode = libc::S_IFREG | 0o444,
        }
    }
    true
}

unsafe fn stat_path(call: c_long, path: *const c_char, to: *mut Stat) -> c_int {
    // SAFETY: the caller's path.
    match unsafe { text(path) }.and_then(|path| files::file(path, version())) {
        // SAFETY: the caller's struct.
        Some(file) if unsafe { describe(&file, to) } => 0,
        Some(_) => result(-i64::from(libc::ENOENT)),
        // SAFETY: the caller's arguments.
        None => short(unsafe { libc::syscall(call, path, to) }),
    }
}

unsafe fn stat_descriptor(fd: c_int, to: *mut Stat) -> c_int {
    let path = state().and_then(|state| state.path(fd).map(str::to_owned));
    let file = path.and_then(|path| files::file(&path, version()));
    match file {
        // SAFETY: the caller's struct.
        Some(file) if unsafe { describe(&file, to) } => 0,
        // SAFETY: the caller's arguments.
        _ => short(unsafe { libc::syscall(libc::SYS_fstat, fd, to) }),
    }
}

macro_rules! stats {
    ($($plain:ident $old:ident $call:ident;)*) => {$(
        /// # Safety
        /// As libc's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $plain(path: *const c_char, to: *mut Stat) -> c_int {
            // SAFETY: the caller's arguments.
            unsafe { stat_path(libc::$call, path, to) }
        }
        /// # Safety
        /// As libc's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $old(_version: c_int, path: *const c_char, to: *mut Stat) -> c_int {
            // SAFETY: the caller's arguments.
            unsafe { stat_path(libc::$call, path, to) }
        }
    )*};
}

stats! {
    stat __xstat SYS_stat;
    stat64 __xstat64 SYS_stat;
    lstat __lxstat SYS_lstat;
    lstat64 __lxstat64 SYS_lstat;
}

macro_rules! descriptor_stats {
    ($($plain:ident $old:ident;)*) => {$(
        /// # Safety
        /// As libc's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $plain(fd: c_int, to: *mut Stat) -> c_int {
            // SAFETY: the caller's arguments.
            unsafe { stat_descriptor(fd, to) }
        }
        /// # Safety
        /// As libc's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $old(_version: c_int, fd: c_int, to: *mut Stat) -> c_int {
            // SAFETY: the caller's arguments.
            unsafe { stat_descriptor(fd, to) }
        }
    )*};
}

descriptor_stats! {
    fstat __fxstat;
    fstat64 __fxstat64;
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn access(path: *const c_char, mode: c_int) -> c_int {
    // SAFETY: the caller's path.
    match unsafe { text(path) }.and_then(|path| files::file(path, version())) {
        Some(File::Absent) => result(-i64::from(libc::ENOENT)),
        Some(_) => 0,
        // SAFETY: the caller's arguments.
        None => short(unsafe { libc::syscall(libc::SYS_access, path, mode) }),
    }
}

/// Makes and changes no node of the driver.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mknod(path: *const c_char, mode: mode_t, device: dev_t) -> c_int {
    // SAFETY: the caller's path.
    match unsafe { text(path) }.and_then(|path| files::file(path, version())) {
        Some(_) => result(-i64::from(libc::EPERM)),
        // SAFETY: the caller's arguments.
        None => short(unsafe { libc::syscall(libc::SYS_mknod, path, mode, device) }),
    }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __xmknod(_version: c_int, path: *const c_char, mode: mode_t, device: *const dev_t) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { mknod(path, mode, *device) }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chmod(path: *const c_char, mode: mode_t) -> c_int {
    // SAFETY: the caller's path.
    match unsafe { text(path) }.and_then(|path| files::file(path, version())) {
        Some(_) => 0,
        // SAFETY: the caller's arguments.
        None => short(unsafe { libc::syscall(libc::SYS_chmod, path, mode) }),
    }
}
