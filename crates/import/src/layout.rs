//! Sizes and offsets of structs and unions by the rules of x86-64 System V. gcc checks every one of them
//! (`gcc.rs`). Must not know what a field means.

use crate::ctype::words_of;
use crate::decls::{Decls, Record};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Size and alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) size: u64,
    pub(crate) align: u64,
}

/// Where a field is: byte offset of its unit, and first bit and width of a bit field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FieldPlace {
    pub(crate) offset: u64,
    pub(crate) bits: Option<(u64, u32)>,
}

/// Works out sizes with the declarations of one version.
pub(crate) struct Layouts<'a> {
    decls: &'a Decls,
    sizes: RefCell<BTreeMap<String, Option<Size>>>,
}

const fn same(size: u64) -> Size {
    Size { size, align: size }
}

/// The types that no header of ours declares; `None` for a name that is none of them.
pub(crate) fn builtin(name: &str) -> Option<Size> {
    Some(match name {
        "void" | "bool" | "_Bool" | "char" | "signed char" | "unsigned char" | "int8_t" | "uint8_t" => same(1),
        "short" | "unsigned short" | "int16_t" | "uint16_t" | "__bf16" | "_Float16" => same(2),
        "int" | "unsigned" | "unsigned int" | "float" | "int32_t" | "uint32_t" | "wchar_t" | "pid_t" => same(4),
        "long" | "unsigned long" | "long long" | "unsigned long long" | "double" => same(8),
        "int64_t" | "uint64_t" | "size_t" | "ssize_t" | "ptrdiff_t" | "intptr_t" | "uintptr_t" | "off_t" => same(8),
        "loff_t" | "time_t" => same(8),
        "long double" | "__int128" | "unsigned __int128" => same(16),
        _ => return None,
    })
}

impl<'a> Layouts<'a> {
    pub(crate) fn of(decls: &'a Decls) -> Self {
        Self { decls, sizes: RefCell::new(BTreeMap::new()) }
    }

    /// Size of a type; none where something in it is not declared.
    pub(crate) fn size(&self, text: &str) -> Option<Size> {
        let text = text.trim();
        if let Some((element, count)) = array(text) {
            let one = self.size(&element)?;
            return Some(Size { size: one.size.checked_mul(count)?, align: one.align });
        }
        if text.contains('*') || text.contains('&') {
            return Some(same(8));
        }
        let keywords = ["struct", "union", "enum", "const", "volatile"];
        let words: Vec<&str> = words_of(text).into_iter().filter(|w| !keywords.contains(w)).collect();
        self.named(&words.join(" "))
    }

    fn named(&self, name: &str) -> Option<Size> {
        if let Some(size) = builtin(name) {
            return Some(size);
        }
        if let Some(known) = self.sizes.borrow().get(name) {
            return *known;
        }
        // A type that holds itself is none; this also ends a typedef of its tag.
        self.sizes.borrow_mut().insert(name.to_owned(), None);
        let size = if let Some(record) = self.decls.records.get(name) {
            self.places(record).map(|(size, _)| size)
        } else if let Some(found) = self.decls.enums.get(name) {
            if found.underlying.is_empty() { Some(same(4)) } else { self.size(&found.underlying) }
        } else {
            self.decls.typedefs.get(name).and_then(|t| self.size(&t.ty))
        };
        self.sizes.borrow_mut().insert(name.to_owned(), size);
        size
    }

    /// Size of a struct or union, and where its fields are.
    pub(crate) fn places(&self, record: &Record) -> Option<(Size, Vec<FieldPlace>)> {
        if record.class {
            return None;
        }
        let mut align = record.align.max(1);
        let mut places = Vec::new();
        // In bits, because bit fields share bytes.
        let (mut next, mut end) = (0_u64, 0_u64);
        for field in &record.fields {
            let Size { size, align: natural } = self.size(&field.ty)?;
            let own = if record.packed { 1 } else { natural }.max(field.align);
            let start = if record.union { 0 } else { next };
            if let Some(width) = field.bits {
                let unit = size * 8;
                let crosses = start / unit != (start + u64::from(width).max(1) - 1) / unit;
                let start = if width == 0 || crosses { start.next_multiple_of(unit) } else { start };
                let offset = start / unit * size;
                places.push(FieldPlace { offset, bits: Some((start - offset * 8, width)) });
                next = start + u64::from(width);
            } else {
                let start = start.next_multiple_of(own * 8);
                places.push(FieldPlace { offset: start / 8, bits: None });
                next = start + size * 8;
            }
            align = align.max(own);
            end = end.max(next);
        }
        Some((Size { size: end.div_ceil(8).next_multiple_of(align), align }, places))
    }
}

/// `int[2][3]`: element `int[3]`, 2.
fn array(text: &str) -> Option<(String, u64)> {
    let start = text.find('[')?;
    if text.contains("(*") {
        return None;
    }
    let end = start + text.get(start..)?.find(']')?;
    let count = text.get(start + 1..end)?.trim();
    let element = format!("{}{}", text.get(..start)?.trim_end(), text.get(end + 1..)?);
    Some((element, if count.is_empty() { 0 } else { count.parse().ok()? }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decls::Field;

    fn record(union: bool, fields: &[(&str, Option<u32>)]) -> Record {
        let field = |(n, (ty, bits)): (usize, &(&str, Option<u32>))| Field {
            name: format!("f{n}"),
            ty: (*ty).to_owned(),
            bits: *bits,
            align: 0,
        };
        Record { union, fields: fields.iter().enumerate().map(field).collect(), ..Record::default() }
    }

    #[test]
    fn structs_and_unions() {
        let mut decls = Decls::default();
        decls.records.insert("S".to_owned(), record(false, &[("char", None), ("double", None), ("short[3]", None)]));
        let layouts = Layouts::of(&decls);
        let (size, places) = layouts.places(&decls.records["S"]).unwrap();
        assert_eq!(size, Size { size: 24, align: 8 });
        assert_eq!(places.iter().map(|p| p.offset).collect::<Vec<_>>(), [0, 8, 16]);
        let both = record(true, &[("struct S", None), ("char[30]", None)]);
        assert_eq!(layouts.places(&both).unwrap().0, Size { size: 32, align: 8 });
        assert_eq!(layouts.size("struct S[2][2]").unwrap().size, 96);
        assert_eq!(layouts.size("const struct S *[4]").unwrap().size, 32);
        assert_eq!(layouts.size("Unknown"), None);
    }

    #[test]
    fn bit_fields() {
        let decls = Decls::default();
        let fields = [("unsigned int", Some(3)), ("unsigned int", Some(30)), ("unsigned char", None)];
        let (size, places) = Layouts::of(&decls).places(&record(false, &fields)).unwrap();
        assert_eq!(size, Size { size: 12, align: 4 });
        assert_eq!(places[0], FieldPlace { offset: 0, bits: Some((0, 3)) });
        assert_eq!(places[1], FieldPlace { offset: 4, bits: Some((0, 30)) });
        assert_eq!(places[2], FieldPlace { offset: 8, bits: None });
    }
}
