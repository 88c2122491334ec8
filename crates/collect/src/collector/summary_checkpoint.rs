//! The sums of `trace -c` in the run directory, for a collector that replaces a killed one. The file has the sums and
//! the moment up to which they hold, and is replaced as a whole. Chunks are given back only afterwards.
//!
//! Limits: if a collector of `trace -c` is killed, an open call may be missing. Its thread must have made so many
//! others inside it that half of the ring was full (2 MiB). `record` and then `report` loses nothing.

use cutap_trace::RunPath;
use std::io::Write;
use std::time::{Duration, Instant};

/// Name of the file in the run directory.
const FILE: &str = "sums";
/// More than any has: what is longer is none of ours.
const LONGEST: usize = 256 << 20;
/// Sums are kept so often, while there is room in the rings.
const PAUSE: Duration = Duration::from_millis(50);
/// Chunks of a ring that wait at most: a quarter of it.
const MOST: usize = 8;

/// The file.
#[derive(Debug)]
pub struct SummaryCheckpoint {
    run: RunPath,
    written: Instant,
}

impl SummaryCheckpoint {
    pub fn new(run: &RunPath) -> SummaryCheckpoint {
        SummaryCheckpoint { run: run.clone(), written: Instant::now() }
    }

    /// True where there is one: what a collector that was killed added up is not lost.
    pub fn exists(run: &RunPath) -> bool {
        run.join(FILE).is_file()
    }

    /// Up to when (ticks), and the sums.
    pub fn read(&self) -> Option<(u64, Vec<u8>)> {
        let bytes = self.run.join(FILE).read(LONGEST).ok()?;
        let (ticks, sums) = bytes.split_first_chunk()?;
        Some((u64::from_le_bytes(*ticks), sums.to_vec()))
    }

    /// Whether it is time, with so many chunks waiting.
    pub fn is_due(&self, waiting: usize) -> bool {
        waiting >= MOST || waiting > 0 && self.written.elapsed() > PAUSE
    }

    /// Writes it. Where it cannot be written there is none: an old one would have less than is already gone.
    pub fn write(&mut self, ticks: u64, sums: &[u8]) {
        self.written = Instant::now();
        let new = self.run.join("sums.new");
        let bytes = [&ticks.to_le_bytes()[..], sums].concat();
        // One that was killed may have left it.
        let _ = new.remove_file();
        let written = new.create_new().and_then(|mut file| file.write_all(&bytes));
        if written.and_then(|()| new.rename(FILE)).is_err() {
            let _ = new.remove_file();
            let _ = self.run.join(FILE).remove_file();
        }
    }
}
