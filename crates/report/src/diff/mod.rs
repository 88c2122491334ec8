//! `cutap diff A B`: functions whose number of calls, errors or arguments differ between two runs. What differs from
//! run to run anyway is no difference: host addresses, device addresses inside the same allocation, process ids,
//! order, times.

mod json;
mod key;
mod normal;
mod profile;
mod text;

pub use profile::{Profile, ProfileOptions};

use crate::statistics::rows::{Rows, SortKey};
use cutap_trace::ProgramEnd;
use key::FunctionKey;
use profile::Sums;
use std::collections::BTreeSet;

/// Smallest difference in time that counts: a part of the first run, and nanoseconds. The last line of the text names
/// both.
const LEAST: (f64, u64) = (0.2, 1_000_000);

/// What is compared, and which of the differences are listed.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiffOptions {
    /// Times too.
    pub times: bool,
    /// Only functions that fail with a status more often in B than in A.
    pub new_errors: bool,
    /// The order of the list, and its length.
    pub rows: Rows,
}

/// A function that differs. One of the two runs may have no call of it.
#[derive(Debug, Clone, Copy)]
struct Row<'a> {
    key: &'a FunctionKey,
    a: Option<&'a Sums>,
    b: Option<&'a Sums>,
}

impl Row<'_> {
    /// By how much a number differs.
    fn change(&self, number: impl Fn(&Sums) -> u64) -> u64 {
        self.a.map_or(0, &number).abs_diff(self.b.map_or(0, number))
    }

    fn differs(&self, times: bool) -> bool {
        let (Some(a), Some(b)) = (self.a, self.b) else { return true };
        (a.calls, a.errors, a.open, &a.arguments, a.more) != (b.calls, b.errors, b.open, &b.arguments, b.more)
            || times && changed_times(a, b).is_some()
    }

    /// B has more failed calls with some status than A.
    fn has_new_error(&self) -> bool {
        let before = |status: &str| self.a.and_then(|a| a.statuses.get(status)).copied().unwrap_or(0);
        self.b.is_some_and(|b| b.statuses.iter().any(|(status, count)| *count > before(status)))
    }
}

/// The word of `--sort` for the alphabetical order.
const BY_NAME: &str = "name";

fn sort_keys<'a>() -> [SortKey<Row<'a>>; 4] {
    [
        ("calls", |row| row.change(|sums| sums.calls)),
        ("errors", |row| row.change(|sums| sums.errors)),
        ("bytes", |row| row.change(|sums| sums.bytes)),
        ("time", |row| row.change(Sums::own_ns)),
    ]
}

/// The differences of two runs.
#[derive(Debug)]
pub struct Diff<'a> {
    a: &'a Profile,
    b: &'a Profile,
    options: DiffOptions,
    /// What is listed.
    rows: Vec<Row<'a>>,
    /// Functions that differ and are not listed.
    left_out: usize,
    /// How the programs ended, if that differs.
    program_ends: Option<[ProgramEnd; 2]>,
}

impl<'a> Diff<'a> {
    /// Compares.
    pub fn new(a: &'a Profile, b: &'a Profile, options: DiffOptions) -> Diff<'a> {
        let all: BTreeSet<&FunctionKey> = a.functions.keys().chain(b.functions.keys()).collect();
        let rows = all.into_iter().map(|key| Row { key, a: a.functions.get(key), b: b.functions.get(key) });
        let is_wanted = |row: &Row| if options.new_errors { row.has_new_error() } else { row.differs(options.times) };
        let mut rows: Vec<Row> = rows.filter(is_wanted).collect();
        if options.rows.sort == Some(BY_NAME) {
            rows.sort_by_key(|row| &row.key.name);
        }
        let row_count = rows.len();
        options.rows.apply(&mut rows, &sort_keys());
        Diff { a, b, options, left_out: row_count - rows.len(), rows, program_ends: None }
    }

    /// Compares how the programs ended, where that is known of both. With `new_errors` only a failure in B counts.
    #[must_use]
    pub fn with_program_ends(self, a: Option<ProgramEnd>, b: Option<ProgramEnd>) -> Diff<'a> {
        let only_failures = self.options.new_errors;
        let differing = a.zip(b).filter(|(a, b)| a != b && (b.is_failure() || !only_failures));
        Diff { program_ends: differing.map(|(a, b)| [a, b]), ..self }
    }

    /// The programs ended in different ways.
    pub fn program_ends_differ(&self) -> bool {
        self.program_ends.is_some()
    }

    /// The words of `--sort`.
    pub fn sort_columns() -> Vec<&'static str> {
        [BY_NAME].into_iter().chain(crate::statistics::rows::headings(&sort_keys())).collect()
    }

    /// Nothing differs, or with `new_errors` there is no new one.
    pub fn is_empty(&self) -> bool {
        !self.has_rows() && self.program_ends.is_none()
    }

    /// A function differs.
    fn has_rows(&self) -> bool {
        !self.rows.is_empty() || self.left_out > 0
    }
}

/// Both times, if they differ by enough to be no accident. Start-up is no part of them.
fn changed_times(a: &Sums, b: &Sums) -> Option<(u64, u64)> {
    let by = a.own_ns().abs_diff(b.own_ns());
    (!a.is_start_up && by > LEAST.1 && by as f64 > LEAST.0 * a.own_ns() as f64).then(|| (a.own_ns(), b.own_ns()))
}

/// Arguments that one run has more often than the other, with the number of calls.
fn only_in<'a>(of: &'a Sums, other: Option<&Sums>) -> Vec<(&'a str, u64)> {
    let of_other = |text: &str| other.and_then(|other| other.arguments.get(text)).copied().unwrap_or(0);
    let more = of.arguments.iter().map(|(text, count)| (&**text, count.saturating_sub(of_other(text))));
    more.filter(|(_, count)| *count > 0).collect()
}
