//! Which rows of a report are written, and in which order: `--sort`, `--top`, `--depth`.

use crate::statistics::call_stats::{CallStats, Column, Unit};
use std::cmp::Reverse;

/// A column of a list by which `--sort` can sort it: the heading, and the number of a row.
pub(crate) type SortKey<T> = (&'static str, fn(&T) -> u64);

/// The headings of columns.
pub(crate) fn headings<T>(keys: &[SortKey<T>]) -> Vec<&'static str> {
    keys.iter().map(|(heading, _)| *heading).collect()
}

/// The headings of the columns of [`CallStats`].
pub(crate) fn call_stats_headings() -> Vec<&'static str> {
    let mut headings: Vec<&str> = CallStats::columns().iter().map(|column| column.header).collect();
    headings.dedup();
    headings
}

/// What was asked of the rows. The default writes all, in the report's own order.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rows {
    /// The largest of the column with this heading first.
    pub sort: Option<&'static str>,
    /// So many; in a tree so many below each call.
    pub top: Option<usize>,
    /// Levels of a tree.
    pub depth: Option<usize>,
}

impl Rows {
    /// All rows.
    pub fn is_default(&self) -> bool {
        self.sort.is_none() && self.top.is_none() && self.depth.is_none()
    }

    /// Sorts the rows of a list by one of its columns, and leaves out those beyond the first ones.
    pub(crate) fn apply<T>(&self, rows: &mut Vec<T>, keys: &[SortKey<T>]) {
        if let Some((_, number)) = keys.iter().find(|(heading, _)| self.sort == Some(*heading)) {
            rows.sort_by_key(|row| Reverse(number(row)));
        }
        rows.truncate(self.top.unwrap_or(usize::MAX));
    }

    /// The same for rows that have [`CallStats`].
    pub(crate) fn apply_to_calls<T>(&self, rows: &mut Vec<T>, sums: impl Fn(&T) -> &CallStats) {
        // Shares follow from times.
        let column = |heading| CallStats::columns().iter().find(|column: &&Column| column.header == heading);
        if let Some(column) = self.sort.and_then(column) {
            // Without a call whose end is known there is no time.
            let key = |row: &T| match column.unit {
                Unit::Time | Unit::Share if sums(row).times.count() == 0 => 0,
                _ => (column.value)(sums(row)),
            };
            rows.sort_by_key(|row| Reverse(key(row)));
        }
        rows.truncate(self.top.unwrap_or(usize::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::call_stats::CallEnd;

    fn sums(calls: u64, took: u64) -> CallStats {
        let mut sums = CallStats::default();
        (0..calls).for_each(|_| sums.add(CallEnd { took_ns: Some(took), ..CallEnd::default() }));
        sums
    }

    #[test]
    fn sorted_and_cut() {
        let mut rows = vec![("a", sums(1, 900)), ("b", sums(3, 100)), ("c", sums(2, 500))];
        let names = |rows: &[(&str, CallStats)]| rows.iter().map(|r| r.0.to_owned()).collect::<Vec<_>>();
        Rows { sort: Some("calls"), ..Rows::default() }.apply_to_calls(&mut rows, |r| &r.1);
        assert_eq!(names(&rows), ["b", "c", "a"]);
        Rows { sort: Some("total"), top: Some(2), depth: None }.apply_to_calls(&mut rows, |r| &r.1);
        assert_eq!(names(&rows), ["c", "a"]);
        assert!(call_stats_headings().contains(&"p99"));
        let mut rows = vec![(1, 5), (2, 9), (3, 7)];
        let keys: [SortKey<(u64, u64)>; 2] = [("first", |row| row.0), ("second", |row| row.1)];
        Rows { sort: Some("second"), top: Some(2), depth: None }.apply(&mut rows, &keys);
        assert_eq!((rows, headings(&keys)), (vec![(2, 9), (3, 7)], vec!["first", "second"]));
    }
}
