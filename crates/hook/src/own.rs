//! What cutap gives to its own hook library, `crates/inject`, behind the contract's host. It is no part of the
//! contract: both sides are always of one build.

use crate::contract::{Call, Host};
use core::ffi::{c_char, c_int};

/// Bytes of the name of a module at most.
pub const MODULE: usize = 64;

/// Where a call comes from.
#[repr(C)]
#[derive(Debug)]
pub struct CallSite {
    /// SONAME or file name of the module that calls, filled up with zeros; `main` for the program itself.
    pub module: [u8; MODULE],
    /// Where the call returns to, as an offset in the module.
    pub offset: u64,
    /// 1: a toolkit library or a runtime makes the call.
    pub is_nested: u32,
    /// 0.
    pub reserved: u32,
}

/// The host, and more.
#[repr(C)]
pub struct OwnHost {
    /// What all hook libraries get.
    pub host: Host,
    /// Where a call comes from. 0: it is written.
    pub site: unsafe extern "C" fn(*const Call, *mut CallSite) -> c_int,
    /// A rule acts on the call: its number, and its text of so many bytes, which the trace shows.
    /// Without a text it is one that acted before.
    pub rule: unsafe extern "C" fn(*const Call, u32, *const c_char, usize),
}

impl OwnHost {
    /// The whole one, if cutap gave it.
    ///
    /// # Safety
    /// The host lives as long as the process, and is as large as it says.
    pub unsafe fn of(host: &Host) -> Option<&'static OwnHost> {
        let is_whole = host.size as usize >= size_of::<OwnHost>();
        // SAFETY: the caller's promise: it is as large.
        is_whole.then(|| unsafe { &*core::ptr::from_ref(host).cast::<OwnHost>() })
    }
}
