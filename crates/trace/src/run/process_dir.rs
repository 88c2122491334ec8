//! The folder of one process: its page, its names, its rings, each of which may appear late, grow, stay unfinished or
//! vanish. What cannot be read now is tried in the next round.

use super::liveness::living;
use super::names_complete::all_named;
use super::names_file::NamesFile;
use crate::event::{Process, RunPlace};
use crate::io::bytes::read_at;
use crate::io::clock::{Clock, ClockPair};
use crate::io::file::Bytes;
use crate::io::pages::ProcPage;
use crate::io::store::Store;
use crate::io::unopened_files::may_be_there;
use crate::ring::reader::Ring;
use cutap_wire::names::{self, Name};
use cutap_wire::{PAGE, process};
use std::sync::Arc;

/// A ring file number beyond this is damage, not a process with so many threads.
const MOST_RINGS: u32 = 1 << 20;
/// Numbers of calls take less.
const MOST_BYTES: u64 = 1 << 20;
/// Rings that are tried ahead of one that cannot be opened.
const TRIED_AHEAD: u32 = 64;

/// A process as it stands in the run directory.
#[derive(Debug)]
pub struct ProcessDir {
    store: Arc<dyn Store>,
    page_file: Box<dyn Bytes>,
    pub page: ProcPage,
    pub process: Arc<Process>,
    names_file: Option<NamesFile>,
    /// Names may have been added since they were last read to the end.
    pub stale: bool,
    opened: Vec<bool>,
}

impl ProcessDir {
    /// Opens a process folder; `None` while its page is not finished.
    pub fn open(store: &Arc<dyn Store>, name: &str, clock: &mut Clock) -> Option<ProcessDir> {
        let page_file = store.open(name, process::FILE, false).ok()?;
        // Finished is what a read before this one says: one read is no picture of one moment.
        read_page(&*page_file)?;
        let page = read_page(&*page_file)?;
        if page.tsc {
            clock.stated(page.ticks_per_second);
            clock.pair(ClockPair { ticks: page.start_ticks, monotonic: page.start_monotonic });
        }
        let process = Process {
            key: 0,
            folder: name.into(),
            run: None,
            pid: page.pid,
            ppid: page.ppid,
            exe: page.exe.as_str().into(),
            arguments: page.arguments.clone(),
            forked: page.forked,
            parent: Some(page.parent.as_str()).filter(|p| !p.is_empty()).map(Into::into),
            start_ns: clock.moment(page.start_monotonic),
            start_realtime_ns: page.start_realtime,
        };
        Some(ProcessDir {
            store: store.clone(),
            page_file,
            page,
            process: Arc::new(process),
            names_file: None,
            stale: true,
            opened: Vec::new(),
        })
    }

    /// More was read of a ring: there may be new names.
    pub fn may_have_grown(&mut self) {
        self.stale = !self.page_file.is_immutable();
    }

    /// Gives the process its number and its run, before anybody has seen it.
    pub fn number(&mut self, n: u32, place: &RunPlace) {
        if let Some(process) = Arc::get_mut(&mut self.process) {
            (process.key, process.run) = (place.key(n), place.name.clone());
        }
    }

    /// Reads the page again: counters and number of rings go up.
    pub fn refresh(&mut self) {
        // Each counter is one word, so that the page needs no other protection.
        if let Some(page) = read_page(&*self.page_file) {
            self.page = page;
        }
    }

    /// Whether the names of the process are all there.
    pub fn has_all_names(&self) -> bool {
        all_named(&*self.store, &self.process.folder, &self.page)
    }

    /// Hands out new names; all of them if `thorough`.
    pub fn read_names(&mut self, thorough: bool, sink: &mut dyn FnMut(Name<'_>)) {
        if self.names_file.is_none() {
            self.names_file = self.store.open(&self.process.folder, names::FILE, false).ok().map(NamesFile::new);
        }
        let Some(file) = &mut self.names_file else { return };
        // What cannot be read now may be readable later; a slot without a name is counted.
        let read = file.read(thorough, sink);
        if thorough && read.is_ok() {
            self.stale = false;
        }
    }

    /// Opens rings that are new. In consume mode they must be writable, to give chunks back; else the clock is told the
    /// moments of all chunks that are there.
    pub fn new_rings(&mut self, consume: bool, clock: &mut Clock) -> Vec<Ring> {
        let mut rings = Vec::new();
        let mut missing = 0;
        for k in 0..self.page.rings.min(MOST_RINGS) {
            if self.opened.get(k as usize) == Some(&true) {
                continue;
            }
            match self.store.open(&self.process.folder, &format!("t{k}.ring"), consume) {
                Ok(file) => {
                    if self.opened.len() <= k as usize {
                        self.opened.resize(k as usize + 1, false);
                    }
                    self.opened[k as usize] = true;
                    let mut ring = Ring::new(file, consume);
                    ring.is_writerless = !consume && !self.may_go_on();
                    if self.page.tsc && !consume {
                        ring.heads(|head| {
                            clock.pair(ClockPair { ticks: head.base_ticks, monotonic: head.base_monotonic })
                        });
                    }
                    rings.push(ring);
                }
                // It may well be there, and so may all others.
                Err(e) if may_be_there(&e) => {}
                Err(_) => missing += 1,
            }
            if missing > TRIED_AHEAD {
                break;
            }
        }
        rings
    }

    /// Nothing is expected of it: its files are closed until they are read again.
    pub fn let_go(&self) {
        self.page_file.let_go();
        self.names_file.iter().for_each(NamesFile::let_go);
    }

    /// Its process has not ended, as far as its number tells; of a recording nobody knows.
    pub fn may_go_on(&self) -> bool {
        !self.page_file.is_immutable() && living(self.page.pid).is_some()
    }

    /// CLOCK_MONOTONIC at the end of the process, in a run that ended at `run_end`: what is open then never ended.
    pub fn end_ns(&self, clock: &Clock, run_end: u64) -> u64 {
        match self.page.ended_monotonic {
            0 => run_end,
            ended => clock.moment(ended),
        }
    }

    /// The process runs now, on this machine.
    pub fn is_running(&self) -> bool {
        let exe = std::fs::read_link(format!("/proc/{}/exe", self.page.pid)).unwrap_or_default();
        // The page has as much of the path as has room.
        !self.page.exe.is_empty() && exe.to_string_lossy().starts_with(&self.page.exe) && self.may_go_on()
    }

    /// What files `t<k>.<kind>` hold, for each of the process's threads that has one.
    pub fn files(&self, kind: &str) -> impl Iterator<Item = Vec<u8>> {
        let open = move |k| self.store.open(&self.process.folder, &format!("t{k}.{kind}"), false).ok();
        // A damaged page may say anything; the rings that were found do not.
        let threads = self.page.rings.min(self.opened.len() as u32 + TRIED_AHEAD);
        (0..threads).filter_map(open).filter_map(|file| {
            let mut bytes = Vec::new();
            read_at(&*file, 0, file.length().ok()?.min(MOST_BYTES) as usize, &mut bytes).ok()?;
            Some(bytes)
        })
    }

    /// Nanoseconds of CLOCK_MONOTONIC at `ticks` of this process.
    pub fn ns(&self, clock: &Clock, ticks: u64) -> u64 {
        if self.page.tsc { clock.ns(ticks) } else { clock.moment(ticks) }
    }

    /// Length of `ticks` ticks of this process.
    pub fn span(&self, clock: &Clock, ticks: u64) -> u64 {
        if self.page.tsc { clock.span(ticks) } else { ticks }
    }
}

fn read_page(file: &dyn Bytes) -> Option<ProcPage> {
    let mut bytes = Vec::new();
    read_at(file, 0, PAGE, &mut bytes).ok()?;
    // Of one that is cut short nobody knows what is missing.
    ProcPage::parse(&bytes).filter(|_| bytes.len() == PAGE)
}
