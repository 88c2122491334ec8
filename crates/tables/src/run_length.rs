//! Small numbers as Parquet has them in dictionaries and levels: runs of one number, and groups of eight packed bits.

/// Equal numbers that are a run at least.
const RUN: usize = 8;

/// Appends the numbers, each of `width` bits.
pub(crate) fn encode<N: Copy + PartialEq + Into<u32>>(numbers: &[N], width: u32, to: &mut Vec<u8>) {
    let (mut packed_from, mut at) = (0, 0);
    while at < numbers.len() {
        let number = numbers[at];
        let run = numbers[at..].iter().take_while(|other| **other == number).count();
        // Groups of packed numbers are full, but for the last one: they take the first numbers of the run.
        let fill = (RUN - (at - packed_from) % RUN) % RUN;
        if run < RUN + fill {
            at += run;
            continue;
        }
        pack(&numbers[packed_from..at + fill], width, to);
        varint(((run - fill) as u64) << 1, to);
        to.extend(&number.into().to_le_bytes()[..width.div_ceil(8) as usize]);
        at += run;
        packed_from = at;
    }
    pack(&numbers[packed_from..], width, to);
}

fn pack<N: Copy + Into<u32>>(numbers: &[N], width: u32, to: &mut Vec<u8>) {
    if numbers.is_empty() {
        return;
    }
    varint(((numbers.len().div_ceil(RUN) as u64) << 1) | 1, to);
    for group in numbers.chunks(RUN) {
        let (mut bits, mut waiting) = (0u64, 0);
        for n in 0..RUN {
            bits |= u64::from(group.get(n).map_or(0, |number| (*number).into())) << waiting;
            waiting += width;
            while waiting >= 8 {
                to.push(bits as u8);
                bits >>= 8;
                waiting -= 8;
            }
        }
    }
}

fn varint(mut number: u64, to: &mut Vec<u8>) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(numbers: &[u32], width: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(numbers, width, &mut bytes);
        bytes
    }

    /// As the specification's example has it: 0 to 7 in three bits each.
    #[test]
    fn groups_of_eight_are_packed() {
        assert_eq!(encoded(&[0, 1, 2, 3, 4, 5, 6, 7], 3), [0b11, 0b1000_1000, 0b1100_0110, 0b1111_1010]);
        assert_eq!(encoded(&[1, 0, 1], 1), [0b11, 0b101]);
    }

    #[test]
    fn runs_have_their_length() {
        assert_eq!(encoded(&[4; 100], 3), [200, 1, 4]);
        assert!(encoded(&[], 3).is_empty());
        // Two numbers before the run take six of it.
        let mut numbers = vec![1, 2];
        numbers.extend([3; 14]);
        assert_eq!(encoded(&numbers, 2), [0b11, 0b1111_1001, 0b1111_1111, 16, 3]);
    }
}
