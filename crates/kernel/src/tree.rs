//! The tree of objects as text: processes, clients, objects below their parents.

use crate::objects::{Object, Objects};
use std::fmt::Write;

/// The lines. Objects that were freed are in it, too; their lines end with `freed`.
#[must_use]
pub fn text(objects: &Objects) -> String {
    let mut out = String::new();
    let mut pids: Vec<u32> = objects.all.iter().map(|o| o.key.pid).collect();
    pids.sort_unstable();
    pids.dedup();
    for pid in &pids {
        if *pid != 0 {
            let _ = writeln!(out, "process {pid}");
        }
        let is_root = |o: &&Object| o.key.pid == *pid && (o.key.client == o.key.handle || parent(objects, o).is_none());
        for root in objects.all.iter().filter(is_root) {
            lines(objects, root, 1, &mut out);
        }
    }
    if out.is_empty() {
        out.push_str("no object was allocated\n");
    }
    out
}

/// The object above one, at the time when that was made.
fn parent<'a>(objects: &'a Objects, of: &Object) -> Option<&'a Object> {
    let is = |o: &&Object| {
        let lives = o.life.0 < of.life.0 && o.life.1.is_none_or(|end| end >= of.life.0);
        o.key.pid == of.key.pid && o.key.client == of.key.client && o.key.handle == of.parent && lives
    };
    objects.all.iter().rfind(is).filter(|_| of.key.client != of.key.handle)
}

fn lines(objects: &Objects, object: &Object, depth: usize, out: &mut String) {
    let _ = write!(out, "{:indent$}{:#010x} ", "", object.key.handle, indent = depth * 2);
    match object.name {
        "" => drop(write!(out, "class {:#06x}", object.class)),
        name => out.push_str(name),
    }
    for (name, value) in &object.facts {
        let _ = match *name {
            "engineType" | "deviceId" | "subDeviceId" | "gpFifoEntries" | "bBar1Mapping" => {
                write!(out, " {name}={value}")
            }
            _ => write!(out, " {name}={value:#x}"),
        };
    }
    if let Some(size) = object.size {
        let _ = write!(out, ", {}", bytes(size));
    }
    for (address, length) in &object.gpu {
        let _ = write!(out, ", GPU {address:#x} ({})", bytes(*length));
    }
    for (address, length) in &object.host {
        let _ = write!(out, ", host {address:#x} ({})", bytes(*length));
    }
    if let Some(made_in) = &object.made_in {
        let _ = write!(out, "  [{}]", cutap_printable::printable(made_in));
    }
    if object.life.1.is_some() {
        out.push_str("  freed");
    }
    out.push('\n');
    let is_child = |o: &&Object| parent(objects, o).is_some_and(|p| std::ptr::eq(p, object));
    objects.all.iter().filter(is_child).for_each(|child| lines(objects, child, depth + 1, out));
}

/// `64 KiB`.
pub(crate) fn bytes(n: u64) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.iter().find(|(shift, _)| n >= 1 << shift && n & ((1 << shift) - 1) == 0) {
        Some((shift, unit)) => format!("{} {unit}", n >> shift),
        None => format!("{n} bytes"),
    }
}
