//! A run among several that are read together: the ranks or processes of one job.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

/// What tells a run from the others.
#[derive(Debug, PartialEq, Eq)]
pub struct RunName {
    /// Its place among them, from 0.
    pub place: u32,
    /// Its rank, if each of them has another one.
    pub rank: Option<u32>,
    /// Its file or folder, as far as that tells it from the others.
    pub file: Box<str>,
}

impl Display for RunName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.rank {
            Some(rank) => write!(f, "rank {rank}"),
            None => f.write_str(&self.file),
        }
    }
}

/// How a run is read beside others: numbers of its processes, threads and functions are not those of another run, and
/// its times are those of the first one's clock.
#[derive(Debug, Clone)]
pub struct RunPlace {
    /// None if it is read alone.
    pub name: Option<Arc<RunName>>,
    /// How many runs are read.
    pub of: u32,
    /// What its CLOCK_MONOTONIC lacks to that of the first run.
    pub shift_ns: i64,
}

impl Default for RunPlace {
    fn default() -> RunPlace {
        RunPlace { name: None, of: 1, shift_ns: 0 }
    }
}

impl RunPlace {
    /// The key of the `n`th of its processes, threads or functions.
    pub(crate) fn key(&self, n: u32) -> u32 {
        n.wrapping_mul(self.of).wrapping_add(self.name.as_ref().map_or(0, |name| name.place))
    }
}
