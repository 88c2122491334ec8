//! What of a snapshot is shown, and in which order: what keys change.

use crate::snapshot::{Snapshot, SumsRow};
use std::cmp::Ordering;

/// The column by which rows are sorted, the largest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SortColumn {
    Calls,
    #[default]
    Time,
    OwnTime,
    Errors,
    Name,
}

impl SortColumn {
    /// The columns by the words of the command line and the keys of the screen.
    pub const ALL: [(&str, char, SortColumn); 5] = [
        ("calls", 'c', SortColumn::Calls),
        ("time", 't', SortColumn::Time),
        ("self", 's', SortColumn::OwnTime),
        ("errors", 'e', SortColumn::Errors),
        ("name", 'n', SortColumn::Name),
    ];

    /// The column of a word.
    pub fn of_word(word: &str) -> Option<SortColumn> {
        SortColumn::ALL.iter().find(|(name, ..)| *name == word).map(|(.., column)| *column)
    }

    fn order(self, a: &SumsRow, b: &SumsRow) -> Ordering {
        let largest = match self {
            SortColumn::Calls => b.calls.cmp(&a.calls),
            SortColumn::Time => b.time_ns.cmp(&a.time_ns),
            SortColumn::OwnTime => b.self_ns.cmp(&a.self_ns),
            SortColumn::Errors => b.errors.cmp(&a.errors),
            SortColumn::Name => Ordering::Equal,
        };
        let totals = || match self {
            SortColumn::Name => Ordering::Equal,
            _ => b.total_ns.cmp(&a.total_ns),
        };
        largest.then_with(totals).then_with(|| a.name.cmp(&b.name))
    }
}

/// What rows stand for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Grouping {
    #[default]
    Functions,
    Libraries,
}

/// A key of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Letter(char),
    Enter,
    Escape,
    Backspace,
    Up,
    Down,
    PageUp,
    PageDown,
    /// Ctrl-C.
    Interrupt,
}

/// What is shown.
#[derive(Debug, Clone, Default)]
pub struct View {
    pub sort: SortColumn,
    pub grouping: Grouping,
    /// Only rows with this in their names.
    pub filter: String,
    /// A filter is being typed.
    pub is_typing: bool,
    pub is_paused: bool,
    /// The first row.
    pub first: usize,
}

/// Rows by which a page key moves.
const PAGE_ROWS: usize = 10;

impl View {
    /// The rows, in order.
    pub fn rows<'a>(&self, snapshot: &'a Snapshot) -> Vec<&'a SumsRow> {
        let all = match self.grouping {
            Grouping::Functions => &snapshot.functions,
            Grouping::Libraries => &snapshot.libraries,
        };
        let filter = self.filter.to_lowercase();
        let has_filter =
            |row: &&SumsRow| row.name.to_lowercase().contains(&filter) || row.library.to_lowercase().contains(&filter);
        let mut rows: Vec<&SumsRow> = all.iter().filter(has_filter).collect();
        rows.sort_by(|a, b| self.sort.order(a, b));
        rows
    }

    /// Takes a key: false if it ends the view.
    pub fn key(&mut self, key: Key) -> bool {
        if key == Key::Interrupt {
            return false;
        }
        if self.is_typing {
            match key {
                Key::Letter(letter) => self.filter.push(letter),
                Key::Backspace => _ = self.filter.pop(),
                Key::Escape => (self.is_typing, self.filter) = (false, String::new()),
                Key::Enter => self.is_typing = false,
                _ => {}
            }
            self.first = 0;
            return true;
        }
        match key {
            Key::Letter('q') => return false,
            Key::Letter(' ' | 'p') => self.is_paused = !self.is_paused,
            Key::Letter('l') => {
                self.grouping = match self.grouping {
                    Grouping::Functions => Grouping::Libraries,
                    Grouping::Libraries => Grouping::Functions,
                };
                self.first = 0;
            }
            Key::Letter('/') => self.is_typing = true,
            Key::Escape => self.filter.clear(),
            Key::Up => self.first = self.first.saturating_sub(1),
            Key::Down => self.first += 1,
            Key::PageUp => self.first = self.first.saturating_sub(PAGE_ROWS),
            Key::PageDown => self.first += PAGE_ROWS,
            Key::Letter(letter) => {
                let column = SortColumn::ALL.iter().find(|(_, key, _)| *key == letter);
                column.into_iter().for_each(|(.., column)| (self.sort, self.first) = (*column, 0));
            }
            Key::Enter | Key::Backspace | Key::Interrupt => {}
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot() -> Snapshot {
        let row = |name: &str, calls, time_ns, self_ns, errors| SumsRow {
            name: name.to_owned(),
            library: "libcuda.so.1".to_owned(),
            calls,
            errors,
            time_ns,
            self_ns,
            ..SumsRow::default()
        };
        let functions = vec![row("alpha", 1, 9, 2, 0), row("beta", 7, 3, 3, 1), row("gamma", 2, 5, 1, 0)];
        Snapshot { functions, ..Snapshot::default() }
    }

    fn names(view: &View) -> String {
        let snapshot = snapshot();
        view.rows(&snapshot).iter().map(|row| &row.name[..1]).collect()
    }

    #[test]
    fn keys_sort_and_filter() {
        let mut view = View::default();
        assert_eq!(names(&view), "agb");
        let mut type_in = |keys: &str| {
            keys.chars().for_each(|key| assert!(view.key(Key::Letter(key)), "{key}"));
            names(&view)
        };
        assert_eq!(type_in("c"), "bga");
        assert_eq!(type_in("s"), "bag");
        assert_eq!(type_in("e"), "bag");
        assert_eq!(type_in("n"), "abg");
        // While a filter is typed, keys are text.
        assert_eq!(type_in("/Mq"), "");
        assert!(view.key(Key::Backspace));
        assert_eq!(names(&view), "g");
        assert!(view.key(Key::Enter) && !view.key(Key::Letter('q')));
        assert!(view.key(Key::Escape));
        assert_eq!(names(&view), "abg");
        assert!(view.key(Key::Letter('l')));
        assert_eq!(names(&view), "");
    }
}
