//! Names of what is loaded, told to the names stream: objects, each once, and the kernel driver's version.

use super::{names, page};
use crate::loader::objects::Object;
use crate::loader::{live, place};
use crate::sys;
use cutap_wire::names::{Name, kind};

/// Tells an object's name to the stream, once. Only under the loader's lock: its path is the loader's.
pub fn announce(o: &Object) {
    if o.id == 0 || !live::announce(o.id) {
        return;
    }
    // SAFETY: the object is loaded.
    let path = unsafe { sys::text(o.path, 4096) };
    let (name, path) = if path.is_empty() { (page::file_name(), page::exe()) } else { (o.name(), path) };
    let c = u64::from(o.layer) | ((o.span.1 - o.span.0) as u64) << 8;
    place::with_path(o.span.0, path, |path| {
        names::write(&Name { kind: kind::OBJECT, ticks: 0, a: o.id.into(), b: o.span.0 as u64, c, s: name, t: path });
    });
}

/// The same, if this process has anything to say at all.
pub fn announce_if_made(o: &Object) {
    if page::is_made() {
        announce(o);
    }
}

/// Tells the names of all that is loaded.
pub fn announce_objects() {
    live::each(
        |_| true,
        |o| {
            announce(o);
            None::<()>
        },
    );
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
