//! The words about when calls are recorded and what happens when there is no room, of several commands.

use clap::{Args, ValueEnum};
use cutap_collect::{FlightRecorderSize, OverflowPolicy};

/// What a thread does that calls faster than its calls can be written down.
#[derive(Debug, Args)]
pub struct OverflowArgs {
    /// Never wait: drop calls that do not fit, and count them
    #[arg(long)]
    lossy: bool,
    /// Keep only the newest calls, SIZE (as 4M) for each thread, TOTAL for processes that have ended (1G if nothing is said), and write
    /// them at the end or by cutap ctl PID dump
    #[arg(long, value_name = "SIZE[,TOTAL]", conflicts_with = "lossy")]
    flight_recorder: Option<FlightRecorderSize>,
}

impl OverflowArgs {
    /// What they mean.
    pub fn full(&self) -> OverflowPolicy {
        OverflowPolicy::from_words(self.lossy, self.flight_recorder)
    }
}

/// When calls are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Range {
    /// Between cuProfilerStart and cuProfilerStop.
    Profiler,
}
