//! Formats events: one file for each output, and one for each report of `cutap report`. This crate reads no run
//! directory, pairs no records and decides nothing about filters. It writes only to the writer that it is given.

pub mod api;
mod call;
mod call_text;
mod collectives;
mod diff;
mod explain;
mod export;
mod format;
mod hang;
mod nesting;
mod notes;
mod outputs;
mod reports;
mod resources;
mod statistics;
mod tables;

pub use call::columns::{
    CallColumn, CallView, ColumnType, ColumnUnit, ColumnValue, Presence, Structured, call_column, call_columns,
};
pub use call::detail::CallDetail;
pub use call::kernel::kernel_call;
pub use call::submission::submitted;
pub use call::values::write_value;
pub use call_text::fold::Fold;
pub use call_text::text::Text;
pub use call_text::text_format::{TextFormat, TimeColumn};
pub use diff::{Diff, DiffOptions, Profile, ProfileOptions};
pub use explain::Explain;
pub use export::{Chrome, GpuSlice, GpuTracks, OpenRange, Perfetto, RangeTracks};
pub use format::csv::write_csv;
pub use format::label::Label;
pub use format::units::{bytes as format_bytes, time};
pub use hang::{
    HangDocument, HangState, LiveThread, ProcessState, StreamWait, ThreadState, WorkState, write_documents, write_wait,
};
pub use notes::footer::{end_lines, end_notes, host_line, important_notes, program_end_note, unopened_range_line};
pub use notes::gpu_clocks::{clock_lines, clocks_line};
pub use notes::gpu_time::{INVENTED, collection_line, gpu_time_lines};
pub use notes::messages;
pub use notes::messages_page::messages_page;
pub use notes::missing_calls::{ended_early, may_lack_frees, missing_against, missing_calls};
pub use notes::note_limit::{limit_lines, notes};
pub use notes::run_notes::notes_of_runs;
pub use notes::undecoded::undecoded_report;
pub use notes::unseen::unseen_lines;
pub use outputs::call_rows::CallRows;
pub use outputs::counts::Counts;
pub use outputs::json::{Json, end_line};
pub use outputs::json_schema::{json_lines_page, json_schema};
pub use outputs::kernel_lines::{KernelLines, KernelStyle};
pub use outputs::quiet::Quiet;
pub use outputs::summary::Summary;
pub use reports::{
    AllocationPlace, Allocations, EventSink, HeldStep, Input, REPORTS, Report, ReportKind, Takes, all_sort_columns,
    gpu_kernels,
};
pub use resources::baseline::{Baseline, ProblemKey, ProblemSize};
pub use resources::ended_calls::{CallPlace, EndedCalls};
pub use resources::leaks::Leaks;
pub use resources::selected_functions::SelectedFunctions;
pub use statistics::by_table::{write_json as write_table_json, write_text as write_table};
pub use statistics::call_stats::{CallStats, Column, Unit, View};
pub use statistics::call_tree::{CallPaths, CallTree, Chain};
pub use statistics::histogram::Histogram;
pub use statistics::rows::Rows;
pub use statistics::streams::Streams;
pub use statistics::tables::{By, Row, Tables};
pub use tables::{
    ArgumentCell, Cell, Field, FieldType, SCHEMA_VERSION, TableRows, TableSchema, TableSink, table_schemas, tables_page,
};

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
