//! Which rows of a report are written, and in which order: `--sort`, `--top`, `--depth`.

use crate::call_stats::{CallStats, Column, Unit};
use std::cmp::Reverse;

/// What was asked of the rows. The default writes all, in the report's own order.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rows {
    /// The largest of this column first.
    pub sort: Option<&'static Column>,
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

    /// The words that `--sort` takes: headers of columns.
    pub fn words() -> Vec<&'static str> {
        let mut words: Vec<&str> = CallStats::columns().iter().map(|column| column.header).collect();
        words.dedup();
        words
    }

    /// The column of a word; none for a word that is no column.
    pub fn column(word: &str) -> Option<&'static Column> {
        // Shares follow from times.
        CallStats::columns().iter().find(|column| column.header == word)
    }

    /// Sorts rows by the column, and leaves out those beyond the first ones.
    pub fn apply<T>(&self, rows: &mut Vec<T>, sums: impl Fn(&T) -> &CallStats) {
        if let Some(column) = self.sort {
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
    use crate::call_stats::CallEnd;

    fn sums(calls: u64, took: u64) -> CallStats {
        let mut sums = CallStats::default();
        (0..calls).for_each(|_| sums.add(CallEnd { took_ns: Some(took), ..CallEnd::default() }));
        sums
    }

    #[test]
    fn sorted_and_cut() {
        let mut rows = vec![("a", sums(1, 900)), ("b", sums(3, 100)), ("c", sums(2, 500))];
        let names = |rows: &[(&str, CallStats)]| rows.iter().map(|r| r.0.to_owned()).collect::<Vec<_>>();
        Rows { sort: Rows::column("calls"), ..Rows::default() }.apply(&mut rows, |r| &r.1);
        assert_eq!(names(&rows), ["b", "c", "a"]);
        Rows { sort: Rows::column("total"), top: Some(2), depth: None }.apply(&mut rows, |r| &r.1);
        assert_eq!(names(&rows), ["c", "a"]);
        assert!(Rows::column("colour").is_none() && Rows::words().contains(&"p99"));
    }
}
