//! Functions that loaded objects export, found by name.

use crate::loader::elf::is_function;
use crate::loader::live;
use core::ffi::c_void;

/// A function of a watched library that matches.
pub(super) fn find(library: Option<&[u8]>, object: Option<u32>, name: &[u8]) -> *mut c_void {
    let at = live::each(
        |_| true,
        |o| {
            let is_candidate = match object {
                Some(id) => o.id == id,
                None => o.layer != 0 && library.is_none_or(|l| cutap_calls::glob(l, o.name())),
            };
            let mut exported_at = None;
            if is_candidate {
                // SAFETY: under the loader's lock.
                unsafe {
                    o.tables.find(name, |s, _| {
                        let address = o.base.wrapping_add(s.value);
                        exported_at = is_function(s, o.base, address).then_some(address);
                        exported_at.is_some()
                    });
                }
            }
            exported_at
        },
    );
    core::ptr::with_exposed_provenance_mut(at.unwrap_or(0))
}

/// The addresses of functions that an object exports, 0 of those that it does not.
pub(super) fn all_exported<const N: usize>(object: u32, names: [&[u8]; N]) -> [usize; N] {
    let mut addresses = [0; N];
    live::each(
        |_| true,
        |o| {
            for (to, name) in addresses.iter_mut().zip(names).filter(|_| o.id == object) {
                // SAFETY: under the loader's lock.
                unsafe {
                    o.tables.find(name, |s, _| {
                        let address = o.base.wrapping_add(s.value);
                        let is = is_function(s, o.base, address);
                        *to = if is { address } else { *to };
                        is
                    });
                }
            }
            (o.id == object).then_some(())
        },
    );
    addresses
}

/// The address of a function that an object exports, null if it does not.
pub(super) fn exported(object: u32, name: &[u8]) -> *mut c_void {
    find(None, Some(object), name)
}
