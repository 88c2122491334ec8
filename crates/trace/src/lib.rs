//! From bytes to typed events: pair, order, align clocks, name.
//!
//! [`EventReader`] reads a run directory, while it is written or after, and delivers [`Event`]s in time order. All
//! input was written by a process that may have died at any byte, or that wants to harm. Nothing panics on bytes,
//! nothing is mapped, and every number is checked before it is used as a size. Formatting is the job of `cutap-report`.

mod aggregate;
pub mod decode;
mod event;
mod filter;
mod gpu_time;
mod io;
mod kernels;
mod merge;
mod pair;
mod ring;
mod run;
mod summary;
mod symbols;
#[cfg(feature = "synthetic")]
pub mod synthetic;

pub use aggregate::aggregator::Aggregator;
pub use aggregate::sink::{CallSink, FinishedCall, KernelLaunch};
pub use cutap_file::{Cut, Why};
pub use cutap_printable::printable;
pub use cutap_stacks::{Absent, End as StackEnd, Frame, Stack};
pub use cutap_wire::names::DEFAULT_DOMAIN;
pub use event::pieces::{CapturedMemory, Pieces, Submitted};
pub use event::{
    Answer, Args, ByName, Call, CallStart, DriverArgs, Event, EventVisitor, Exit, Function, GpuRow, GpuWork,
    HookAction, HookEffect, Instance, Layer, Log, Lookup, LookupKind, Module, Outcome, Process, Returned, Returns,
    RunName, RunPlace, State, Thread,
};
pub use event::{NAMELESS_END, RangeMoment};
pub use filter::did_you_mean::did_you_mean;
pub use filter::function_match::{FunctionMatch, find_function};
pub use filter::{Filter, FilterError, TimeWindow};
pub use gpu_time::{
    CallLabel, ClockMoment, ClockState, ClockedDevice, CuptiClock, ExecutableGraph, GpuClocks, GpuSummary, GpuTimes,
    GraphNodes, Graphs, MissingTime, NodeOrigin, RowCounts, SlowTime, SubmittedBy, WorkClocks, WorkRow, WorkRows,
    submits_work,
};
pub use io::clock::{Rate, monotonic};
pub use io::file::{Bytes, open_file};
pub use io::file_cache::CachedFile;
pub use io::pages::{ChunkPage, RingPage};
pub use io::read_progress::ReadProgress;
pub use io::run_path::RunPath;
pub use io::unopened_files::is_short;
pub use merge::end::MissedCalls;
pub use merge::event_reader::{Delivery, EventReader};
pub use merge::reader_options::ReaderOptions;
pub use merge::runs::{FinishedRun, Runs};
pub use pair::selected_calls::SelectedCalls;
pub use ring::call_count::CallCount;
pub use ring::chunk_file::in_order;
pub use ring::file::RingFile;
pub use ring::lost_calls::LostCalls;
pub use ring::raw::{RawChunk, RawRing};
pub use run::cells::walk_cells;
pub use run::error::Error;
pub use run::facts::{Diagnostic, RecordingCoverage, RunHost, Switched, SwitchedTo};
pub use run::listing::Listing;
pub use run::liveness::{environment_of, is_gone, living, text_of_proc};
pub use run::names_complete::{has_all_names, is_whole};
pub use run::names_file::{NamesFile, NamesItem as NamesFound};
pub use run::run_reader::RunReader;
pub use summary::counted::CountedFunction;
pub use summary::damage::damaged;
pub use summary::end::{Damage, End};
pub use summary::end_parts::{Count, Diagnostics, IncompleteFunctions, MissingRecords, RunProcesses, RunSettings};
pub use summary::filter_outcome::{FilterOutcome, MissingParameter};
pub use summary::noticed::{noticed, overview};
pub use summary::program_end::{ProgramEnd, signal_name};
pub use summary::run_coverage::RunCoverage;
