//! What a seccomp filter says of a system call: an interpreter of classic BPF, as far as the kernel takes it for a
//! filter. It reads the program an instruction at a time and has no loop: jumps go forward only.

/// The most instructions of a program.
const MOST: usize = 4096;
/// Words of `struct seccomp_data`.
pub const DATA: usize = 16;
/// Its bytes.
const DATA_BYTES: u32 = 64;
const SCRATCH: usize = 16;

/// The first word of the arguments.
const ARGUMENTS: u32 = 4;

/// What the program answers, and whether it has looked at an argument: if not, it answers so for all of them.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub value: u32,
    pub reads_arguments: bool,
}

/// Asks the program. `None`: it cannot be read, or the kernel takes no such program.
pub fn run(instruction: &mut dyn FnMut(usize) -> Option<[u8; 8]>, data: &[u32; DATA]) -> Option<Answer> {
    let mut reads_arguments = false;
    let (mut a, mut x, mut memory) = (0u32, 0u32, [0u32; SCRATCH]);
    let mut at = 0;
    while at < MOST {
        let [low, high, yes, no, k0, k1, k2, k3] = instruction(at)?;
        let (code, k) = (u16::from_le_bytes([low, high]), u32::from_le_bytes([k0, k1, k2, k3]));
        at += 1;
        let operand = if code & 8 != 0 { x } else { k };
        match code {
            // Loads and stores.
            0x20 => {
                reads_arguments |= k / 4 >= ARGUMENTS;
                a = *data.get(k as usize / 4).filter(|_| k.is_multiple_of(4))?;
            }
            0x80 => a = DATA_BYTES,
            0x81 => x = DATA_BYTES,
            0x00 => a = k,
            0x01 => x = k,
            0x60 => a = *memory.get(k as usize)?,
            0x61 => x = *memory.get(k as usize)?,
            0x02 => *memory.get_mut(k as usize)? = a,
            0x03 => *memory.get_mut(k as usize)? = x,
            0x07 => x = a,
            0x87 => a = x,
            // Arithmetic.
            0x04 | 0x0c => a = a.wrapping_add(operand),
            0x14 | 0x1c => a = a.wrapping_sub(operand),
            0x24 | 0x2c => a = a.wrapping_mul(operand),
            // A division by zero ends the program with 0.
            0x34 | 0x3c => match a.checked_div(operand) {
                Some(quotient) => a = quotient,
                None => return Some(Answer { value: 0, reads_arguments }),
            },
            0x44 | 0x4c => a |= operand,
            0x54 | 0x5c => a &= operand,
            0x64 | 0x6c => a = a.wrapping_shl(operand),
            0x74 | 0x7c => a = a.wrapping_shr(operand),
            0x84 => a = a.wrapping_neg(),
            0xa4 | 0xac => a ^= operand,
            // Jumps.
            0x05 => at = at.checked_add(k as usize)?,
            0x15 | 0x1d | 0x25 | 0x2d | 0x35 | 0x3d | 0x45 | 0x4d => {
                let condition = match code & 0xf0 {
                    0x10 => a == operand,
                    0x20 => a > operand,
                    0x30 => a >= operand,
                    _ => a & operand != 0,
                };
                at += usize::from(if condition { yes } else { no });
            }
            0x06 => return Some(Answer { value: k, reads_arguments }),
            0x16 => return Some(Answer { value: a, reads_arguments }),
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    type Instruction = (u16, u8, u8, u32);

    fn run_on(program: &[Instruction], data: &[u32; DATA]) -> Option<Answer> {
        let bytes = |&(code, yes, no, k): &Instruction| {
            let ([low, high], [a, b, c, d]) = (code.to_le_bytes(), k.to_le_bytes());
            [low, high, yes, no, a, b, c, d]
        };
        run(&mut |n| program.get(n).map(bytes), data)
    }
    fn answer(program: &[Instruction], data: &[u32; DATA]) -> Option<u32> {
        run_on(program, data).map(|answer| answer.value)
    }

    #[test]
    fn jumps_and_answers() {
        // Answers 7 for number 257 whose third argument has bit 6, else 1.
        let filter =
            [(0x20, 0, 0, 0), (0x15, 0, 3, 257), (0x20, 0, 0, 32), (0x45, 0, 1, 64), (0x06, 0, 0, 7), (0x06, 0, 0, 1)];
        let data = |number: u32, third: u32| {
            let mut data = [0; DATA];
            (data[0], data[8]) = (number, third);
            data
        };
        assert_eq!(answer(&filter, &data(257, 64)), Some(7));
        assert_eq!(answer(&filter, &data(257, 2)), Some(1));
        assert_eq!(answer(&filter, &data(3, 64)), Some(1));
        assert_eq!(run_on(&filter, &data(257, 2)).map(|answer| answer.reads_arguments), Some(true));
        assert_eq!(run_on(&filter, &data(3, 64)).map(|answer| answer.reads_arguments), Some(false));
        assert_eq!(answer(&filter[..4], &data(257, 64)), None, "it has no end");
        assert_eq!(answer(&[(0x20, 0, 0, 3), (0x16, 0, 0, 0)], &data(1, 1)), None, "no word stands there");
        assert_eq!(answer(&[(0xffff, 0, 0, 3)], &data(1, 1)), None);
    }

    #[test]
    fn arithmetic_as_the_kernel_does_it() {
        let program =
            |operation: u16, k: u32| answer(&[(0, 0, 0, 12), (operation, 0, 0, k), (0x16, 0, 0, 0)], &[0; DATA]);
        let rows = [
            (0x04, 5, 17),
            (0x14, 13, u32::MAX),
            (0x24, 3, 36),
            (0x34, 5, 2),
            (0x34, 0, 0),
            (0x44, 3, 15),
            (0x54, 9, 8),
            (0x64, 2, 48),
            (0x74, 2, 3),
            (0x84, 0, 12u32.wrapping_neg()),
            (0xa4, 6, 10),
        ];
        for (operation, k, expected) in rows {
            assert_eq!(program(operation, k), Some(expected), "{operation:#x} {k}");
        }
        // The other operand, the memory, and the length.
        let by_x = [(0x80, 0, 0, 0), (0x02, 0, 0, 3), (0x61, 0, 0, 3), (0, 0, 0, 1), (0x0c, 0, 0, 0), (0x16, 0, 0, 0)];
        assert_eq!(answer(&by_x, &[0; DATA]), Some(65));
        let moved = [(0x81, 0, 0, 0), (0x87, 0, 0, 0), (0x05, 0, 0, 1), (0x06, 0, 0, 1), (0x16, 0, 0, 0)];
        assert_eq!(answer(&moved, &[0; DATA]), Some(64));
    }
}
