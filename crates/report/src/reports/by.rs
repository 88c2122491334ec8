//! `report --by`: a row of counts and times for each function, layer, library and so on.

use super::ranges::Ranges;
use super::steps::Steps;
use super::{Input, Report, ReportKind, Takes};
use crate::statistics::by_table::{write_json, write_text};
use crate::statistics::lines::Lines;
use crate::statistics::rows::{Rows, call_stats_headings};
use crate::statistics::streams::Streams;
use crate::statistics::tables::{By, Tables, WORDS};
use cutap_trace::{CountedFunction, End};
use std::borrow::Cow;
use std::io;

pub(super) const KIND: ReportKind = ReportKind {
    flag: "by",
    help: "The table by one of these (default: function)",
    value: Takes::OneOf(
        "WORD",
        &[
            "function", "layer", "library", "instance", "kernel", "thread", "process", "stream", "rank", "line",
            "range", "step",
        ],
    ),
    new: |word| match word {
        "range" => Box::new(Ranges::default()),
        "step" => Box::new(Steps::default()),
        _ => table(word),
    },
};

fn table(word: &str) -> Box<dyn Report> {
    match WORDS.iter().find(|(known, _)| *known == word).map_or(By::Function, |(_, by)| *by) {
        By::Stream => Box::new(Streams::default()),
        By::Line => Box::new(Lines::default()),
        by => Box::new(Tables::new(by)),
    }
}

impl Report for Tables {
    fn input(&mut self) -> Input<'_> {
        Input::Calls(self)
    }
    fn rows(&mut self, rows: Rows) -> bool {
        self.want(rows);
        rows.depth.is_none()
    }
    fn sort_columns(&self) -> Vec<&'static str> {
        call_stats_headings()
    }
    fn nothing(&self) -> Option<Cow<'static, str>> {
        Tables::nothing(self).map(Cow::Borrowed)
    }
    fn has_times(&self) -> bool {
        true
    }
    fn counted(&mut self, counted: &CountedFunction) {
        Tables::counted(self, counted);
    }
    fn has_counted(&self) -> bool {
        matches!(self.by(), By::Function | By::Layer | By::Library)
    }
    fn write_text(&self, _: &End, colour: bool, out: &mut dyn io::Write) -> io::Result<()> {
        write_text(self, colour, out)
    }
    fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        write_json(self, out)
    }
}

impl Report for Streams {
    fn input(&mut self) -> Input<'_> {
        Input::Events(self)
    }
    fn rows(&mut self, rows: Rows) -> bool {
        self.tables_mut().want(rows);
        rows.depth.is_none()
    }
    fn sort_columns(&self) -> Vec<&'static str> {
        call_stats_headings()
    }
    fn nothing(&self) -> Option<Cow<'static, str>> {
        self.tables().nothing().map(Cow::Borrowed)
    }
    fn has_times(&self) -> bool {
        true
    }
    fn write_text(&self, _: &End, colour: bool, out: &mut dyn io::Write) -> io::Result<()> {
        write_text(self.tables(), colour, out)
    }
    fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        write_json(self.tables(), out)
    }
}

impl Report for Lines {
    fn input(&mut self) -> Input<'_> {
        Input::Events(self)
    }
    fn rows(&mut self, rows: Rows) -> bool {
        self.tables_mut().want(rows);
        rows.depth.is_none()
    }
    fn sort_columns(&self) -> Vec<&'static str> {
        call_stats_headings()
    }
    fn needs_stacks(&self) -> bool {
        true
    }
    fn refusal(&self, run: &str) -> Option<String> {
        let none = || format!("{run} has no lines; they are kept with cutap record --python, or --stack for C and C++");
        self.is_empty().then(none)
    }
    fn has_times(&self) -> bool {
        true
    }
    fn write_text(&self, _: &End, colour: bool, out: &mut dyn io::Write) -> io::Result<()> {
        write_text(self.tables(), colour, out)
    }
    fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        write_json(self.tables(), out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of the flag are those of the tables.
    #[test]
    fn words() {
        let Takes::OneOf(_, words) = KIND.value else { panic!("{KIND:?}") };
        let (of_tables, others) = words.split_at(WORDS.len());
        assert_eq!(of_tables, WORDS.map(|(word, _)| word));
        assert_eq!(others, ["range", "step"], "reports of their own");
    }
}
