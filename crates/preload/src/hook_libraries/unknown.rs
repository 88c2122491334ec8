//! A hook has read an argument by a name that its function does not have, and got 0. Each name is reported once for
//! each function, with the names that there are. Whoever asks for a name's number (`index`) is not reported: that is
//! how a hook finds out.

use super::chain::Chain;
use super::functions::Info;
use super::library;
use super::parameters::{parameters, text};
use crate::process::path::Path;
use crate::process::{fork, names, page};
use core::ffi::c_char;
use core::sync::atomic::{AtomicU64, Ordering::*};
use cutap_hook::contract::Call;
use cutap_wire::diagnostic;

/// Names that are reported; further ones are only counted.
const REPORTED: usize = 64;
/// A longer name is cut off.
const LONGEST: usize = 128;

/// What was reported, as hashes of function and name; 0: nothing.
static KNOWN: [AtomicU64; REPORTED] = [const { AtomicU64::new(0) }; REPORTED];

/// The host's function.
pub(super) unsafe extern "C" fn unknown(call: *const Call, name: *const c_char, length: usize) {
    // SAFETY: the hook's own call.
    let chain = unsafe { &*call.cast::<Chain>() };
    let Some(info) = chain.info.filter(|_| !name.is_null()) else { return };
    // SAFETY: so many bytes of the hook's.
    let name = unsafe { core::slice::from_raw_parts(name.cast::<u8>(), length.min(LONGEST)) };
    // The hook may have forked, and what is counted is of one process.
    fork::check();
    let new = is_new(info, name);
    if new != Some(false) {
        page::count(diagnostic::HOOK_NO_PARAMETER, 1);
    }
    if new == Some(true) {
        report(chain.library(), info, name);
    }
}

/// Whether it was not reported before; none without room for another.
fn is_new(info: &Info, name: &[u8]) -> Option<bool> {
    let begin = 0xcbf2_9ce4_8422_2325 ^ core::ptr::from_ref(info) as u64;
    let hash = name.iter().fold(begin, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)).max(1);
    for place in &KNOWN {
        match place.compare_exchange(0, hash, AcqRel, Acquire) {
            Ok(_) => return Some(true),
            Err(known) if known == hash => return Some(false),
            Err(_) => {}
        }
    }
    None
}

#[cold]
fn report(of: Option<u8>, info: &Info, name: &[u8]) {
    let (mut message, mut names) = (Path::empty(), Path::empty());
    message.push(of.and_then(library::file_name).unwrap_or(b"?")).push(b": ").push(info.name);
    message.push(b" has no parameter ").push(name);
    let all = parameters(&info.function);
    for (n, p) in all.iter().enumerate() {
        // SAFETY: a string of ours.
        names.push(if n == 0 { b"it has " } else { b", " }).push(unsafe { text(p.name) });
    }
    if all.is_empty() {
        names.push(b"cutap knows none of its parameters; read them by cutap_word");
    }
    // They end with a zero, as paths do.
    let [message, names] = [message.bytes(), names.bytes()].map(|text| text.strip_suffix(b"\0").unwrap_or(text));
    names::gap(diagnostic::HOOK_NO_PARAMETER, message, names);
}
