//! What changed in a struct between two releases.

use cutap_rm::{Field, Record};
use std::collections::BTreeMap;

/// A field, so that two can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    offset: usize,
    size: usize,
    bits: Option<(u32, u32)>,
    ty: &'static str,
}

fn shapes(record: Record) -> BTreeMap<&'static str, Shape> {
    let shape = |f: Field| Shape { offset: f.offset(), size: f.size(), bits: f.bits(), ty: f.type_name() };
    record.fields().map(|field| (field.name(), shape(field))).collect()
}

/// The changes of a struct, each as a few words; empty where there is none.
#[must_use]
pub fn changes(old: Record, new: Record) -> Vec<String> {
    let (before, after) = (shapes(old), shapes(new));
    let mut all = Vec::new();
    if old.size() != new.size() {
        all.push(format!("{} -> {} bytes", old.size(), new.size()));
    }
    for (name, shape) in &after {
        match before.get(name) {
            None => all.push(format!("{name} added at {} ({}, {} bytes)", shape.offset, shape.ty, shape.size)),
            Some(old) if old == shape => {}
            Some(old) => {
                if old.offset != shape.offset || old.bits.map(|b| b.0) != shape.bits.map(|b| b.0) {
                    all.push(format!("{name} moved {} -> {}", place(*old), place(*shape)));
                }
                if old.size != shape.size {
                    all.push(format!("{name} resized {} -> {} bytes", old.size, shape.size));
                } else if old.bits.map(|b| b.1) != shape.bits.map(|b| b.1) {
                    all.push(format!("{name} resized {} -> {} bits", width(*old), width(*shape)));
                }
            }
        }
    }
    for (name, shape) in before.iter().filter(|(name, _)| !after.contains_key(*name)) {
        all.push(format!("{name} removed at {}", place(*shape)));
    }
    all
}

fn place(shape: Shape) -> String {
    match shape.bits {
        Some((bit, _)) => format!("{}:{bit}", shape.offset),
        None => shape.offset.to_string(),
    }
}

fn width(shape: Shape) -> u64 {
    shape.bits.map_or(shape.size as u64 * 8, |(_, bits)| bits.into())
}
