//! The tree of objects as text: processes, clients, objects below their parents.

use crate::objects::{Key, Object, Objects};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

/// Deeper levels are not indented further.
const DEEPEST: usize = 64;

/// The lines. Objects that were freed are in it, too; their lines end with `freed`.
#[must_use]
pub fn text(objects: &Objects) -> String {
    let (mut out, mut roots) = (String::new(), BTreeMap::<u32, Vec<usize>>::new());
    let mut children = vec![Vec::new(); objects.all.len()];
    // The objects of each handle that are not known to be gone, in the order in which they were made.
    let mut by_handle = HashMap::<Key, Vec<usize>>::new();
    for (at, object) in objects.all.iter().enumerate() {
        let key = object.key;
        let above =
            by_handle.get_mut(&Key { handle: object.parent, ..key }).and_then(|all| living(objects, all, object));
        match above.filter(|_| key.client != key.handle).and_then(|above| children.get_mut(above)) {
            Some(children) => children.push(at),
            None => roots.entry(key.pid).or_default().push(at),
        }
        by_handle.entry(key).or_default().push(at);
    }
    for (pid, roots) in roots {
        if pid != 0 {
            let _ = writeln!(out, "process {pid}");
        }
        let mut next: Vec<(usize, usize)> = roots.into_iter().rev().map(|root| (root, 1)).collect();
        while let Some((at, depth)) = next.pop() {
            objects.all.get(at).into_iter().for_each(|object| line(object, depth, &mut out));
            next.extend(children.get(at).into_iter().flatten().rev().map(|child| (*child, depth + 1)));
        }
    }
    if out.is_empty() {
        out.push_str("no object was allocated\n");
    }
    out
}

/// The newest of these objects that was alive when another was made. Those that ended before are taken out.
fn living(objects: &Objects, all: &mut Vec<usize>, then: &Object) -> Option<usize> {
    loop {
        let newest = *all.last()?;
        match objects.all.get(newest).and_then(|object| object.life.1) {
            Some(end) if end < then.life.0 => drop(all.pop()),
            _ => return Some(newest),
        }
    }
}

fn line(object: &Object, depth: usize, out: &mut String) {
    let _ = write!(out, "{:indent$}{:#010x} ", "", object.key.handle, indent = depth.min(DEEPEST) * 2);
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
}

/// `64 KiB`.
pub(crate) fn bytes(n: u64) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.iter().find(|(shift, _)| n >= 1 << shift && n & ((1 << shift) - 1) == 0) {
        Some((shift, unit)) => format!("{} {unit}", n >> shift),
        None => format!("{n} bytes"),
    }
}
