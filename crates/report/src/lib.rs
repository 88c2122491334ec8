//! Formats events: one file for each output, and one for each report of `cutap report`. This crate reads no run
//! directory, pairs no records and decides nothing about filters. It writes only to the writer that it is given.

mod allocation_size;
pub mod api;
mod arguments;
mod by_table;
mod call_bytes;
mod call_rows;
mod call_stats;
mod call_tree;
mod called_paths;
mod counts;
mod csv;
mod diff;
mod explain;
mod export;
mod failures;
mod fields;
mod fold;
mod folded_calls;
mod footer;
mod function_pattern;
mod histogram;
mod hooked;
mod json;
mod json_schema;
mod json_writer;
mod kernel;
mod kernel_name;
mod label;
mod launch;
mod leaks;
mod live_bytes;
pub mod messages;
mod messages_page;
mod missing_calls;
mod nest;
mod notes;
mod open_calls;
mod path_stacks;
mod path_tree;
mod quiet;
mod repeats;
mod repetition;
mod reports;
mod resource_names;
mod rows;
mod run_notes;
mod runs;
mod selected_functions;
mod sequence;
mod shape;
mod stacks;
mod streams;
mod style;
mod submission;
mod summary;
mod switched;
mod table;
mod tables;
mod text;
mod text_format;
mod text_parts;
mod undecoded;
mod unit;
mod units;
mod unseen;
mod values;
mod values_json;

pub use by_table::{write_json as write_table_json, write_text as write_table};
pub use call_rows::CallRows;
pub use call_stats::{CallStats, Column, Unit, View};
pub use call_tree::{CallPaths, CallTree};
pub use counts::Counts;
pub use csv::write_csv;
pub use diff::{Diff, DiffOptions, Profile, ProfileOptions};
pub use explain::Explain;
pub use export::{Chrome, Perfetto};
pub use fold::Fold;
pub use footer::{end_lines, end_notes, important_notes, program_end_note};
pub use json::{Json, end_line};
pub use json_schema::{json_lines_page, json_schema};
pub use kernel::{KernelLines, KernelStyle, kernel_call};
pub use leaks::Leaks;
pub use messages_page::messages_page;
pub use missing_calls::{may_lack_frees, missing_against, missing_calls};
pub use notes::{limit_lines, notes};
pub use quiet::Quiet;
pub use reports::{EventSink, Input, REPORTS, Report, ReportKind, Takes, all_sort_columns};
pub use rows::Rows;
pub use run_notes::notes_of_runs;
pub use selected_functions::SelectedFunctions;
pub use streams::Streams;
pub use submission::submitted;
pub use summary::Summary;
pub use tables::{By, Row, Tables};
pub use text::Text;
pub use text_format::{TextFormat, TimeColumn};
pub use undecoded::undecoded_report;
pub use units::time;
pub use unseen::unseen_lines;
pub use values::write_value;

use cutap_trace::{End, Event};
use std::io;

/// A format for events. An error of the writer ends the output. The kind `BrokenPipe` is no failure: the reader has
/// left.
pub trait Output: Send {
    /// Takes one event.
    fn event(&mut self, event: &Event) -> io::Result<()>;
    /// Takes an event whose lines the output before this one has written: only the state follows it.
    fn replay(&mut self, _event: &Event) -> io::Result<()> {
        Ok(())
    }
    /// The output before this one had written the lines that were due at `now`, and no event is replayed any more.
    fn replayed(&mut self, _now: u64) -> io::Result<()> {
        Ok(())
    }
    /// Writes the lines that are due at `now` (CLOCK_MONOTONIC). All earlier events have been passed in.
    fn tick(&mut self, now: u64) -> io::Result<()>;
    /// No event will follow.
    fn end(&mut self, end: &End) -> io::Result<()>;
    /// Ends several runs whose events came together.
    fn end_runs(&mut self, ends: &[End]) -> io::Result<()> {
        self.end(&End::joined(ends))
    }
    /// The state that a successor needs to continue this output; `None` if it needs none.
    fn saved_state(&self) -> Option<Vec<u8>> {
        None
    }
    /// Continues from the saved state of another output; false if the state is not valid.
    fn take_over(&mut self, _kept: &[u8]) -> bool {
        false
    }
}
