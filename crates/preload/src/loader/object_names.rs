//! Names of loaded objects in the names stream, each once. Only in a process whose folder is made.

use super::objects::Object;
use super::{live, place};
use crate::process::{names_file, page};
use crate::sys;
use cutap_wire::names::{Name, kind};

/// Tells an object's name to the stream, once. Only under the loader's lock: its path is the loader's.
pub(super) fn write(o: &Object) {
    if o.id == 0 || !live::announce(o.id) {
        return;
    }
    // SAFETY: the object is loaded.
    let path = unsafe { sys::text(o.path, 4096) };
    let (name, path) = if path.is_empty() { (page::file_name(), page::exe()) } else { (o.name(), path) };
    let c = u64::from(o.layer) | ((o.span.1 - o.span.0) as u64) << 8;
    place::with_path(o.span.0, path, |path| {
        names_file::write(&Name {
            kind: kind::OBJECT,
            ticks: 0,
            a: o.id.into(),
            b: o.span.0 as u64,
            c,
            s: name,
            t: path,
        });
    });
}

/// Tells the names of all that is loaded.
pub fn write_all() {
    live::each(
        |_| true,
        |o| {
            write(o);
            None::<()>
        },
    );
}
