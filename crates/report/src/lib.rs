//! From events to one output: one file per format, behind one trait. Nothing here reads a run directory,
//! pairs records or decides what is shown; nothing here writes anywhere but to the writer it was given.

pub mod api;
mod arguments;
mod by_table;
mod call_stats;
mod call_tree;
mod counts;
mod export;
mod fields;
mod footer;
mod histogram;
mod hooked;
mod json;
mod json_writer;
mod kernel;
mod label;
mod leaks;
mod length;
mod open_calls;
mod path_tree;
mod quiet;
mod reports;
mod resource_names;
mod stacks;
mod streams;
mod style;
mod summary;
mod switched;
mod table;
mod tables;
mod text;
mod undecoded;
mod units;
mod unseen;
mod values;
mod values_json;

pub use by_table::{write_json as write_table_json, write_text as write_table};
pub use call_stats::{CallStats, Column, Unit, View};
pub use call_tree::{CallPaths, CallTree};
pub use counts::Counts;
pub use export::{Chrome, Perfetto};
pub use footer::{end_lines, end_notes};
pub use json::{Json, end_line};
pub use kernel::{KernelLines, KernelStyle, kernel_call};
pub use leaks::Leaks;
pub use quiet::Quiet;
pub use reports::{EventSink, Input, Kind, REPORTS, Report, Takes};
pub use streams::Streams;
pub use summary::Summary;
pub use tables::{By, Tables};
pub use text::Text;
pub use undecoded::undecoded_report;
pub use unseen::unseen_lines;
pub use values::write_value;

use cutap_trace::{End, Event};
use std::io;

/// Something that events are written to. An error of the writer ends the output; one of kind
/// `BrokenPipe` means that the reader has seen enough, and is no failure.
pub trait Output: Send {
    /// Takes one event.
    fn event(&mut self, event: &Event) -> io::Result<()>;
    /// It is `now` (CLOCK_MONOTONIC), and all events up to then were handed in: writes what waits.
    fn tick(&mut self, now: u64) -> io::Result<()>;
    /// No event will follow.
    fn end(&mut self, end: &End) -> io::Result<()>;
    /// What it knows so far and has not written, for another in its place; `None`: nothing that it would need.
    fn kept(&self) -> Option<Vec<u8>> {
        None
    }
    /// Takes over what another kept; false when that makes no sense.
    fn take_over(&mut self, _kept: &[u8]) -> bool {
        false
    }
}
