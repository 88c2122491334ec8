//! The process beside the collector that asks NVML for the clocks of the GPUs. The collector never waits for it: a
//! process that hangs in the kernel is left to its end.

use cutap_trace::RunPath;
use cutap_wire::gpu_clocks::{ALL_DEVICES, ClockContent, ClockRecord, FILE, state};
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a killed process is waited for, so that no zombie stays where none are collected.
const MOST_WAIT: Duration = Duration::from_millis(20);

/// The process, and the file of its records.
#[derive(Debug)]
pub struct ClockSampler {
    child: Child,
    file: File,
}

impl ClockSampler {
    /// Starts it. None where it could not be started, which the file says then.
    pub fn start(run: &RunPath, library: &Path) -> Option<ClockSampler> {
        let path = run.join(FILE);
        // There is one if a collector before this one was killed.
        let mut file = path.create_new().or_else(|_| path.open_file(true)).ok()?;
        file.seek(SeekFrom::End(0)).ok()?;
        let output = file.try_clone().ok()?;
        let mut command = Command::new("/proc/self/exe");
        command.arg0("cutap").arg("__gpu-clocks").arg(library);
        // It is none of the processes that a cutap around this one watches.
        command.env_remove("LD_PRELOAD").stdin(Stdio::piped()).stdout(output).stderr(Stdio::null());
        match command.spawn() {
            Ok(child) => Some(ClockSampler { child, file }),
            Err(e) => {
                append_state(&mut file, state::NOT_STARTED, e.raw_os_error().unwrap_or(0) as u64);
                None
            }
        }
    }
}

impl Drop for ClockSampler {
    /// Ends it. What it has written is in the file.
    fn drop(&mut self) {
        if let Ok(Some(status)) = self.child.try_wait() {
            if let Some(signal) = status.signal() {
                append_state(&mut self.file, state::CRASHED, signal as u64);
            }
            return;
        }
        let _ = self.child.kill();
        let begin = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && begin.elapsed() < MOST_WAIT {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

/// Appends a record after the other writer has ended. Without it, the run has no clocks and no reason for that.
fn append_state(file: &mut File, state: u16, result: u64) {
    let content = ClockContent::State { state, result };
    let record = ClockRecord { device: ALL_DEVICES, ns: cutap_trace::monotonic(), content };
    let _: io::Result<()> = file.seek(SeekFrom::End(0)).and_then(|_| file.write_all(record.pack().bytes()));
}
