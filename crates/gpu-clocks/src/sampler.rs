//! Asks each device once a second, until the collector is gone.

use crate::clock_log::ClockLog;
use crate::nvml::{Nvml, NvmlDevice, Unusable};
use cutap_wire::gpu_clocks::{ALL_DEVICES, ClockContent, ClockSample, UNKNOWN, UNKNOWN_REASONS, state};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Between two samples.
const PERIOD: Duration = Duration::from_secs(1);
/// After so long, NVML is said not to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The file, and when NVML last came back.
struct Shared {
    log: ClockLog,
    answered: Instant,
    is_late: bool,
}

impl Shared {
    /// NVML came back, also with an error.
    fn has_answered(&mut self) {
        (self.answered, self.is_late) = (Instant::now(), false);
    }
}

/// A device that tells its clock.
struct SampledDevice {
    index: u16,
    handle: NvmlDevice,
}

/// Writes records to standard output once a second. Returns when the collector has closed standard input, or when
/// there is nothing to write.
///
/// # Errors
/// Standard output cannot be written.
pub fn sample_clocks(library: &OsStr) -> io::Result<()> {
    let no_core = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: two system calls with numbers and a structure of this function. The collector may be killed while NVML
    // hangs, and a crash in NVML must leave no file in the user's folder.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::setrlimit(libc::RLIMIT_CORE, &no_core);
    }
    let file = take_output()?;
    let shared = Shared { log: ClockLog::new(file)?, answered: Instant::now(), is_late: false };
    let shared = Arc::new(Mutex::new(shared));
    watch(shared.clone());
    let nvml = match Nvml::open(library) {
        Ok(nvml) => nvml,
        Err(why) => {
            let (state, result) = match why {
                Unusable::NoLibrary => (state::NO_LIBRARY, 0),
                Unusable::NoFunctions => (state::NO_FUNCTIONS, 0),
                Unusable::Refused(result) => (state::REFUSED, result),
            };
            return append_state(&shared, ALL_DEVICES, state, result);
        }
    };
    let devices = devices(&nvml, &shared)?;
    let begin = Instant::now();
    for n in 1.. {
        if devices.is_empty() {
            return Ok(());
        }
        for device in &devices {
            // One that is lost has none, and may have one again.
            match sample(&nvml, device.handle) {
                Some(sample) => append(&shared, device.index, ClockContent::Sample(sample))?,
                None => shared.lock().unwrap_or_else(PoisonError::into_inner).has_answered(),
            }
        }
        if wait_for_end((PERIOD * n).saturating_sub(begin.elapsed())) {
            return Ok(());
        }
    }
    Ok(())
}

/// Standard output, in whose place `/dev/null` stands from now on: NVML, or a program that it starts, may print.
fn take_output() -> io::Result<File> {
    let file = io::stdout().as_fd().try_clone_to_owned()?.into();
    let null = File::options().write(true).open("/dev/null")?;
    // SAFETY: one system call with two descriptors of this process.
    unsafe { libc::dup2(null.as_raw_fd(), libc::STDOUT_FILENO) };
    Ok(file)
}

/// Lists the devices that tell their clock, and notes those that do not.
fn devices(nvml: &Nvml, shared: &Mutex<Shared>) -> io::Result<Vec<SampledDevice>> {
    let count = match nvml.device_count() {
        Ok(count) => count,
        Err(result) => {
            append_state(shared, ALL_DEVICES, state::REFUSED, result)?;
            return Ok(Vec::new());
        }
    };
    if count == 0 {
        append_state(shared, ALL_DEVICES, state::NO_DEVICE, 0)?;
    }
    let mut devices = Vec::new();
    for index in 0..u16::try_from(count).unwrap_or(ALL_DEVICES).min(ALL_DEVICES - 1) {
        let (handle, answer) = match nvml.device(index.into()) {
            Ok(handle) => (Some(handle), nvml.sm_clock(handle)),
            Err(result) => (None, Err(result)),
        };
        if let Some(handle) = handle {
            let max_mhz = nvml.max_sm_clock(handle).unwrap_or(0).min(u16::MAX.into()) as u16;
            let (uuid, pci, name) = (nvml.uuid(handle), nvml.pci(handle), nvml.name(handle));
            append(shared, index, ClockContent::Device { max_mhz, uuid: &uuid, pci: &pci, name: &name })?;
        }
        match (handle, answer) {
            (Some(handle), Ok(_)) => devices.push(SampledDevice { index, handle }),
            (_, Err(result)) => append_state(shared, index, state::NOT_SUPPORTED, result)?,
            (None, Ok(_)) => {}
        }
    }
    Ok(devices)
}

fn sample(nvml: &Nvml, device: NvmlDevice) -> Option<ClockSample> {
    let byte = |value: Option<u32>| value.map_or(UNKNOWN, |value| value.min(u32::from(UNKNOWN) - 1) as u8);
    Some(ClockSample {
        mhz: nvml.sm_clock(device).ok()?.min(u16::MAX.into()) as u16,
        reasons: nvml.reasons(device).map_or(UNKNOWN_REASONS, |reasons| reasons as u32),
        busy_percent: byte(nvml.busy_percent(device)),
        celsius: byte(nvml.celsius(device)),
        milliwatts: nvml.milliwatts(device).unwrap_or(0),
    })
}

fn append(shared: &Mutex<Shared>, device: u16, content: ClockContent<'_>) -> io::Result<()> {
    let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
    shared.has_answered();
    shared.log.append(device, content)
}

fn append_state(shared: &Mutex<Shared>, device: u16, state: u16, result: u32) -> io::Result<()> {
    append(shared, device, ClockContent::State { state, result: result.into() })
}

/// Notes when NVML does not answer, for as long as the process exists.
fn watch(shared: Arc<Mutex<Shared>>) {
    let watching = move || {
        loop {
            thread::sleep(PERIOD);
            let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
            if !shared.is_late && shared.answered.elapsed() > PATIENCE {
                shared.is_late = true;
                let _ = shared.log.append(ALL_DEVICES, ClockContent::State { state: state::NO_ANSWER, result: 0 });
            }
        }
    };
    // Without it there is no such note.
    let _ = thread::Builder::new().spawn(watching);
}

/// Waits; true when the collector has closed standard input.
fn wait_for_end(time: Duration) -> bool {
    let mut poll = libc::pollfd { fd: 0, events: libc::POLLIN, revents: 0 };
    let milliseconds = i32::try_from(time.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: one structure of this function.
    unsafe { libc::poll(&mut poll, 1, milliseconds) > 0 }
}
