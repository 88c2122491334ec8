//! `report --undecoded`: the arguments that were not decoded, and the functions without a description.

use super::{Input, Report, ReportKind, Takes};
use crate::notes::undecoded::undecoded_report;
use cutap_trace::{End, EventVisitor};
use std::io;

pub(super) const KIND: ReportKind = ReportKind {
    flag: "undecoded",
    help: "Arguments that were not decoded, and functions without a description, with the number of calls",
    value: Takes::Nothing,
    new: |_| Box::new(Undecoded),
};

/// The reader counts them, so they are in the end and not in the events.
struct Undecoded;

impl EventVisitor for Undecoded {}

impl Report for Undecoded {
    fn input(&mut self) -> Input<'_> {
        Input::Events(self)
    }
    fn has_notes(&self) -> bool {
        false
    }
    fn write_text(&self, end: &End, _colour: bool, out: &mut dyn io::Write) -> io::Result<()> {
        out.write_all(undecoded_report(end).as_bytes())
    }
    /// The JSON of the end has them: `raw` and `undescribed`.
    fn write_json(&self, _: &mut dyn io::Write) -> io::Result<()> {
        Ok(())
    }
}
