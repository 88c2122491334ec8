//! Text tables: right-aligned numbers below headers, then a name. All tables for people are written here.

use crate::style::Styles;
use crate::units::time;
use anstyle::Style;
use std::io;

/// The header of a column of numbers.
#[derive(Debug, Clone, Copy)]
pub struct Heading {
    pub title: &'static str,
    /// Characters.
    pub width: usize,
}

/// A number of a row.
#[derive(Debug, Clone, Copy)]
pub enum Cell {
    /// A plain number.
    Count(u64),
    /// A number that is coloured unless it is 0.
    Errors(u64),
    /// Nanoseconds; `None` where no call has a duration.
    Time(Option<u64>),
    /// From 0 to 1.
    Share(f64),
}

impl Cell {
    fn text(self) -> String {
        match self {
            Cell::Count(n) | Cell::Errors(n) => n.to_string(),
            Cell::Time(None) => "-".to_owned(),
            Cell::Time(Some(ns)) => time(ns),
            Cell::Share(share) => format!("{:.1}%", 100.0 * share),
        }
    }
}

/// A table that is being written.
pub struct Table<'a> {
    headings: Vec<Heading>,
    styles: Styles,
    out: &'a mut dyn io::Write,
}

impl<'a> Table<'a> {
    /// A table with these columns.
    pub fn new(headings: Vec<Heading>, styles: Styles, out: &'a mut dyn io::Write) -> Table<'a> {
        Table { headings, styles, out }
    }

    /// Writes the headers; `last` is that of the names.
    pub fn head(&mut self, last: &str) -> io::Result<()> {
        for Heading { title, width } in &self.headings {
            write!(self.out, "{title:>width$} ")?;
        }
        writeln!(self.out, " {last}")
    }

    /// Writes a row: numbers, the name after `indent` spaces, and the library in brackets.
    pub fn row(&mut self, cells: &[Cell], indent: usize, name: &str, tag: &str) -> io::Result<()> {
        for (Heading { width, .. }, cell) in self.headings.iter().zip(cells) {
            let style = if matches!(cell, Cell::Errors(1..)) { self.styles.error } else { Style::new() };
            write!(self.out, "{}{:>width$}{} ", style.render(), cell.text(), style.render_reset())?;
        }
        let (named, tagged) = (self.styles.name, self.styles.tag);
        write!(self.out, " {:indent$}{}{name}{}", "", named.render(), named.render_reset())?;
        match tag {
            "" => writeln!(self.out),
            _ => writeln!(self.out, "{}{tag}{}", tagged.render(), tagged.render_reset()),
        }
    }

    /// The writer, for lines below a row.
    pub fn out(&mut self) -> &mut dyn io::Write {
        self.out
    }

    /// Writes a line below a row.
    pub fn line(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.out, "{line}")
    }
}

/// Part of the whole, from 0 to 1.
pub fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
