//! What the library behind `--inject` gets beside the contract: where a call comes from, and a place in the record for
//! the rule that acts on it.

use super::callback;
use super::chain::{Chain, Home};
use super::host::HOST;
use crate::loader::objects;
use crate::process::names;
use crate::runtime::instances;
use crate::sys;
use core::ffi::{c_char, c_int};
use core::sync::atomic::{AtomicU32, Ordering::*};
use cutap_hook::contract::{Call, DRIVER, Host, NOT_SUPPORTED, OK};
use cutap_hook::own::{CallSite, MODULE, OwnHost};
use cutap_wire::injected::COUNTERS;
use cutap_wire::names::{Name, kind};
use cutap_wire::record::note;

pub static OWN_HOST: OwnHost = OwnHost { host: Host { size: size_of::<OwnHost>() as u32, ..HOST }, site, rule };

/// The module without a name is the program.
const PROGRAM: &[u8] = b"main";

unsafe extern "C" fn site(call: *const Call, to: *mut CallSite) -> c_int {
    // SAFETY: the hook's own call.
    let chain = unsafe { &*call.cast::<Chain>() };
    let caller = match chain.home {
        // SAFETY: such a chain is a part of the reported call at this place.
        Home::Parameters(..) if chain.caller == 0 => unsafe { callback::caller(chain.at) },
        _ => chain.caller,
    };
    // SAFETY: this thread's own entry.
    let is_in_runtime = chain.info.is_some_and(|info| info.function.layer == DRIVER)
        && (unsafe { (*chain.thread).depth } > 0 || instances::is_around(caller));
    let caller_object = objects::with(|all| {
        let object = all.objects().iter().find(|object| object.has_code(caller))?;
        // Without a SONAME the name is the file's, as the loader has it: that of the program is empty.
        let name = if object.name().is_empty() { PROGRAM } else { object.name() };
        let mut module = [0; MODULE];
        module.iter_mut().zip(name).for_each(|(to, from)| *to = *from);
        Some((module, caller.wrapping_sub(object.base) as u64, object.layer != 0))
    });
    let Some((module, offset, is_toolkit)) = caller_object.flatten() else { return NOT_SUPPORTED };
    let is_nested = u32::from(is_toolkit || is_in_runtime);
    // SAFETY: the library's place.
    unsafe { to.write(CallSite { module, offset, is_nested, reserved: 0 }) };
    OK
}

/// Rules whose text is in the names of this process.
static ANNOUNCED: [AtomicU32; COUNTERS / 32] = [const { AtomicU32::new(0) }; COUNTERS / 32];

/// A child writes its own names.
pub fn forked() {
    ANNOUNCED.iter().for_each(|word| word.store(0, Relaxed));
}

unsafe extern "C" fn rule(call: *const Call, number: u32, text: *const c_char, bytes: usize) {
    // SAFETY: the hook's own call.
    let chain = unsafe { &*call.cast::<Chain>() };
    if chain.number == 0 {
        return;
    }
    let Some(word) = ANNOUNCED.get(number as usize / 32) else { return };
    let bit = 1 << (number % 32);
    if word.load(Acquire) & bit == 0 {
        // A fault whose rule acted where nothing was recorded.
        if bytes == 0 {
            return;
        }
        // SAFETY: the library's text, of that many bytes at least.
        let text = unsafe { sys::text(text.cast(), bytes) };
        // Two threads may write the same name; a name is there before a record refers to it.
        names::write(&Name { kind: kind::RULE, ticks: 0, a: number.into(), b: 0, c: 0, s: text, t: &[] });
        word.fetch_or(bit, AcqRel);
    }
    chain.write_note(note::HOOK_RULE, number.into());
}
