//! An open run, and how far it could be read. Refuses what is no run of cutap, and what another version wrote.

use super::disk::Disk;
use super::error::Error;
use super::facts::{RecordingCoverage, RunHost, Switched, SwitchedTo};
use super::prefetch::DamagedBlocks;
use super::recording::Recording;
use crate::io::bytes::{read_at, u32_at, u64_at};
use crate::io::clock::monotonic;
use crate::io::read_progress::ReadProgress;
use crate::io::run_path::RunPath;
use crate::io::store::Store;
use crate::io::unopened_files::is_short;
use crate::ring::damage::Reuse;
use cutap_file::Why;
use cutap_printable::printable;
use cutap_wire::{MAGIC, PAGE, VERSION, control, process};
use std::collections::BTreeSet;
use std::fs::File;
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A run directory or a recording.
#[derive(Debug)]
pub struct RunReader {
    pub(crate) store: Arc<dyn Store>,
    recorded: Option<(RecordingCoverage, DamagedBlocks)>,
    path: PathBuf,
}

impl RunReader {
    /// Opens it. It may be empty of processes when it has a control page.
    pub(crate) fn new(run: &Path) -> Result<RunReader, Error> {
        RunReader::with_progress(run, &Arc::default())
    }

    /// The same; chunks that are read of a recording are counted.
    pub(crate) fn with_progress(run: &Path, progress: &Arc<ReadProgress>) -> Result<RunReader, Error> {
        let recorded = if run.is_file() { Some(Recording::open(run, progress)?) } else { None };
        let read = recorded.as_ref().map(|r| {
            let (completed, holes, read_before) = (r.completed, r.lacks, r.read_before);
            let recording =
                RecordingCoverage { cut: r.cut, damaged: 0, completed, holes, read_before, unread: r.unread.clone() };
            (recording, r.damaged.clone())
        });
        let unreadable = |source| Error::Unreadable { path: run.to_owned(), source };
        let store: Arc<dyn Store> = match recorded {
            Some(recorded) => Arc::new(recorded),
            None => Arc::new(Disk(RunPath::open(run).map_err(unreadable)?)),
        };
        let names: Vec<String> = store.processes().map_err(unreadable)?;
        match store.control() {
            Ok(page) => {
                let version = u32_at(&page, offset_of!(control::Control, version));
                if u64_at(&page, 0) != MAGIC {
                    if read.is_none() && !names.is_empty() {
                        return Err(Error::Damaged { path: run.to_owned() });
                    }
                    return Err(Error::NotARun { path: run.to_owned() });
                }
                if version != VERSION {
                    return Err(Error::OtherVersion { path: run.to_owned(), version });
                }
            }
            Err(e) if is_short(&e) => return Err(unreadable(e)),
            Err(_) if names.is_empty() && read.is_none() => return Err(Error::NotARun { path: run.to_owned() }),
            Err(_) => {
                if let Some(version) =
                    names.iter().find_map(|name| page_version(&*store, name)).filter(|v| *v != VERSION)
                {
                    return Err(Error::OtherVersion { path: run.to_owned(), version });
                }
            }
        }
        Ok(RunReader { store, recorded: read, path: run.to_owned() })
    }

    /// How far a recording could be read up to now; none for a run directory.
    pub fn recording(&self) -> Option<RecordingCoverage> {
        let (recording, damaged) = self.recorded.as_ref()?;
        Some(RecordingCoverage { damaged: damaged.lock().map_or(0, |all| all.len() as u32), ..recording.clone() })
    }

    /// CLOCK_MONOTONIC until which a collector has watched the run; 0 without one.
    pub(crate) fn watched_until(&self) -> u64 {
        let is_open = self.recorded.as_ref().is_some_and(|(recording, _)| recording.cut.why == Why::Open);
        if is_open && is_being_written(&self.path) {
            return monotonic();
        }
        let page = self.store.control().unwrap_or_default();
        u64_at(&page, offset_of!(control::Control, heartbeat))
    }

    /// It is a recording: what it says of processes is of the time when it was made.
    pub(crate) fn is_recording(&self) -> bool {
        self.recorded.is_some()
    }

    /// Ticks a second as the collector measured it, 0 if it did not.
    pub(crate) fn ticks_per_second(&self) -> u64 {
        let page = self.store.control().unwrap_or_default();
        u64_at(&page, offset_of!(control::Control, ticks_per_second))
    }

    /// Processes that counted themselves in the control page because they could do nothing else.
    pub(crate) fn failed(&self) -> u32 {
        let page = self.store.control().unwrap_or_default();
        u32_at(&page, offset_of!(control::Control, failed))
    }

    /// Processes that were left alone because of their C library, and file names of their programs, as many as found
    /// room.
    pub(crate) fn left_alone(&self) -> (u32, BTreeSet<String>) {
        let page = self.store.control().unwrap_or_default();
        // A page that was made before there was a place for them may have rules there.
        if u32_at(&page, offset_of!(control::Control, rules_len)) as usize > control::RULES_BYTES {
            return (0, BTreeSet::new());
        }
        let from = offset_of!(control::Control, left_names);
        let names = page.get(from..from + control::LEFT_NAMES_BYTES).unwrap_or_default().split(|b| *b == 0);
        let names = names.filter(|n| !n.is_empty()).map(|n| printable(&String::from_utf8_lossy(n)).into_owned());
        (u32_at(&page, offset_of!(control::Control, left_alone)), names.collect())
    }

    /// What was recorded, as rules of the control page; none without a page.
    pub(crate) fn rules(&self) -> Option<String> {
        let page = self.store.control().ok()?;
        let len = u32_at(&page, offset_of!(control::Control, rules_len)) as usize;
        let from = offset_of!(control::Control, rules);
        let rules = page.get(from..from.checked_add(len.min(control::RULES_BYTES))?)?;
        Some(String::from_utf8_lossy(rules).into_owned())
    }

    /// The text of the filter that it was made with; none if there was none, or if `cutap ctl` has asked for other
    /// calls since.
    pub(crate) fn filter(&self) -> Option<String> {
        self.made_with_filter().filter(|_| !self.filter_changed())
    }

    /// The text of the filter that it was begun with, whatever `cutap ctl` has asked for since.
    pub(crate) fn made_with_filter(&self) -> Option<String> {
        self.store.run_text(control::FILTER).filter(|text| !text.trim().is_empty())
    }

    /// The rank of the run in its job, if it is known.
    pub(crate) fn rank(&self) -> Option<u32> {
        self.store.run_text(control::RANK)?.trim().parse().ok()
    }

    /// Where it was made, and what the launcher told.
    pub(crate) fn host(&self) -> RunHost {
        RunHost::parse(&self.store.run_text(control::HOST).unwrap_or_default(), self.rank())
    }

    /// What `cutap where --json` said when the run hung.
    pub(crate) fn hang(&self) -> Option<String> {
        self.store.run_text(control::HANG)
    }

    /// Recording was off for a while, or other calls were wanted than the filter says.
    pub(crate) fn is_partial(&self) -> bool {
        let page = self.store.control().unwrap_or_default();
        let flags = u64_at(&page, offset_of!(control::Control, flags));
        flags & (control::RANGE | control::SWITCHED) != 0
            || u32_at(&page, offset_of!(control::Control, rules_epoch)) != 0
    }

    /// `cutap ctl` has changed what is recorded, of some process or of all.
    pub(crate) fn filter_changed(&self) -> bool {
        let (switched, more) = self.switched();
        more > 0 || switched.iter().any(|s| matches!(s.to, SwitchedTo::Filter | SwitchedTo::NoFilter))
    }

    /// The page says that no stacks are kept: there is none, whatever was recorded.
    pub fn keeps_no_stacks(&self) -> bool {
        let Ok(page) = self.store.control() else { return false };
        let flags = u64_at(&page, offset_of!(control::Control, flags));
        u32_at(&page, offset_of!(control::Control, stack_bytes)) == 0 && flags & control::PYTHON == 0
    }

    /// When the run was switched, as far as the page has it, and how often beyond that.
    pub(crate) fn switched(&self) -> (Vec<Switched>, u32) {
        let page = self.store.control().unwrap_or_default();
        let times = u32_at(&page, offset_of!(control::Control, switches));
        let listed = (times as usize).min(control::SWITCHES);
        let one = |n: usize| {
            let at = offset_of!(control::Control, switched) + n * 16;
            let to = match u32_at(&page, at + 8) {
                control::RULES_CHANGED => SwitchedTo::Filter,
                control::RULES_ALL => SwitchedTo::NoFilter,
                control::RECORDING_ON | control::RECORDING_COUNT => SwitchedTo::On,
                _ => SwitchedTo::Off,
            };
            Switched { ns: u64_at(&page, at), to, pid: u32_at(&page, at + 12) }
        };
        ((0..listed).map(one).collect(), times - listed as u32)
    }

    /// GPU time was asked for.
    pub fn has_gpu_time(&self) -> bool {
        let page = self.store.control().unwrap_or_default();
        u64_at(&page, offset_of!(control::Control, flags)) & control::GPU_TIME != 0
    }

    /// Calls of functions that start no work were counted (--chatter=count).
    pub(crate) fn counts_chatter(&self) -> bool {
        let page = self.store.control().unwrap_or_default();
        u64_at(&page, offset_of!(control::Control, flags)) & control::COUNT_CHATTER != 0
    }

    /// Calls were counted, and none was recorded (-C).
    pub(crate) fn only_counts(&self) -> bool {
        let page = self.store.control().unwrap_or_default();
        u64_at(&page, offset_of!(control::Control, flags)) & control::COUNT != 0
    }

    /// A full ring drops what comes; recording begins with cuProfilerStart.
    pub(crate) fn is_lossy_or_range(&self) -> (bool, bool) {
        let page = self.store.control().unwrap_or_default();
        let flags = u64_at(&page, offset_of!(control::Control, flags));
        (flags & control::LOSSY != 0, flags & control::RANGE != 0)
    }

    /// Its control page is there.
    pub(crate) fn has_control(&self) -> bool {
        self.store.control().is_ok()
    }

    /// It is a run directory whose chunks a collector reads, or has read, and gives back.
    pub(crate) fn is_drained(&self) -> bool {
        let page = self.store.control().unwrap_or_default();
        let collector = u32_at(&page, offset_of!(control::Control, collector));
        self.recorded.is_none() && collector != control::COLLECTOR_NEVER && self.forgotten().is_none()
    }

    /// Who takes chunks of its rings again. Without a control page nobody knows.
    pub(crate) fn reuse(&self) -> Reuse {
        match (self.forgotten().is_some(), !self.has_control() || self.is_drained()) {
            (true, _) => Reuse::Any,
            (false, true) => Reuse::Read,
            (false, false) => Reuse::Never,
        }
    }

    /// Of a flight recorder, whose older calls were written over by newer ones: the calls of processes that are not
    /// here any more.
    pub(crate) fn forgotten(&self) -> Option<u64> {
        let page = self.store.control().unwrap_or_default();
        let flags = u64_at(&page, offset_of!(control::Control, flags));
        (flags & control::FLIGHT != 0).then(|| u64_at(&page, offset_of!(control::Control, forgotten)))
    }
}

/// Whether the collector that writes a recording still has it.
fn is_being_written(path: &Path) -> bool {
    let lock = |file: File| rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockShared);
    File::open(path).is_ok_and(|file| lock(file) == Err(rustix::io::Errno::WOULDBLOCK))
}

/// The version that the page of a process names; `None` while the page is not finished.
fn page_version(store: &dyn Store, name: &str) -> Option<u32> {
    let mut page = Vec::new();
    read_at(&*store.open(name, process::FILE, false).ok()?, 0, PAGE, &mut page).ok()?;
    (u64_at(&page, offset_of!(process::Process, magic)) == MAGIC)
        .then(|| u32_at(&page, offset_of!(process::Process, version)))
}
