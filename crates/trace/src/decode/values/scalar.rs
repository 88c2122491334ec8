//! Values that depend on their bytes and the tables only: numbers, enums, handles; and sizes.

use super::walk::{Side, Walk, word};
use crate::event::value::{Standing, Text, Value};
use cutap_calls::known::{Type, TypeId, Unit};

impl Walk<'_> {
    /// Bytes of a value of this type; of `void` none.
    pub fn size_of(&self, id: TypeId) -> usize {
        // Types of arrays lead to other types; damaged tables could lead around.
        self.size_within(id, 4)
    }

    fn size_within(&self, id: TypeId, levels: u32) -> usize {
        match self.ty(id) {
            Type::Void => 0,
            Type::Int { bytes, .. } | Type::Bool(bytes) | Type::Float(bytes) | Type::Flags(_, bytes) => bytes.into(),
            Type::Char => 1,
            Type::BFloat16 => 2,
            Type::Enum(of) | Type::Status(of) => {
                self.tables.enums.get(usize::from(of)).map_or(4, |e| usize::from(e.bytes).clamp(1, 8))
            }
            Type::Handle(of) => {
                self.tables.handles.get(usize::from(of)).map_or(8, |h| usize::from(h.bytes).clamp(1, 8))
            }
            Type::Struct(first) | Type::Union(first) => self.struct_of(first).map_or(0, |s| s.size as usize),
            Type::Array(of, many) if levels > 0 => self.size_within(of, levels - 1).saturating_mul(many as usize),
            Type::Array(..) => 0,
            Type::DevicePointer | Type::Pointer(..) | Type::Code => 8,
            Type::Uuid => 16,
        }
    }

    /// A value as its type alone tells.
    pub fn by_type(&mut self, id: TypeId, bytes: &[u8], unit: Unit) -> Value {
        let all = word(bytes);
        match self.ty(id) {
            Type::Void => Value::Missing,
            Type::Char => letter(all as u8),
            Type::Int { bytes, signed } => number(all, bytes.into(), signed, unit),
            Type::Bool(_) => Value::Bool(all != 0),
            Type::Float(8) => Value::Double(f64::from_bits(all)),
            Type::Float(2) => Value::Single(half(all as u16)),
            Type::Float(_) => Value::Single(f32::from_bits(all as u32)),
            Type::BFloat16 => Value::Single(f32::from_bits((all as u32) << 16)),
            Type::Enum(of) | Type::Status(of) => match self.tables.enums.get(usize::from(of)) {
                Some(e) => Value::Enum(signed(all, bytes.len()), e),
                None => Value::Int(signed(all, bytes.len())),
            },
            Type::Flags(of, _) => match self.tables.enums.get(usize::from(of)) {
                Some(e) => Value::Flags(all, e),
                None => Value::Hex(all),
            },
            Type::Handle(of) => self.handle(of, all, bytes.len()),
            Type::DevicePointer => self.on_device(all, None),
            Type::Pointer(..) if all == 0 => Value::Null,
            Type::Pointer(to, _) => {
                let value = self.deeper(|w| w.target(to, all, unit)).flatten();
                value.unwrap_or_else(|| self.address(all, None))
            }
            Type::Code if all == 0 => Value::Null,
            Type::Code => Value::Code(all),
            Type::Struct(first) => {
                self.deeper(|w| w.structure(first, bytes, bytes.len() as u64)).unwrap_or(Value::Missing)
            }
            Type::Union(of) => self.union(of, None, bytes),
            Type::Array(of, many) => self.items(of, bytes, many.into()),
            Type::Uuid => match bytes.first_chunk() {
                Some(uuid) => Value::Uuid(Box::new(*uuid)),
                None => Value::Missing,
            },
        }
    }

    fn handle(&mut self, of: u16, value: u64, bytes: usize) -> Value {
        let Some(kind) = self.tables.handles.get(usize::from(of)) else { return Value::Hex(value) };
        let special = kind.special.iter().any(|(v, _)| *v == value);
        if kind.number {
            // Its special values are those of a signed number.
            let value = signed(value, bytes) as u64;
            return Value::Handle { value, kind, number: 0, standing: Standing::Live };
        }
        let (kind, number, standing) = match &mut self.state {
            Some(state) if value != 0 && !special => match self.side {
                Side::Before => state.handles.resolve_argument(kind, value, state.now),
                Side::After => (kind, state.written(kind, value, self.origin), Standing::Live),
            },
            _ => (kind, 0, Standing::Live),
        };
        Value::Handle { value, kind, number, standing }
    }
}

/// A character; a number where it is none.
fn letter(byte: u8) -> Value {
    match byte {
        b' '..=b'~' => Value::Text(Box::new(Text { text: char::from(byte).to_string(), cut: false })),
        _ => Value::Int((byte as i8).into()),
    }
}

fn number(all: u64, bytes: usize, is_signed: bool, unit: Unit) -> Value {
    match unit {
        Unit::Hex | Unit::Zero => Value::Hex(all),
        Unit::Version => Value::Version(signed(all, bytes)),
        Unit::Release | Unit::LongRelease => {
            let (n, from) = (signed(all, bytes), if unit == Unit::Release { 10_000 } else { 100_000 });
            Value::Release(n, if n < from { 1000 } else { 10_000 })
        }
        _ if is_signed => Value::Int(signed(all, bytes)),
        _ => Value::Uint(all),
    }
}

/// A number of so many bytes in two's complement.
pub fn signed(all: u64, bytes: usize) -> i64 {
    let unused = 64 - 8 * (bytes.clamp(1, 8) as u32);
    ((all << unused) as i64) >> unused
}

/// IEEE half precision.
pub fn half(bits: u16) -> f32 {
    let (exponent, fraction) = (bits >> 10 & 31, f32::from(bits & 0x3ff));
    let size = match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + fraction) * 2f32.powi(i32::from(exponent) - 25),
    };
    if bits & 0x8000 == 0 { size } else { -size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves() {
        for (bits, value) in [(0x3c00, 1.0), (0xc000, -2.0), (0x0001, 5.960_464_5e-8), (0x7bff, 65504.0), (0, 0.0)] {
            assert_eq!(half(bits), value, "{bits:#x}");
        }
        assert!(half(0x7c00).is_infinite() && half(0x7e00).is_nan());
    }

    #[test]
    fn letters() {
        assert!(matches!(letter(b'A'), Value::Text(text) if text.text == "A" && !text.cut));
        assert!(matches!(letter(0), Value::Int(0)) && matches!(letter(0xff), Value::Int(-1)));
    }

    #[test]
    fn signs() {
        assert_eq!(
            [signed(0xff, 1), signed(0xffff_fffe, 4), signed(0xffff_fffe, 8), signed(u64::MAX, 8)],
            [-1, -2, 0xffff_fffe, -1]
        );
    }
}
