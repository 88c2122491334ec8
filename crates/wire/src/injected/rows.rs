//! A rule on one name of functions, as the target reads it.

use super::{CONDITIONS, MODULE, NAME, PARAMETER, TEXT};

/// Bits of [`Row::actions`].
pub mod action {
    /// The call gets [`super::Row::result`].
    pub const RESULT: u32 = 1;
    /// It gets it when the work is done.
    pub const AFTER: u32 = 2;
    /// The argument [`super::Row::changed`] is [`super::Row::value`].
    pub const SET: u32 = 4;
    /// The result is a fault of the GPU: it stays with the context, and asynchronous functions do not return it.
    pub const FAULT: u32 = 8;
    /// The delay by bytes is after the call.
    pub const BYTES_AFTER: u32 = 16;
    /// Only functions that return a status are meant.
    pub const STATUS_ONLY: u32 = 32;
    /// Only calls from [`super::Row::module`] that return to [`super::Row::offset`].
    pub const SITE: u32 = 64;
    /// The call does not return while this rule holds.
    pub const HANGS: u32 = 128;
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

/// A rule on one name of functions. Rules on several names have several rows, one behind the other.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Pattern of the functions' name, filled up with zeros.
    pub name: [u8; NAME],
    /// All must hold.
    pub conditions: [Condition; CONDITIONS],
    /// The parameter that gets a value, filled up with zeros.
    pub changed: [u8; PARAMETER],
    /// The parameter whose bytes delay the call, filled up with zeros.
    pub delaying: [u8; PARAMETER],
    /// File name of the module that calls, filled up with zeros.
    pub module: [u8; MODULE],
    /// The rule as it was written, cut off where it is longer.
    pub text: [u8; TEXT],
    /// The value.
    pub value: u64,
    /// The result.
    pub result: u64,
    /// Nanoseconds of sleep before the call.
    pub delay_enter: u64,
    /// Nanoseconds of sleep after it.
    pub delay_exit: u64,
    /// Bytes of the argument [`Row::delaying`] that take a second; 0: none.
    pub bytes_a_second: u64,
    /// Offset in the module to which the call returns.
    pub offset: u64,
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
    /// The rule's counter, the same for all its rows.
    pub counter: u32,
}

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
