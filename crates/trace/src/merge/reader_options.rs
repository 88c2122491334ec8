//! Options of a reader that follows a run.

use crate::decode::state::recorded_calls::RecordedCalls;
use crate::event::RunPlace;
use crate::filter::Filter;
use crate::io::read_progress::ReadProgress;
use crate::pair::selected_calls::SelectedCalls;
use cutap_calls::known::Tables;
use std::sync::Arc;

/// How a run is to be followed.
#[derive(Debug, Clone)]
pub struct ReaderOptions {
    /// Give chunks that were read back to their writers. Only the collector of a run does.
    pub consume: bool,
    /// Ticks up to which a collector that was killed has printed all: not shown again.
    pub printed: u64,
    /// What is wanted.
    pub filter: Filter,
    /// All recorded calls are wanted, also those that a run keeps only because later calls depend on them.
    pub all_recorded: bool,
    /// Only the copies of calls are read that a flight recorder keeps because later calls depend on them.
    pub only_kept: bool,
    /// Events younger than this wait for the next round, so that those of slower threads can go first.
    pub hold_back_ns: u64,
    /// Arguments are to be understood. Without, only names, times and results are.
    pub decode: bool,
    /// Calls to be read; others are, as far as these depend on them. None: all.
    pub only: Option<SelectedCalls>,
    /// Its place among runs that are read together.
    pub place: RunPlace,
    /// Where chunks that are read are counted.
    pub progress: Arc<ReadProgress>,
    /// What is known of functions.
    pub tables: &'static Tables,
}

impl Default for ReaderOptions {
    fn default() -> ReaderOptions {
        ReaderOptions {
            consume: false,
            printed: 0,
            filter: Filter::default(),
            all_recorded: false,
            only_kept: false,
            hold_back_ns: 10_000_000,
            decode: true,
            only: None,
            place: RunPlace::default(),
            progress: Arc::default(),
            tables: &cutap_calls::generated::known::TABLES,
        }
    }
}

/// The calls that a filter lets through.
pub fn recorded_calls(filter: Filter) -> RecordedCalls {
    if filter.rules().is_empty() {
        return RecordedCalls::all();
    }
    RecordedCalls::matching(move |layer, library, name| filter.records(layer, library, name))
}
