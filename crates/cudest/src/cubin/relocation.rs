//! Relocations of cubins: which bits of which bytes take which part of an address. Numbers as cuobjdump names them.
//! Cubins of CUDA 11.8 call through relocation 75, those of 12 and 13 through constant bank 4.

/// Where a value goes: bits of the field, first bit, and how far the address is shifted right before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    bits: u32,
    first: u32,
    shift: u32,
}

const fn shape(bits: u32, first: u32, shift: u32) -> Shape {
    Shape { bits, first, shift }
}

/// The low word, the whole address, and the high word of it.
const LOW: &[Shape] = &[shape(32, 0, 0)];
const WHOLE: &[Shape] = &[shape(64, 0, 0)];
const HIGH: &[Shape] = &[shape(32, 0, 32)];
/// Operands of instructions: from bit 32, and from bit 20 before Volta.
const OPERAND: &[Shape] = &[shape(32, 32, 0)];
const OPERAND_HIGH: &[Shape] = &[shape(32, 32, 32)];
/// Offsets in a constant bank: an operand of 16 or 24 bits, and the operand `c[bank][offset]`. The code has the bank.
const SHORT_OPERAND: &[Shape] = &[shape(16, 32, 0)];
const MIDDLE_OPERAND: &[Shape] = &[shape(24, 32, 0)];
const CONSTANT: &[Shape] = &[shape(16, 38, 0)];
const OLD_OPERAND: &[Shape] = &[shape(32, 20, 0)];
const OLD_OPERAND_HIGH: &[Shape] = &[shape(32, 20, 32)];
/// Targets of calls, in words; longer ones have their low 8 bits apart.
const CALL: &[Shape] = &[shape(47, 34, 2)];
const LONG_CALL: &[Shape] = &[shape(8, 16, 2), shape(47, 34, 10)];
const LONGER_CALL: &[Shape] = &[shape(8, 16, 2), shape(48, 34, 10)];
/// Each byte of an address.
const BYTES: [&[Shape]; 8] = [
    &[shape(8, 0, 0)],
    &[shape(8, 0, 8)],
    &[shape(8, 0, 16)],
    &[shape(8, 0, 24)],
    &[shape(8, 0, 32)],
    &[shape(8, 0, 40)],
    &[shape(8, 0, 48)],
    &[shape(8, 0, 56)],
];

/// The fields of a relocation type. A function's descriptor is its address, and so is a unified address.
fn of(kind: u32) -> Option<&'static [Shape]> {
    let byte = |first: u32| BYTES.get((kind - first) as usize).copied();
    match kind {
        0 => Some(&[]),
        // 32, G32, FUNC_DESC_32, 32_LO, UNIFIED_32.
        1 | 3 | 34 | 70 | 103 => Some(LOW),
        // 64, G64, FUNC_DESC_64, UNIFIED.
        2 | 4 | 35 | 102 => Some(WHOLE),
        71 => Some(HIGH),
        // ABS32_32 and LO, FUNC_DESC32_32 and LO, UNIFIED32_LO; their HI.
        55 | 56 | 61 | 62 | 112 => Some(OPERAND),
        57 | 63 | 113 => Some(OPERAND_HIGH),
        // ABS32_20 and LO, FUNC_DESC32_20 and LO; their HI.
        42 | 43 | 47 | 48 => Some(OLD_OPERAND),
        44 | 49 => Some(OLD_OPERAND_HIGH),
        58 => Some(CALL),
        // ABS16_32, ABS24_32, CONST_FIELD21_38.
        59 => Some(SHORT_OPERAND),
        60 => Some(MIDDLE_OPERAND),
        66 => Some(CONSTANT),
        75 => Some(LONG_CALL),
        114 => Some(LONGER_CALL),
        // 8_0 to 8_56, G8, FUNC_DESC_8, UNIFIED_8.
        76..=83 => byte(76),
        84..=91 => byte(84),
        92..=99 => byte(92),
        104..=111 => byte(104),
        _ => None,
    }
}

/// Whether a relocation takes the offset of a constant in its bank, not its address.
pub(super) fn is_offset_in_bank(kind: u32) -> bool {
    matches!(kind, 59 | 60 | 66)
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
    let Some(fields) = of(kind) else { return Outcome::Unknown };
    for Shape { bits, first, shift } in fields.iter().copied() {
        let length = ((first + bits) as usize).div_ceil(8);
        let place = usize::try_from(offset).ok().and_then(|at| bytes.get_mut(at..at.checked_add(length)?));
        let Some(place) = place else { return Outcome::Outside };
        let mut word = [0; 16];
        word.iter_mut().zip(place.iter()).for_each(|(to, from)| *to = *from);
        let mask = ((1_u128 << bits) - 1) << first;
        let value = (u128::from(value >> shift) << first) & mask;
        let word = (u128::from_le_bytes(word) & !mask | value).to_le_bytes();
        place.iter_mut().zip(word).for_each(|(to, from)| *to = from);
    }
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
        // A longer one: 8 bits of it from bit 16, and the rest from bit 34.
        let call = u128::from_le_bytes(applied(75, 0x7fc3_177a_0a84).try_into().unwrap());
        assert_eq!((call >> 16 & 0xff) | (call >> 34 & ((1 << 47) - 1)) << 8, 0x7fc3_177a_0a84 >> 2);
    }

    #[test]
    fn refusals() {
        assert_eq!(apply(&mut [0; 8], 1, 2, 0), Outcome::Outside);
        assert_eq!(apply(&mut [0; 8], u64::MAX, 2, 0), Outcome::Outside);
        assert_eq!(apply(&mut [0; 8], 0, 6, 0), Outcome::Unknown);
        assert_eq!(apply(&mut [], 0, 0, 0), Outcome::Done);
    }
}
