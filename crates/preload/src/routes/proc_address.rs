//! cuGetProcAddress with four arguments and with five: since CUDA 11.3 the only symbol that a runtime
//! looks up. The call runs as asked; only the pointer that it wrote is exchanged for its slot.

use crate::loader::elf::is_function;
use crate::loader::live;
use crate::loader::objects::Object;
use crate::slots::{self, thunks_x86_64::Frame};
use crate::thread::record;
use crate::{start, sys};
use cutap_wire::names::{layer, route};
use cutap_wire::{count, record::lookup};

/// After the call.
pub fn after(frame: &mut Frame) {
    let [symbol, pointer, version, flags, status, _] = frame.args;
    let [code, _] = frame.result;
    let v2 = slots::name_of(frame.slot) == b"cuGetProcAddress_v2";
    // SAFETY: the driver read the string and wrote the pointer, or said that it did not.
    let name = unsafe { sys::text(symbol as *const u8, 1024) };
    let (mut found, mut given) = (0, 0);
    if code as u32 == 0 && pointer != 0 && !name.is_empty() {
        // SAFETY: as above.
        let place = unsafe { &mut *(pointer as *mut usize) };
        found = *place;
        given = exchange(found, name, frame.caller);
        if given != found {
            *place = given;
        }
    }
    if start::lookups() {
        let which = if v2 { lookup::GET_PROC_ADDRESS_V2 } else { lookup::GET_PROC_ADDRESS };
        let status = if v2 && status != 0 && code as u32 == 0 {
            // SAFETY: the driver wrote it.
            u64::from(unsafe { (status as *const u32).read() })
        } else {
            0
        };
        let given = if given == 0 { found } else { given };
        record::lookup(
            which,
            frame.caller,
            version as u32 as usize,
            flags,
            given,
            code & 0xffff_ffff | status << 32,
            name,
        );
    }
}

fn exchange(found: usize, name: &[u8], caller: usize) -> usize {
    if found == 0 || slots::is_thunk(found) {
        return found;
    }
    if live::at(caller, |o| o.layer) == Some(layer::DRIVER) {
        return found;
    }
    let slot = live::at(found, |owner| {
        // SAFETY: under the loader's lock.
        if owner.layer == 0 || !owner.has_code(found) { found } else { unsafe { slot_of(owner, name, found) } }
    });
    slot.unwrap_or(found)
}

/// # Safety
/// The owner is mapped.
unsafe fn slot_of(owner: &Object, name: &[u8], found: usize) -> usize {
    let slot = |exact: &[u8]| slots::for_function(found, owner, exact, route::GET_PROC_ADDRESS).unwrap_or(found);
    let mut best: &[u8] = &[];
    // The exported name of that very address, for the base name stands for several versions. Of
    // aliases the one that begins with what was asked for.
    let t = &owner.tables;
    // SAFETY: the caller's promise.
    unsafe {
        if t.find(name, |s, _| is_function(s, owner.base, found)) {
            return slot(name);
        }
        for i in 1..t.symbol_count() {
            let s = &*t.symbols.add(i);
            if s.section != 0 && owner.base.wrapping_add(s.value) == found && is_function(s, owner.base, found) {
                let exact = t.string(s.name as usize);
                if exact.starts_with(name) {
                    return slot(exact);
                }
                best = exact;
            }
        }
    }
    if best.is_empty() {
        start::count(count::UNEXPORTED, 1);
        best = name;
    }
    slot(best)
}
