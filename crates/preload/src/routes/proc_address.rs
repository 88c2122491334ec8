//! cuGetProcAddress with four arguments and with five: since CUDA 11.3 the only symbol that a runtime
//! looks up. The call runs as asked; only the pointer that it wrote is exchanged for its slot.

use crate::loader::elf::is_function;
use crate::loader::live;
use crate::loader::objects::Object;
use crate::process::copy::{PAGE, checked, copy_two_pieces, program_words};
use crate::process::{page, switch};
use crate::ring::record;
use crate::slots::frame::Frame;
use crate::slots::{create, table};
use cutap_calls::{Layer, Role, function_with};
use cutap_wire::diagnostic;
use cutap_wire::names::route;
use cutap_wire::record::lookup;

/// The form with a fifth parameter, the status.
const WITH_STATUS: &[u8] = function_with(Role::ProcAddressStatus).as_bytes();

/// Bytes that are read of a name, and those that the names of most functions have.
const NAME: usize = 1024;
const SHORT: usize = 120;

/// After the call.
pub fn after(frame: &mut Frame) {
    let [symbol, pointer, version, flags, status, _] = frame.args;
    let [code, _] = frame.result;
    let v2 = table::name_of(frame.slot) == WITH_STATUS;
    // A driver that refused the call may have read and written nothing, and so has one whose call a hook answered.
    let succeeded = code as u32 == 0;
    let mut text = [0u8; NAME];
    let (mut resolved, mut exchanged) = (0, 0);
    let name = if succeeded || switch::lookups() {
        let (address, name) = written(pointer as usize, symbol as usize, &mut text);
        resolved = address.filter(|_| succeeded && !name.is_empty()).unwrap_or(0);
        name
    } else {
        &[]
    };
    if resolved != 0 {
        exchanged = exchange(resolved, name, frame.caller);
        if exchanged != resolved {
            // SAFETY: the driver wrote it.
            unsafe { (pointer as *mut usize).write(exchanged) };
        }
    }
    if switch::lookups() {
        let which = if v2 { lookup::GET_PROC_ADDRESS_V2 } else { lookup::GET_PROC_ADDRESS };
        let status = if v2 && status != 0 && succeeded {
            let mut word = 0u32;
            // SAFETY: a word of ours.
            unsafe { checked(status as usize, (&raw mut word).cast(), 4) };
            u64::from(word)
        } else {
            0
        };
        let exchanged = if exchanged == 0 { resolved } else { exchanged };
        record::lookup(
            which,
            frame.caller,
            version as u32 as usize,
            flags,
            &table::answer(exchanged),
            code & 0xffff_ffff | status << 32,
            name,
        );
    }
}

/// The address at `pointer`, and the name at `symbol`. A runtime makes the call 600 times when it starts, so the kernel
/// is asked once where the name's page holds all of the name.
fn written(pointer: usize, symbol: usize, text: &mut [u8; NAME]) -> (Option<usize>, &[u8]) {
    let mut both = [0u8; 8 + SHORT];
    let (to, room) = (both.as_mut_ptr(), SHORT.min(PAGE - symbol % PAGE));
    // SAFETY: buffers of ours.
    let read = unsafe { copy_two_pieces((pointer, 8), (symbol, room), to) };
    let (address, rest) = both.split_at(8);
    let name = rest.get(..read.saturating_sub(8)).unwrap_or(&[]);
    if let Some(end) = name.iter().position(|&c| c == 0) {
        text.iter_mut().zip(name).for_each(|(to, from)| *to = *from);
        let address = address.first_chunk().map(|bytes| usize::from_le_bytes(*bytes));
        return (address, text.get(..end).unwrap_or(&[]));
    }
    // SAFETY: a buffer of ours.
    let read = unsafe { checked(symbol, text.as_mut_ptr(), NAME) };
    let name = text.get(..read).and_then(|read| read.split(|&c| c == 0).next()).unwrap_or(&[]);
    (program_words(pointer).map(|[address]| address as usize), name)
}

fn exchange(found: usize, name: &[u8], caller: usize) -> usize {
    if found == 0 || table::is_thunk(found) {
        return found;
    }
    let slot = live::at_with_layer_of(found, caller, |owner, layer| {
        if layer == Some(Layer::DRIVER.number()) || owner.layer == 0 || !owner.has_code(found) {
            return found;
        }
        // SAFETY: under the loader's lock.
        unsafe { slot_of(owner, name, found) }
    });
    slot.unwrap_or(found)
}

/// # Safety
/// The owner is mapped.
unsafe fn slot_of(owner: &Object, name: &[u8], found: usize) -> usize {
    let slot = |exact: &[u8]| create::for_function(found, owner, exact, route::GET_PROC_ADDRESS).unwrap_or(found);
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
        page::count(diagnostic::UNEXPORTED, 1);
        best = name;
    }
    slot(best)
}
