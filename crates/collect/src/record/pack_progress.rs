//! How far packing is, on standard error if that is a terminal: a large recording takes tens of seconds, and the user
//! who has pressed Ctrl-C waits for it.

use std::io::{IsTerminal, Write, stderr};
use std::path::Path;
use std::time::{Duration, Instant};

/// Nothing is written before, and no more often.
const SOON: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_millis(100);

/// A line that is written over, and goes when this is dropped.
pub struct PackProgress {
    doing: String,
    all_bytes: u64,
    packed_bytes: u64,
    /// When it is written next; never, without a terminal.
    due: Option<Instant>,
    is_on_screen: bool,
}

impl PackProgress {
    /// Of so many bytes.
    pub fn begin(path: &Path, all_bytes: u64) -> PackProgress {
        let due = stderr().is_terminal().then(|| Instant::now() + SOON);
        PackProgress {
            doing: format!("packing {}", path.display()),
            all_bytes,
            packed_bytes: 0,
            due,
            is_on_screen: false,
        }
    }

    /// So many more are packed.
    pub fn advance(&mut self, bytes: u64) {
        self.packed_bytes += bytes;
        let now = Instant::now();
        if self.due.is_none_or(|due| now < due) {
            return;
        }
        (self.due, self.is_on_screen) = (Some(now + STEP), true);
        let part = self.packed_bytes.saturating_mul(100) / self.all_bytes.max(1);
        let _ = write!(stderr(), "\r\x1b[Kcutap: {} {part} %", self.doing);
    }
}

impl Drop for PackProgress {
    fn drop(&mut self) {
        if self.is_on_screen {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}
