//! Relocations of cubins: which bits of which bytes take which part of an address. Numbers as cuobjdump names them.

/// Where a value goes: bits of the field, first bit, and how far the address is shifted right before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    bits: u32,
    first: u32,
    shift: u32,
}

const fn shape(bits: u32, first: u32, shift: u32) -> Option<Shape> {
    Some(Shape { bits, first, shift })
}

/// The shape of a relocation type. R_CUDA_NONE has none, and other types neither.
fn of(kind: u32) -> Option<Shape> {
    match kind {
        // R_CUDA_32, _G32, FUNC_DESC_32; R_CUDA_64, _G64, FUNC_DESC_64.
        1 | 3 | 34 => shape(32, 0, 0),
        2 | 4 | 35 => shape(64, 0, 0),
        // ABS32_32 and ABS32_LO_32, ABS32_HI_32; the same of a function's descriptor, which is its address.
        55 | 56 | 61 | 62 => shape(32, 32, 0),
        57 | 63 => shape(32, 32, 32),
        // ABS32_20, LO and HI: immediate operands of older instructions.
        42 | 43 | 47 | 48 => shape(32, 20, 0),
        44 | 49 => shape(32, 20, 32),
        // ABS47_34: the target of a call, in words.
        58 => shape(47, 34, 2),
        59 => shape(16, 32, 0),
        60 => shape(24, 32, 0),
        // R_CUDA_32_LO and HI.
        70 => shape(32, 0, 0),
        71 => shape(32, 0, 32),
        // R_CUDA_8_0 to 8_56, and G8_0 to G8_56: one byte of the address.
        76..=83 => shape(8, 0, (kind - 76) * 8),
        84..=91 => shape(8, 0, (kind - 84) * 8),
        _ => None,
    }
}

/// What became of a relocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    /// The type is not known here.
    Unknown,
    /// It reaches beyond the section.
    Outside,
}

/// Writes `value` as a relocation of this kind says, at `offset`.
pub(super) fn apply(bytes: &mut [u8], offset: u64, kind: u32, value: u64) -> Outcome {
    if kind == 0 {
        return Outcome::Done;
    }
    let Some(Shape { bits, first, shift }) = of(kind) else { return Outcome::Unknown };
    let length = ((first + bits) as usize).div_ceil(8);
    let place = usize::try_from(offset).ok().and_then(|at| bytes.get_mut(at..at.checked_add(length)?));
    let Some(place) = place else { return Outcome::Outside };
    let mut word = [0; 16];
    word.iter_mut().zip(place.iter()).for_each(|(to, from)| *to = *from);
    let mask = ((1_u128 << bits) - 1) << first;
    let value = (u128::from(value >> shift) << first) & mask;
    let word = (u128::from_le_bytes(word) & !mask | value).to_le_bytes();
    place.iter_mut().zip(word).for_each(|(to, from)| *to = from);
    Outcome::Done
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(kind: u32, value: u64) -> Vec<u8> {
        let mut bytes = vec![0xff; 16];
        assert_eq!(apply(&mut bytes, 0, kind, value), Outcome::Done);
        bytes
    }

    #[test]
    fn fields() {
        let address = 0x1122_3344_5566_7788;
        assert_eq!(applied(2, address)[..9], [0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0xff]);
        assert_eq!(applied(56, address)[3..9], [0xff, 0x88, 0x77, 0x66, 0x55, 0xff]);
        assert_eq!(applied(57, address)[3..9], [0xff, 0x44, 0x33, 0x22, 0x11, 0xff]);
        assert_eq!(applied(79, address)[..2], [0x55, 0xff]);
        // A call: 47 bits of the address in words, from bit 34.
        let call = u128::from_le_bytes(applied(58, 0x7fc3_177a_0000).try_into().unwrap());
        assert_eq!(call >> 34 & ((1 << 47) - 1), 0x7fc3_177a_0000 >> 2);
        assert_eq!((call & 0x3_ffff_ffff, call >> 81), (0x3_ffff_ffff, (1 << 47) - 1));
    }

    #[test]
    fn refusals() {
        assert_eq!(apply(&mut [0; 8], 1, 2, 0), Outcome::Outside);
        assert_eq!(apply(&mut [0; 8], u64::MAX, 2, 0), Outcome::Outside);
        assert_eq!(apply(&mut [0; 8], 0, 6, 0), Outcome::Unknown);
        assert_eq!(apply(&mut [], 0, 0, 0), Outcome::Done);
    }
}
