//! Text tables: a name and right-aligned numbers below headers, in at most 100 columns; or the numbers first, where a
//! whole call follows. All tables for people are written here.

use crate::format::style::Styles;
use crate::format::units::time;
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

/// Columns of a table whose names are first.
pub const WIDTH: usize = 100;
/// Columns for names, at least.
const SHORTEST: usize = 20;

/// A table that is being written.
pub struct Table<'a> {
    headings: Vec<Heading>,
    /// Columns of the names, if they are first.
    name_width: Option<usize>,
    styles: Styles,
    out: &'a mut dyn io::Write,
}

impl<'a> Table<'a> {
    /// A table with these columns.
    pub fn new(headings: Vec<Heading>, styles: Styles, out: &'a mut dyn io::Write) -> Table<'a> {
        Table { headings, name_width: None, styles, out }
    }

    /// The same with the names before the numbers; the longest one has `longest` columns.
    pub fn names_first(self, longest: usize) -> Table<'a> {
        let numbers: usize = self.headings.iter().map(|heading| heading.width + 1).sum();
        let name_width = longest.min(WIDTH.saturating_sub(numbers)).max(SHORTEST);
        Table { name_width: Some(name_width), ..self }
    }

    /// Writes the headers; `last` is that of the names.
    pub fn head(&mut self, last: &str) -> io::Result<()> {
        if let Some(name_width) = self.name_width {
            write!(self.out, "{last:<name_width$}")?;
            for Heading { title, width } in &self.headings {
                write!(self.out, " {title:>width$}")?;
            }
            return writeln!(self.out);
        }
        for Heading { title, width } in &self.headings {
            write!(self.out, "{title:>width$} ")?;
        }
        writeln!(self.out, " {last}")
    }

    /// Writes a row: numbers, the name after `indent` spaces, and the library in brackets.
    pub fn row(&mut self, cells: &[Cell], indent: usize, name: &str, tag: &str) -> io::Result<()> {
        if let Some(name_width) = self.name_width {
            return self.row_of_name(cells, indent, name, tag, name_width);
        }
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

    /// A name that is too long has a line, and its numbers are below.
    fn row_of_name(
        &mut self,
        cells: &[Cell],
        indent: usize,
        name: &str,
        tag: &str,
        name_width: usize,
    ) -> io::Result<()> {
        let (name_style, tag_style) = (self.styles.name, self.styles.tag);
        write!(self.out, "{:indent$}{}{name}{}", "", name_style.render(), name_style.render_reset())?;
        if !tag.is_empty() {
            write!(self.out, "{}{tag}{}", tag_style.render(), tag_style.render_reset())?;
        }
        let columns = indent + name.chars().count() + tag.chars().count();
        let padding = match columns <= name_width {
            true => name_width - columns,
            false => {
                writeln!(self.out)?;
                name_width
            }
        };
        write!(self.out, "{:padding$}", "")?;
        for (Heading { width, .. }, cell) in self.headings.iter().zip(cells) {
            let style = if matches!(cell, Cell::Errors(1..)) { self.styles.error } else { Style::new() };
            write!(self.out, " {}{:>width$}{}", style.render(), cell.text(), style.render_reset())?;
        }
        writeln!(self.out)
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
