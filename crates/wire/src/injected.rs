//! `RUN/inject`: what `--inject` does to calls. `cutap` writes it before the program starts. The hook library
//! `crates/inject` maps it in each process, and counts there. All processes of the run count together.

use core::sync::atomic::AtomicU64;

/// Name of the file in the run directory.
pub const FILE: &str = "inject";
/// Names of functions of all rules at most. The hooks of a run have as many places.
pub const ROWS: usize = 48;
/// Bytes of a name of a function, with the zero behind it.
pub const NAME: usize = 128;
/// Bytes of a name of a parameter, with the zero behind it.
pub const PARAMETER: usize = 48;
/// Conditions of a rule at most.
pub const CONDITIONS: usize = 4;
/// What the file begins with.
pub const MAGIC: u64 = u64::from_le_bytes(*b"cutapinj");

/// Bits of [`Row::actions`].
pub mod action {
    /// The call gets [`super::Row::result`].
    pub const RESULT: u32 = 1;
    /// It gets it when the work is done.
    pub const AFTER: u32 = 2;
    /// The argument [`super::Row::changed`] is [`super::Row::value`].
    pub const SET: u32 = 4;
}

/// How an argument and a number are compared.
pub mod comparison {
    /// There is no such condition.
    pub const NONE: u32 = 0;
    /// Equal.
    pub const EQUAL: u32 = 1;
    /// Different.
    pub const DIFFERENT: u32 = 2;
    /// Less.
    pub const LESS: u32 = 3;
    /// Less or equal.
    pub const AT_MOST: u32 = 4;
    /// Greater.
    pub const GREATER: u32 = 5;
    /// Greater or equal.
    pub const AT_LEAST: u32 = 6;
}

/// A condition on an argument.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Condition {
    /// Its name, filled up with zeros.
    pub parameter: [u8; PARAMETER],
    /// The number.
    pub value: i64,
    /// One of [`comparison`].
    pub comparison: u32,
    /// 0.
    pub reserved: u32,
}

/// The head of the file. Rows follow.
#[repr(C)]
#[derive(Debug)]
pub struct Head {
    /// [`MAGIC`].
    pub magic: u64,
    /// [`crate::VERSION`].
    pub version: u32,
    /// Number of rows.
    pub rows: u32,
    /// The first number of the chances.
    pub seed: u64,
}

/// A rule on one name of functions. Rules on several names have several rows.
#[repr(C)]
#[derive(Debug)]
pub struct Row {
    /// Pattern of the functions' name, filled up with zeros.
    pub name: [u8; NAME],
    /// All must hold.
    pub conditions: [Condition; CONDITIONS],
    /// The parameter that gets a value, filled up with zeros.
    pub changed: [u8; PARAMETER],
    /// The value.
    pub value: u64,
    /// The result.
    pub result: u64,
    /// Nanoseconds of sleep before the call.
    pub delay_enter: u64,
    /// Nanoseconds of sleep after it.
    pub delay_exit: u64,
    /// The first matching call, from 1, that is acted on.
    pub first: u64,
    /// The last one; `u64::MAX`: there is none.
    pub last: u64,
    /// Each so many.
    pub step: u64,
    /// Of 2^32 calls so many are acted on.
    pub chance: u64,
    /// Layers, as a hook library names them.
    pub layers: u32,
    /// Bits of [`action`].
    pub actions: u32,
    /// A signal for the calling thread; 0: none.
    pub signal: u32,
    /// The row that counts for this one: the first of its rule.
    pub counter: u32,
    /// Calls that fulfil the conditions.
    pub matched: AtomicU64,
    /// Those that were acted on.
    pub acted: AtomicU64,
    /// Actions that the function does not allow.
    pub refused: AtomicU64,
}

/// Bytes of the head.
pub const HEAD: usize = size_of::<Head>();
/// Bytes of a row.
pub const ROW: usize = size_of::<Row>();

impl Row {
    /// Whether the n-th matching call is acted on, n from 1.
    pub fn is_meant(&self, number: u64) -> bool {
        let is_inside = number >= self.first && number <= self.last;
        is_inside && (number - self.first).is_multiple_of(self.step.max(1))
    }

    /// Whether the n-th one has the chance. The same for each run with one seed.
    pub fn has_chance(&self, seed: u64, number: u64) -> bool {
        // SplitMix64.
        let mut z = seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) >> 32 < self.chance
    }
}

/// Text without the zeros behind it.
pub fn text(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    bytes.get(..end).unwrap_or(&[])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(first: u64, last: u64, step: u64) -> Row {
        // SAFETY: all zero is a valid row.
        let zero: Row = unsafe { core::mem::zeroed() };
        Row { first, last, step, chance: 1 << 32, ..zero }
    }

    #[test]
    fn numbers_that_are_meant() {
        let meant = |row: Row| (1..=10).filter(|number| row.is_meant(*number)).collect::<Vec<u64>>();
        assert_eq!(meant(row(3, 3, 1)), [3]);
        assert_eq!(meant(row(3, 5, 1)), [3, 4, 5]);
        assert_eq!(meant(row(3, u64::MAX, 2)), [3, 5, 7, 9]);
        assert_eq!(meant(row(1, 8, 4)), [1, 5]);
    }

    #[test]
    fn chances_are_near_their_share() {
        let row = Row { chance: (1 << 32) / 100, ..row(1, u64::MAX, 1) };
        let with_chance = |seed| (1..=100_000).filter(|number| row.has_chance(seed, *number)).count();
        assert!((900..1100).contains(&with_chance(1)), "{}", with_chance(1));
        assert_ne!(with_chance(1), with_chance(2));
        assert!((1..=1000).all(|number| super::tests::row(1, 9, 1).has_chance(7, number)));
    }
}
