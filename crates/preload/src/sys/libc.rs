//! The few functions of libc and ld.so that there is no other way to. Each is a weak reference: absent
//! is an answer. None is called from a place where it could take a lock of the program's but
//! `dl_iterate_phdr` and `dlsym`, whose callers keep the rules of `loader`.

use super::arch::weak_address;
use super::program_headers::{PT_LOAD, Phdr};
use core::ffi::{c_int, c_void};

macro_rules! weak {
    ($($(#[$doc:meta])* $name:ident, $symbol:literal, $type:ty;)*) => {$(
        $(#[$doc])*
        #[inline]
        pub fn $name() -> Option<$type> {
            let p = weak_address!($symbol);
            if p == 0 { return None }
            // SAFETY: the symbol has this type in every libc that has it.
            Some(unsafe { core::mem::transmute::<*const (), $type>(p as *const ()) })
        }
    )*};
}

/// What `dl_iterate_phdr` reports for an object.
#[repr(C)]
pub struct PhdrInfo {
    /// Load address.
    pub addr: usize,
    /// Path, empty for the program.
    pub name: *const u8,
    /// Program headers.
    pub phdr: *const Phdr,
    /// Number of them.
    pub phnum: u16,
    /// Objects ever added.
    pub adds: u64,
    /// Objects ever removed.
    pub subs: u64,
}

impl PhdrInfo {
    /// True when one of the object's segments holds `address`.
    pub fn contains(&self, address: usize) -> bool {
        // SAFETY: phdr and phnum come from the loader.
        let headers = unsafe { core::slice::from_raw_parts(self.phdr, usize::from(self.phnum)) };
        headers.iter().any(|h| {
            let lo = self.addr.wrapping_add(h.vaddr as usize);
            h.kind == PT_LOAD && address.wrapping_sub(lo) < h.memsz as usize
        })
    }
}

pub type PhdrCallback = unsafe extern "C" fn(*const PhdrInfo, usize, *mut c_void) -> c_int;

/// `dl_iterate_phdr`: lists the loaded objects, under the loader's lock.
pub type Iterate = unsafe extern "C" fn(PhdrCallback, *mut c_void) -> c_int;

/// `pthread_mutex_init`.
pub type MutexInit = unsafe extern "C" fn(*mut c_void, *const c_void) -> c_int;
/// `pthread_mutex_lock`.
pub type MutexLock = unsafe extern "C" fn(*mut c_void) -> c_int;

/// What is called around a fork.
pub type Around = Option<unsafe extern "C" fn()>;

weak! {
    /// The loader's list, as debuggers find it.
    r_debug, "_r_debug", *const c_void;
    /// musl's, which is a pointer to it.
    dl_debug_addr, "_dl_debug_addr", *const *const c_void;
    /// For the robust mutex in a ring's head.
    mutexattr_init, "pthread_mutexattr_init", unsafe extern "C" fn(*mut c_void) -> c_int;
    /// See `mutexattr_init`.
    mutexattr_setrobust, "pthread_mutexattr_setrobust", unsafe extern "C" fn(*mut c_void, c_int) -> c_int;
    /// See `mutexattr_init`.
    mutexattr_setpshared, "pthread_mutexattr_setpshared", unsafe extern "C" fn(*mut c_void, c_int) -> c_int;
    /// Where this thread's errno is.
    errno_location, "__errno_location", unsafe extern "C" fn() -> *mut c_int;
    /// Calls functions around each fork: before it, in the parent, in the child.
    register_atfork, "__register_atfork", unsafe extern "C" fn(Around, Around, Around, *mut c_void) -> c_int;
    /// libc's vfork by the name that no library replaces.
    vfork, "__vfork", *const c_void;
    /// The program's environment.
    environ, "environ", *const *const *const u8;
    /// Where the kernel put argc, argv and the environment: known to ld.so before libc has run.
    stack_end, "__libc_stack_end", *const *const usize;
}
