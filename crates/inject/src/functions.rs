//! What is remembered of each function that is called: which armed pattern has its calls, and its class. Several
//! patterns may fit a function, and each of its rules must see a call once.
//!
//! A table of atomics. What does not fit is looked up at each call.

use crate::table::File;
use core::sync::atomic::{AtomicU64, Ordering::*};
use cutap_hook::contract::Function;
use cutap_wire::injected::{Armed, text};

const PLACES: usize = 8192;
/// A class that is known.
const KNOWN: u64 = 1 << 63;

struct Place {
    /// Address of the function shifted by three, and the number of the pattern in the lowest six bits; 0: free.
    owner: AtomicU64,
    class: AtomicU64,
}

static PLACES_OF: [Place; PLACES] = [const { Place { owner: AtomicU64::new(0), class: AtomicU64::new(0) } }; PLACES];

/// The class of a function, if its calls belong to this pattern.
pub fn class_of(file: &File, function: &Function, armed: &Armed) -> Option<u64> {
    let first = file.armed().as_ptr();
    // SAFETY: a pattern of the mapped file, which the request named.
    let number = unsafe { core::ptr::from_ref(armed).offset_from(first) } as u64 & 63;
    let key = (core::ptr::from_ref(function).expose_provenance() as u64 >> 3) << 6;
    let mut at = (key >> 6).wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize >> 3;
    for _ in 0..16 {
        let place = PLACES_OF.get(at % PLACES)?;
        let owner = match place.owner.load(Acquire) {
            0 => match place.owner.compare_exchange(0, key | number, AcqRel, Acquire) {
                Ok(_) => key | number,
                Err(other) => other,
            },
            owner => owner,
        };
        if owner & !63 == key {
            return (owner & 63 == number).then(|| {
                let class = place.class.load(Relaxed);
                if class != 0 {
                    return class & !KNOWN;
                }
                let class = class_by_name(file, function);
                place.class.store(class | KNOWN, Relaxed);
                class
            });
        }
        at = at.wrapping_add(1);
    }
    // No place: the first pattern that fits has it.
    let name = name(function);
    let fits = |armed: &Armed| armed.layers & function.layer != 0 && is_meant(text(&armed.name), name);
    (file.armed().iter().position(fits) == Some(number as usize)).then(|| class_by_name(file, function))
}

fn class_by_name(file: &File, function: &Function) -> u64 {
    file.class(name(function))
}

/// Its exported name.
pub fn name(function: &Function) -> &'static [u8] {
    if function.name.is_null() {
        return &[];
    }
    // SAFETY: cutap's string, which stays.
    unsafe { core::ffi::CStr::from_ptr(function.name).to_bytes() }
}

/// Whether a pattern is of a function: as a pattern, or because the function is a version of a plain name.
pub fn is_meant(pattern: &[u8], name: &[u8]) -> bool {
    use cutap_wire::hooks::{is_plain, is_version};
    cutap_calls::glob(pattern, name) || is_plain(pattern) && is_version(pattern, name)
}
