//! The file of the run to which records are appended, whole or not at all.

use cutap_wire::gpu_clocks::{ALL_DEVICES, ClockContent, ClockRecord, MAX_BYTES, state};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::time::Duration;

/// The file of records.
#[derive(Debug)]
pub struct ClockLog {
    file: File,
    bytes: u64,
}

/// CLOCK_MONOTONIC nanoseconds.
fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills a structure of this function.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    let time = Duration::new(time.tv_sec as u64, time.tv_nsec as u32);
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl ClockLog {
    /// Appends from where the file stands.
    pub fn new(mut file: File) -> io::Result<ClockLog> {
        let bytes = file.stream_position()?;
        Ok(ClockLog { file, bytes })
    }

    /// Appends a record of this moment. An error says that there is no room for another one.
    pub fn append(&mut self, device: u16, content: ClockContent<'_>) -> io::Result<()> {
        let record = |device, content| ClockRecord { device, ns: monotonic_ns(), content }.pack();
        let packed = record(device, content);
        let full = record(ALL_DEVICES, ClockContent::State { state: state::FULL, result: 0 });
        let length = packed.bytes().len() as u64;
        if self.bytes + length + full.bytes().len() as u64 > MAX_BYTES {
            self.write(full.bytes())?;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.write(packed.bytes())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Err(e) = self.file.write_all(bytes) {
            // A reader would take a half for the beginning of the next one.
            let _ = self.file.set_len(self.bytes);
            return Err(e);
        }
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_wire::gpu_clocks::{ClockRecords, ClockSample};

    #[test]
    fn a_full_file_says_so() {
        let path = std::env::temp_dir().join(format!("cutap-clock-log-{}", std::process::id()));
        let mut file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        file.seek(io::SeekFrom::Start(MAX_BYTES - 100)).unwrap();
        let mut log = ClockLog::new(file.try_clone().unwrap()).unwrap();
        let sample = ClockContent::Sample(ClockSample { mhz: 345, ..ClockSample::default() });
        let mut appended = 0;
        while log.append(0, sample).is_ok() {
            appended += 1;
        }
        assert_eq!((appended, log.bytes), (3, MAX_BYTES - 4));
        let mut bytes = [0; 96];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes, MAX_BYTES - 100).unwrap();
        let last = ClockRecords(&bytes).last().map(|record| record.content);
        assert_eq!(last, Some(ClockContent::State { state: state::FULL, result: 0 }));
    }
}
