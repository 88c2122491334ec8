//! The layer `syscall`: bindings of watched libraries, and of further parts of the driver, to the functions of libc by
//! which they reach the kernel. Each of them is a slot of a load of its own, which has this layer: libc itself is not
//! watched, and the program's own calls are left alone.

use crate::loader::objects::Object;
use crate::loader::{announce, live};
use crate::process::armed;
use crate::slots::create;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use cutap_calls::{Layer, is_part, kernel};

/// What makes the number of this load another than that of libc.
const LOAD: u64 = 0x6b65_726e_656c;
/// The numbers of such loads: libc's, and those of libraries in front of it that have functions of these names.
static LOADS: [AtomicU32; 4] = [const { AtomicU32::new(0) }; 4];

/// Whether the layer was asked for, or `submit`, which follows the same calls.
pub fn is_on() -> bool {
    armed::holds_layer(Layer::SYSCALL.number()) || crate::slots::extension::is_extended()
}

/// Whether an object's calls of these functions are wanted.
pub fn is_user(o: &Object) -> bool {
    (o.layer != 0 || is_part(o.name())) && !o.ours && !o.profiler
}

/// Whether a name is one of these functions.
pub fn is_name(name: &[u8]) -> bool {
    kernel::is_function(name)
}

/// Whether a load is one of these.
fn is_load(id: u32) -> bool {
    id != 0 && LOADS.iter().any(|l| l.load(Relaxed) == id)
}

/// The slot of the function `name` at `address`, which `owner` defines. Only under the loader's lock.
///
/// # Safety
/// The owner is mapped.
pub unsafe fn slot(address: usize, owner: &Object, name: &[u8], how: u8) -> Option<usize> {
    let watched = owner.layer != 0 || owner.ours;
    // SAFETY: the caller's promise.
    if watched || !is_name(name) || !unsafe { owner.has_function(name, address) } {
        return None;
    }
    let own = owner.as_load(Layer::SYSCALL.number(), live::load_id_as(owner, LOAD));
    if !is_load(own.id) {
        let free = |l: &&AtomicU32| l.compare_exchange(0, own.id, Relaxed, Relaxed).is_ok();
        LOADS.iter().find(free)?;
        announce::tell_driver();
    }
    create::for_function(address, &own, name, how)
}

/// The same of an address that was looked up.
pub fn slot_at(address: usize, name: &[u8], how: u8) -> Option<usize> {
    // SAFETY: under the loader's lock.
    live::at(address, |owner| unsafe { slot(address, owner, name, how) }).flatten()
}
