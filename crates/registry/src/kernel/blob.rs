//! Packs the tables: sections of records of fixed size, all numbers little endian, texts by their place. The reader is
//! `crates/rm/src/blob.rs`, which has the layout too.

use super::rows::Tables;
use std::collections::BTreeMap;

/// What the file begins with; the last byte is the layout's version.
const MAGIC: [u8; 8] = *b"CUTAPRM\x01";
const SECTIONS: usize = 11;

#[derive(Default)]
struct Texts {
    bytes: Vec<u8>,
    offsets: BTreeMap<String, u32>,
}

impl Texts {
    /// Where a text is: its length in two bytes, then the text.
    fn put(&mut self, text: &str) -> u32 {
        if let Some(at) = self.offsets.get(text) {
            return *at;
        }
        let at = u32::try_from(self.bytes.len()).unwrap_or(0);
        let length = u16::try_from(text.len()).unwrap_or(0);
        self.bytes.extend(length.to_le_bytes());
        self.bytes.extend(text.as_bytes().get(..usize::from(length)).unwrap_or_default());
        self.offsets.insert(text.to_owned(), at);
        at
    }
}

fn words(out: &mut Vec<u8>, words: &[u32]) {
    words.iter().for_each(|w| out.extend(w.to_le_bytes()));
}

fn length<T>(list: &[T]) -> u32 {
    u32::try_from(list.len()).unwrap_or(0)
}

/// The bytes.
pub(super) fn pack(tables: &Tables) -> Vec<u8> {
    let mut texts = Texts::default();
    texts.put("");
    let mut sections: Vec<Vec<u8>> = vec![Vec::new(); SECTIONS];
    let [_, structs, fields, enums, values, pointers, rows, names, releases, index, cuda] = &mut sections[..] else {
        return Vec::new();
    };
    let mut first = 0;
    for found in &tables.shared.structs.all {
        words(structs, &[texts.put(&found.name), found.size, first, length(&found.fields), u32::from(found.union)]);
        first += length(&found.fields);
        for f in &found.fields {
            words(fields, &[texts.put(&f.name), texts.put(&f.ty), f.offset]);
            fields.extend([f.form, f.kind, f.bit, f.bits]);
            words(fields, &f.counts);
            words(fields, &[f.record, f.names, f.pointer]);
        }
    }
    first = 0;
    for (name, list) in &tables.shared.enums.all {
        words(enums, &[texts.put(name), first, length(list)]);
        first += length(list);
        for (name, value) in list {
            words(values, &[texts.put(name)]);
            values.extend(value.to_le_bytes());
        }
    }
    for p in &tables.shared.pointers.all {
        pointers.extend([p.content, p.form, p.direction, 0]);
        words(pointers, &[texts.put(&p.element), p.record, texts.put(&p.selector)]);
        words(pointers, &[texts.put(&p.count[0]), texts.put(&p.count[1]), p.fixed]);
    }
    for r in &tables.rows.all {
        words(rows, &[r.number, texts.put(&r.name), texts.put(&r.params), r.record, r.alternative, r.size]);
        words(rows, &[u32::from(r.privilege), r.properties, r.rights]);
    }
    for (name, record) in &tables.names.all {
        words(names, &[texts.put(name), *record]);
    }
    let mut at = 0;
    for own in &tables.releases {
        words(releases, &[texts.put(&own.version)]);
        for list in own.lists.iter().chain([&own.names]) {
            words(releases, &[at, length(list)]);
            words(index, list);
            at += length(list);
        }
    }
    tables.cuda.iter().for_each(|row| words(cuda, row));
    sections[0] = texts.bytes;
    join(&sections)
}

fn join(sections: &[Vec<u8>]) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    let mut at = MAGIC.len() + sections.len() * 8;
    for section in sections {
        words(&mut out, &[u32::try_from(at).unwrap_or(0), length(section)]);
        at += section.len().next_multiple_of(4);
    }
    for section in sections {
        out.extend(section);
        out.resize(out.len().next_multiple_of(4), 0);
    }
    out
}
