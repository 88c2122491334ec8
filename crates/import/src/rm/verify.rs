//! Compares every size and offset of a release with the layouts that clang prints.

use super::release::Record;
use super::types::PROBE;
use anyhow::{Result, bail};
use std::collections::BTreeMap;

/// One record as clang prints it inside a probe: size, and each field with its nested ones: byte offset, first bit,
/// name.
#[derive(Default)]
struct Printed {
    size: u64,
    fields: Vec<(u64, u64, String)>,
}

/// How many offsets were compared. A type without a name is compared inside those that have it.
pub(super) fn check(records: &BTreeMap<String, Record>, text: &str) -> Result<usize> {
    let printed = parse(text);
    let mut compared = 0;
    let mut wrong = Vec::new();
    for (name, record) in records.iter().filter(|(n, _)| !n.contains('.')) {
        let Some(theirs) = printed.get(name) else {
            wrong.push(format!("clang printed no layout of {name}"));
            continue;
        };
        let mut ours = Vec::new();
        flat(records, record, 0, &mut ours);
        compared += ours.len();
        if record.size != theirs.size || ours != theirs.fields {
            let differs = ours.iter().zip(&theirs.fields).find(|(a, b)| a != b);
            wrong.push(format!("{name}: size {} and {}, first difference {differs:?}", record.size, theirs.size));
        }
    }
    match wrong.first() {
        Some(first) => bail!("{} layouts are not clang's; {first}", wrong.len()),
        None => Ok(compared),
    }
}

fn flat(records: &BTreeMap<String, Record>, record: &Record, from: u64, out: &mut Vec<(u64, u64, String)>) {
    for field in &record.fields {
        let mut words = field.splitn(3, ' ');
        let offset: u64 = words.next().and_then(|w| w.parse().ok()).unwrap_or(u64::MAX);
        let (ty, name) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let (plain, bit) = match name.split_once(':') {
            Some((plain, bits)) => (plain, bits.split(':').next().and_then(|b| b.parse().ok()).unwrap_or(0)),
            None => (name.split('[').next().unwrap_or(name), 0),
        };
        let unnamed = plain.strip_prefix('_').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
        let label = if unnamed { "" } else { plain };
        // Clang counts a bit field from its first byte.
        out.push((from + offset + bit / 8, bit % 8, label.to_owned()));
        if let Some(inner) = records.get(ty).filter(|_| !name.contains('[')) {
            flat(records, inner, from + offset, out);
        }
    }
}

fn parse(text: &str) -> BTreeMap<String, Printed> {
    let mut all = BTreeMap::new();
    for block in text.split("*** Dumping AST Record Layout").skip(1) {
        let mut printed = Printed::default();
        let mut name = None;
        for line in block.lines() {
            let Some((at, what)) = line.split_once('|') else { continue };
            let entry = what.trim();
            if let Some(rest) = entry.strip_prefix("[sizeof=") {
                printed.size = rest.split(',').next().and_then(|n| n.parse().ok()).unwrap_or(0);
                break;
            }
            if name.is_none() {
                let Some(probed) = entry.strip_prefix("struct ").and_then(|w| w.strip_prefix(PROBE)) else { break };
                name = Some(probed.to_owned());
                continue;
            }
            let at = at.trim();
            let (offset, bits) = at.split_once(':').unwrap_or((at, "0"));
            let bit = bits.split('-').next().and_then(|b| b.parse().ok()).unwrap_or(0);
            let field = if entry.ends_with(')') { "" } else { entry.rsplit(' ').next().unwrap_or("") };
            printed.fields.push((offset.parse().unwrap_or(u64::MAX), bit, field.to_owned()));
        }
        if let Some(name) = name.filter(|_| !printed.fields.is_empty()) {
            printed.fields.remove(0);
            all.insert(name, printed);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "\n*** Dumping AST Record Layout\n         0 | struct cutap_probe_A\n         0 |   struct A probed\n         0 |   NvU32[2] x\n     8:4-7 |   NvU32 y\n        16 |   \
        union A::(anonymous at a.h:1:1) \n        16 |     NvU8 z\n           | [sizeof=24, align=8]\n";

    #[test]
    fn clang_agrees_or_not() {
        let record = |fields: &[&str], size| Record {
            also: Vec::new(),
            union: false,
            size,
            fields: fields.iter().map(|f| (*f).to_owned()).collect(),
        };
        let mut records = BTreeMap::new();
        records.insert("A".to_owned(), record(&["0 NvU32 x[2]", "8 NvU32 y:4:4", "16 A._1 _1"], 24));
        records.insert("A._1".to_owned(), record(&["0 NvU8 z"], 1));
        assert_eq!(check(&records, PRINTED).unwrap(), 4);
        records.insert("A".to_owned(), record(&["0 NvU32 x[2]", "8 NvU32 y:4:4", "24 A._1 _1"], 24));
        assert!(check(&records, PRINTED).unwrap_err().to_string().contains("1 layouts are not clang's; A"));
    }
}
