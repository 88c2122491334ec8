//! Names of what is loaded, told to the names stream: objects, each once, and the kernel driver's version.

use super::object_names;
use super::objects::Object;
use crate::process::{folder, names, page};
use crate::sys;
use cutap_wire::names::{Name, kind};

/// Tells an object's name to the stream, once. Only under the loader's lock: its path is the loader's.
pub fn announce(o: &Object) {
    if o.id != 0 && folder::ensure_folder() {
        object_names::write(o);
    }
}

/// The same, if this process has anything to say at all.
pub fn announce_if_made(o: &Object) {
    if page::is_made() {
        object_names::write(o);
    }
}

/// Tells the version of the kernel driver, once for each process folder; without one nothing is told.
pub fn tell_driver() {
    let mut text = [0u8; 32];
    let read = |file: &sys::File| file.read(&mut text);
    let len = sys::with(b"/sys/module/nvidia/version\0", &[sys::Open::Read], read).unwrap_or(0).min(32);
    let text = text.get(..len).unwrap_or(&[]).trim_ascii();
    if !text.is_empty() {
        names::write(&Name { kind: kind::DRIVER, ticks: 0, a: 0, b: 0, c: 0, s: text, t: &[] });
    }
}
