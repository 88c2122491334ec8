//! Rows of the generated tables: the steps that capture the arguments of a function's calls.

use cutap_calls::capture::{self, ALWAYS, EXIT, Row};
use cutap_calls::generated::capture::{NAMES, ROWS, STEPS};

/// A row as a slot remembers it: its number plus one, and what there is to do.
pub mod row {
    /// Memory is kept on the way in, or words other than the integer registers.
    pub const BEFORE: u32 = 1 << 31;
    /// Memory is kept on the way out.
    pub const AFTER: u32 = 1 << 30;
    /// The row's number plus one.
    pub const NUMBER: u32 = (1 << 30) - 1;
}

/// The row of a function: `block` for the parameter block of a runtime's callback, `major` the version
/// of its library, for functions that have changed. 0: nothing is known of it.
pub fn find(name: &[u8], block: bool, major: u32) -> u32 {
    let plain = capture::extend(capture::hash(if block { b"@" } else { b"" }), name);
    let digits = [b'#', b'0' + (major / 10 % 10) as u8, b'0' + (major % 10) as u8];
    // "#9" or "#12"
    let digits = digits.iter().enumerate().filter(|&(n, _)| n != 1 || major >= 10).map(|(_, d)| *d);
    let versioned = digits.fold(plain, |h, b| capture::extend(h, &[b]));
    let at = |hash| capture::number(&NAMES, hash);
    let Some(n) = at(versioned).or_else(|| at(plain)) else { return 0 };
    let Some(row) = ROWS.get(n) else { return 0 };
    let steps = steps_of(row);
    let before = steps.iter().any(|s| s.flags & (EXIT | ALWAYS) == 0) || row.vectors + row.stack > 0;
    let after = steps.iter().any(|s| s.flags & (EXIT | ALWAYS) != 0);
    (n as u32 + 1) | if before { row::BEFORE } else { 0 } | if after { row::AFTER } else { 0 }
}

/// The steps of a function.
#[inline(always)]
pub fn steps_of(row: &Row) -> &'static [capture::Step] {
    capture::steps(&STEPS, row)
}

/// The row that a slot remembers.
#[inline(always)]
pub fn of(remembered: u32) -> Option<&'static Row> {
    ROWS.get(((remembered & row::NUMBER) as usize).wrapping_sub(1))
}
