//! GPU time: which call submitted each row of CUPTI, and what the GPU did for a call. A run with rows is read once
//! before its events are handed out, because rows come up to a second after their calls.

pub(crate) mod checks;
pub(crate) mod clock;
pub(crate) mod expected;
pub(crate) mod graphs;
pub(crate) mod join;
pub(crate) mod origins;
pub(crate) mod sm_clocks;
pub(crate) mod submissions;
pub(crate) mod waits;
pub(crate) mod work;

pub use clock::CuptiClock;
pub use graphs::{ExecutableGraph, GraphNodes, Graphs, NodeOrigin};
pub use join::{GpuSummary, GpuTimes, MissingTime, RowCounts, WorkRows};
pub use sm_clocks::{ClockMoment, ClockState, ClockedDevice, GpuClocks, SlowTime, WorkClocks};
pub use submissions::{Label as CallLabel, submits_work};
pub use work::{SubmittedBy, WorkRow};
