//! Keeps a flight recorder small when a program starts many processes. Of processes that have ended, the most recent
//! callers are kept, up to a number of bytes, and at least one. The calls of the others are a number in the control
//! page.
//!
//! Nothing is taken from a process that may live, or while the rings are copied. A collector that is killed halfway
//! counts nothing twice.

use crate::record::MOST_RINGS;
use crate::run_dir::control::{Page, monotonic_ns};
use cutap_trace::{ChunkPage, RingFile, RingPage, RunPath, living};
use cutap_wire::diagnostic::{CALL_DROPPED, CALL_DROPPED_LOSSY};
use cutap_wire::process::{self, Process};
use cutap_wire::ring::{CHUNK_HEADER, FREE, chunk_offset};
use std::fs;
use std::mem::offset_of;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::{Duration, Instant};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(500);
/// Who copies rings gives a sign of life more often.
const COPIED_NS: u64 = 5_000_000_000;
/// A folder that is about to go: `gone-CALLS-NAME`, with the number that the control page has once it is gone.
const GONE: &str = "gone-";

/// What keeps it small.
#[derive(Debug)]
pub struct Retention {
    total: u64,
    last_scan: Option<Instant>,
}

/// The folder of a process of which no thread lives.
struct EndedProcess {
    folder: RunPath,
    name: String,
    /// When it started.
    started_ns: u64,
    /// When it began its last chunk.
    last: u64,
    bytes: u64,
    calls: u64,
}

impl Retention {
    /// `total` bytes; 0: no bound.
    pub fn new(run: &RunPath, page: &Page, total: u64) -> Retention {
        // What a collector before this one did not bring to its end.
        for name in run.list().unwrap_or_default() {
            if let Some(calls) = name.strip_prefix(GONE).and_then(|rest| rest.split('-').next()?.parse().ok()) {
                remove(page, &run.join(&name), calls);
            }
        }
        Retention { total, last_scan: None }
    }

    /// Looks, if it is time.
    pub fn round(&mut self, run: &RunPath, page: &Page) {
        if self.total == 0 || self.last_scan.is_some_and(|at| at.elapsed() < PAUSE) {
            return;
        }
        self.last_scan = Some(Instant::now());
        self.trim(run, page, false);
    }

    /// When all have ended: once more, for those since. The first process, which is the program itself, stays, as it
    /// did while it ran.
    pub fn last(&self, run: &RunPath, page: &Page) {
        if self.total > 0 {
            self.trim(run, page, true);
        }
    }

    fn trim(&self, run: &RunPath, page: &Page, last: bool) {
        let names = run.list().unwrap_or_default().into_iter().filter(|name| name.starts_with('p'));
        let mut processes: Vec<EndedProcess> = names.filter_map(|name| EndedProcess::scan(run, name)).collect();
        let mut bytes: u64 = processes.iter().map(|e| e.bytes).sum();
        if bytes <= self.total {
            return;
        }
        processes.sort_by_key(|e| e.last);
        // The one that called last is the one that is looked for after a crash.
        processes.pop();
        let first = processes.iter().map(|e| e.started_ns).min().filter(|_| last);
        processes.retain(|e| Some(e.started_ns) != first);
        let living = maps();
        for one in processes {
            let copied = monotonic_ns().saturating_sub(page.copied_at()) < COPIED_NS;
            if bytes <= self.total || copied {
                return;
            }
            if living.iter().all(|process| process.is_done_with(&one.name)) {
                bytes -= one.bytes;
                let calls = page.forgotten().saturating_add(one.calls);
                let doomed_name = format!("{GONE}{calls}-{}", one.name);
                if one.folder.rename(&doomed_name).is_ok() {
                    remove(page, &run.join(doomed_name), calls);
                }
            }
        }
    }
}

/// Removes a folder whose name says how many calls are forgotten with it.
fn remove(page: &Page, folder: &RunPath, calls: u64) {
    page.put_forgotten(page.forgotten().max(calls));
    let _ = folder.remove_folder();
}

impl EndedProcess {
    /// None: a thread of it may live, or it cannot be read.
    fn scan(run: &RunPath, name: String) -> Option<EndedProcess> {
        let (mut last, mut bytes, mut calls) = (0, 0, 0u64);
        let folder = run.join(&name);
        for file in folder.list().ok()? {
            // A link to other names takes no room.
            bytes +=
                folder.join(file).open_file(false).and_then(|file| file.metadata()).map_or(0, |m| m.blocks() * 512);
        }
        let proc = folder.join(process::FILE).open_file(false).ok()?;
        let mut rings = [0; 4];
        proc.read_exact_at(&mut rings, offset_of!(Process, rings) as u64).ok()?;
        let counted = u32::from_le_bytes(rings);
        for number in 0..MOST_RINGS {
            match RingFile::open(&folder, number, false) {
                Ok(file) => {
                    let (chunk_ns, ring_calls) = ring(&file)?;
                    (last, calls) = (last.max(chunk_ns), calls.saturating_add(ring_calls));
                }
                // A number may have been taken without a ring being made, and a ring is made before it is counted.
                Err(e) if e.kind() == std::io::ErrorKind::NotFound && number < counted => {}
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => break,
                Err(_) => return None,
            }
        }
        let word = |at: usize| {
            let mut word = [0; 8];
            proc.read_exact_at(&mut word, at as u64).ok()?;
            Some(u64::from_le_bytes(word))
        };
        for counter in [CALL_DROPPED, CALL_DROPPED_LOSSY] {
            calls = calls.saturating_add(word(offset_of!(Process, counters) + counter * 8)?);
        }
        Some(EndedProcess { folder, name, started_ns: word(offset_of!(Process, start_monotonic))?, last, bytes, calls })
    }
}

/// When its last chunk began, and the calls in all there ever were. None: its thread may live.
fn ring(file: &RingFile) -> Option<(u64, u64)> {
    let mut first = vec![0; cutap_wire::PAGE];
    file.read_exact_at(&mut first, 0).ok()?;
    let page = RingPage::parse(&first).filter(|page| page.abandoned)?;
    let mut newest = (0, 0, 0);
    for n in 0..page.chunks {
        let mut head = [0; CHUNK_HEADER];
        file.read_exact_at(&mut head, chunk_offset(n, page.chunk_bytes) as u64).ok()?;
        let head = ChunkPage::parse(&head);
        if head.state != FREE {
            newest = newest.max((head.sequence, head.base_monotonic, u64::from(head.calls)));
        }
    }
    // Kept calls are counted in the ring of their thread.
    Some((newest.1, if page.has_copies { 0 } else { newest.2 }))
}

/// A process of this machine, and what it has mapped, if we may know.
#[derive(Debug)]
pub(crate) struct MappedProcess {
    pid: String,
    maps: Option<Vec<u8>>,
}

/// All of them.
pub(crate) fn maps() -> Vec<MappedProcess> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|e| e.file_name().into_string().ok()).filter(|n| n.parse::<u32>().is_ok());
    let maps = |pid: &str| match living(pid.parse().unwrap_or(0)) {
        Some(folder) => fs::read(folder.join("maps")).ok(),
        None => Some(Vec::new()),
    };
    pids.map(|pid| MappedProcess { maps: maps(&pid), pid }).collect()
}

impl MappedProcess {
    /// It is not the process of this folder, between two threads that call.
    pub(crate) fn is_done_with(&self, name: &str) -> bool {
        let name = name.as_bytes();
        match &self.maps {
            Some(maps) => {
                let part = [b"/", name, b"/"].concat();
                memchr::memmem::find(maps, &part).is_none()
            }
            None => !name.starts_with(format!("p{}-", self.pid).as_bytes()),
        }
    }
}
