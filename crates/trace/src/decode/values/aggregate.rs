//! Structs and unions. A struct that is cut off ends where its bytes end. A struct that has its size in a field ends
//! there; if it is larger than the known one, the value says by how much.

use super::row::Row;
use super::walk::{Walk, word};
use crate::event::value::{Fields, Value};
use cutap_calls::known::OWN;

/// A struct that says that it is larger says nothing of use.
const LARGEST: u64 = 1 << 16;

impl Walk<'_> {
    /// A struct in `bytes`; `program_size` is how large the program's own is.
    pub fn structure(&mut self, first: u16, bytes: &[u8], program_size: u64) -> Value {
        let Some(of) = self.struct_of(first) else { return unknown(bytes) };
        let own = self.sibling(&Row::fields(of, bytes), of.tag).filter(|n| (1..=LARGEST).contains(n));
        // What lies behind the end of an older header's struct is none of its fields.
        let (bytes, ends_early) = match own.and_then(|n| bytes.get(..n as usize)) {
            Some(bytes) => (bytes, true),
            None => (bytes, false),
        };
        let row = Row::fields(of, bytes);
        let mut values = Vec::with_capacity(of.fields.len());
        let mut cut = false;
        for (n, field) in of.fields.iter().enumerate().take(255) {
            let lacks = row.cell(n, self.size_of(field.ty)).is_none();
            if lacks || !self.take() {
                cut = !(lacks && ends_early);
                break;
            }
            let value = self.deeper(|w| w.param(&row, n)).unwrap_or(Value::Missing);
            values.push((n as u8, value));
        }
        let more = match own {
            Some(own) => own.saturating_sub(of.size.into()),
            // As much was kept as another version's has: that is nothing of the program's.
            None if self.has_layout(first, program_size) => 0,
            None => program_size.saturating_sub(of.size.into()),
        };
        Value::Struct(Box::new(Fields { of, values, cut, more }))
    }

    /// A union in `bytes`; `holder` are the fields beside it, one of which may tell what it holds.
    pub fn union(&mut self, first: u16, holder: Option<&Row<'_>>, bytes: &[u8]) -> Value {
        let Some(of) = self.struct_of(first) else { return unknown(bytes) };
        let row = Row::fields(of, bytes);
        let (tag, tag_row) = match of.tag.checked_sub(OWN) {
            Some(own) if of.tag != 255 => (own, Some(&row)),
            _ => (of.tag, holder),
        };
        let only = (of.fields.len() == 1).then_some(0);
        let field = only.or_else(|| self.active_field(tag, of.tags, tag_row?));
        let Some(n) = field else { return unknown(bytes) };
        let value = self.deeper(|w| w.param(&row, n.into())).unwrap_or(Value::Missing);
        Value::Struct(Box::new(Fields { of, values: vec![(n, value)], cut: false, more: 0 }))
    }

    /// A union at an address; a sibling of the pointer tells what it holds.
    pub fn union_at(&mut self, first: u16, row: &Row<'_>, sibling: u8, address: u64) -> Option<Value> {
        let of = self.struct_of(first).filter(|of| of.tag != 255)?;
        let n = self.active_field(sibling, of.tags, row)?;
        let bytes = self.memory.at(address)?.bytes;
        let value = self.deeper(|w| w.param(&Row::fields(of, bytes), n.into())).unwrap_or(Value::Missing);
        let union_value = Value::Struct(Box::new(Fields { of, values: vec![(n, value)], cut: false, more: 0 }));
        Some(Value::Pointee(address, Box::new(union_value)))
    }

    /// The field that a union holds.
    fn active_field(&mut self, at: u8, tags: u16, holder: &Row<'_>) -> Option<u8> {
        let tag = holder.params.get(usize::from(at))?;
        let cell = holder.cell(at.into(), self.size_of(tag.ty))?;
        let value = crate::decode::values::scalar::signed(word(cell.bytes()), cell.bytes().len());
        u8::try_from(self.tagged_type(tags, value)?).ok()
    }
}

fn unknown(bytes: &[u8]) -> Value {
    Value::Bytes(bytes.get(..64).unwrap_or(bytes).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::values::memory::Memory;
    use crate::decode::values::walk::Side;
    use cutap_calls::known::{Dir, Param, Rule, Struct, Tables, Type, Unit, Writes};

    const fn field(name: &'static str, ty: u16, offset: u16) -> Param {
        Param {
            name,
            ty,
            word: 255,
            second: 255,
            offset,
            dir: Dir::In,
            rule: Rule::One,
            unit: Unit::None,
            written: Writes::Done,
        }
    }

    const FIELDS: &[Param] = &[field("size", 1, 0), field("a", 0, 8), field("b", 0, 12)];
    const SIZED: Struct =
        Struct { name: "sized", since: 0, until: u32::MAX, size: 16, fields: FIELDS, tag: 0, tags: u16::MAX };
    static TABLES: Tables = Tables {
        families: &[],
        types: &[Type::Int { bytes: 4, signed: true }, Type::Int { bytes: 8, signed: false }],
        enums: &[],
        structs: &[SIZED],
        handles: &[],
        tags: &[],
    };

    /// How many fields of a struct that says this size are read from 16 bytes; whether it is cut; and how
    /// many more bytes it has.
    fn read(size: u64, kept: usize) -> (usize, bool, u64) {
        let mut bytes = [7; 16];
        bytes[..8].copy_from_slice(&size.to_le_bytes());
        let mut walk = Walk::new(&TABLES, 0, Memory::new(&[]), Side::Before);
        let Value::Struct(fields) = walk.structure(0, &bytes[..kept], 16) else { panic!("no struct") };
        (fields.values.len(), fields.cut, fields.more)
    }

    #[test]
    fn structs_that_say_their_size() {
        assert_eq!(read(16, 16), (3, false, 0));
        assert_eq!(read(12, 16), (2, false, 0));
        assert_eq!(read(24, 16), (3, false, 8));
        assert_eq!(read(16, 12), (2, true, 0));
        assert_eq!(read(12, 12), (2, false, 0));
        // Nothing that a struct can have.
        assert_eq!(read(0, 16), (3, false, 0));
        assert_eq!(read(u64::MAX, 16), (3, false, 0));
    }

    /// As many bytes of a struct as the target keeps (`STRUCT` of the registry's steps).
    const KEPT: u32 = 1632;

    #[test]
    fn structs_of_the_registry_are_read_whole() {
        use cutap_calls::generated::known::TABLES;
        // Numbers within numbers: more than are made of a call.
        let many = ["nvmlObservedMetrics_t", "nvmlPerfMetricsDlppc2xSample_t"];
        let kept = |of: &Struct| of.size <= KEPT && !many.contains(&of.name);
        for (first, of) in TABLES.structs.iter().enumerate().filter(|(_, of)| kept(of)) {
            let mut walk = Walk::new(&TABLES, of.since, Memory::new(&[]), Side::Before);
            let Value::Struct(fields) = walk.structure(first as u16, &vec![0; of.size as usize], of.size.into()) else {
                panic!("{}", of.name)
            };
            assert!(!fields.cut && fields.values.len() == of.fields.len(), "{} {fields:?}", of.name);
        }
        // Only the management library has larger ones, and a descriptor of files; all hold arrays of hundreds of
        // elements.
        let larger = TABLES.structs.iter().filter(|of| of.size > KEPT).map(|of| of.name);
        let named = |name: &str| name.starts_with("nvml") || name == "CUfileStatsLevel3_t";
        assert_eq!(larger.filter(|name| !named(name)).collect::<Vec<_>>(), [""; 0]);
    }

    const TAGGED: &[Param] = &[field("tag", 0, 0), field("number", 0, 0), field("long", 1, 8)];
    /// A union whose tag is its own first field: 1 means `number`, 2 `long`.
    static OWN_TAG: Tables = Tables {
        structs: &[Struct { name: "own", since: 0, until: u32::MAX, size: 16, fields: TAGGED, tag: OWN, tags: 0 }],
        tags: &[cutap_calls::known::Tag { name: "own", rows: &[(1, 1), (2, 2)] }],
        ..TABLES_OF_TWO
    };
    const TABLES_OF_TWO: Tables =
        Tables { families: &[], types: TABLES.types, enums: &[], structs: &[], handles: &[], tags: &[] };

    #[test]
    fn unions_with_their_tag_inside() {
        let held = |tag: u8| {
            let mut walk = Walk::new(&OWN_TAG, 0, Memory::new(&[]), Side::Before);
            match walk.union(0, None, &[tag, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]) {
                Value::Struct(fields) => fields.values.first().map(|(n, value)| (*n, value.number())),
                _ => None,
            }
        };
        assert_eq!((held(1), held(2), held(3)), (Some((1, Some(1.0))), Some((2, Some(9.0))), None));
    }
}
