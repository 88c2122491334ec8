//! Which files of a run directory cannot be read, for commands after the run. It reads heads only. Files of a living
//! process are never reported: the process may be making them now.

use super::process::{MOST_RINGS, finished, read_page, rings};
use cutap_trace::{Bytes, CachedFile, RawRing, RingFile, RunPath, is_whole, living, walk_cells};
use cutap_wire::diagnostic::{NAME_DROPPED, NO_RING};
use cutap_wire::names::{CELL, Cell, GROW};
use cutap_wire::{PAGE, control, names, process};
use std::collections::BTreeMap;
use std::mem::offset_of;
use std::path::Path;

/// What was found.
#[derive(Debug, Default)]
pub struct FolderScan {
    pub processes: usize,
    /// Rings: as many as threads that called at the same time.
    pub rings: usize,
    /// Files that cannot be read, or not whole, with the reason.
    unread: Vec<String>,
    /// Folders that children name, and the first of them.
    parents: BTreeMap<String, String>,
    /// The scan itself could not open all of it.
    pub is_incomplete: bool,
}

impl FolderScan {
    /// Looks at all of it.
    pub fn at(run: &Path) -> FolderScan {
        let mut scan = FolderScan::default();
        let Ok(run) = RunPath::open(run) else { return scan };
        let mut names = run.list().unwrap_or_default();
        names.sort();
        for name in names.iter().filter(|n| n.starts_with('p')) {
            scan.process(&run, name);
        }
        if !trims(&run) {
            scan.parents(&names);
        }
        scan.is_incomplete = run.unopened().is_some();
        scan
    }

    /// Folders that are gone as wholes: a forked child names its parent's, which was there when it began.
    fn parents(&mut self, names: &[String]) {
        for (parent, child) in &self.parents {
            if !names.contains(parent) {
                let why = format!("it is not there, and {child} names it as that of its parent");
                self.unread.push(format!("the folder {parent} ({why})"));
            }
        }
    }

    /// The files that cannot be read, for a sentence.
    pub fn unread(&self) -> Option<String> {
        let (first, rest) = self.unread.split_at(self.unread.len().min(4));
        let more = if rest.is_empty() { String::new() } else { format!(", and {} more", rest.len()) };
        (!first.is_empty()).then(|| first.join(", ") + &more)
    }

    fn process(&mut self, run: &RunPath, name: &str) {
        let folder = run.join(name);
        let pid = name[1..].split('-').next().and_then(|pid| pid.parse().ok());
        let lives = pid.is_some_and(|pid| living(pid).is_some());
        let mut bad = |file: &str, why: &str| {
            if !lives {
                self.unread.push(format!("{name}/{file} ({why})"));
            }
        };
        let page = match CachedFile::open(&folder.join(process::FILE), false) {
            Ok(file) => read_page(&file),
            Err(_) => None,
        };
        let Some(page) = page else {
            // One that was killed while it began has no ring yet, and nothing is missing.
            if folder.list().unwrap_or_default().iter().any(|name| name.ends_with(".ring")) {
                bad(process::FILE, "it is damaged or not there, so nothing of this process can be read");
            }
            return;
        };
        let parent = page[offset_of!(process::Process, parent)..].iter().take(64).take_while(|b| **b != 0).copied();
        let parent = String::from_utf8(parent.collect()).unwrap_or_default();
        if parent.starts_with('p') {
            self.parents.entry(parent).or_insert_with(|| name.to_owned());
        }
        let count = rings(&page);
        let counted = |n: usize| page[offset_of!(process::Process, counters) + n * 8..][..8] != [0; 8];
        if count > 0 && !counted(NAME_DROPPED) {
            let forked = page[offset_of!(process::Process, forked)] == 1;
            names_state(&folder.join(names::FILE), forked).into_iter().for_each(|why| bad(names::FILE, why));
        }
        let (mut whole, mut there, mut absent) = (0, 0, Vec::new());
        for k in 0..count.min(MOST_RINGS) {
            let file = format!("t{k}.ring");
            match state(&folder, k) {
                RingState::Whole => (whole, there) = (whole + 1, there + 1),
                RingState::BeingMade => {}
                RingState::Bad(why) => {
                    there += 1;
                    bad(&file, &why);
                }
                // A number whose ring could not be made is nobody's, and counted.
                RingState::Absent if counted(NO_RING) => {}
                RingState::Absent => absent.push(file),
            }
        }
        // A thread that was killed when it had taken its number has made none.
        let finished = finished(&page);
        if finished == 0 || there < finished {
            absent.iter().for_each(|file| bad(file, "it is not there or cannot be opened"));
        }
        if let Some(file) = (!lives).then(|| uncounted_ring(&folder, count)).flatten() {
            bad(
                process::FILE,
                &format!("it is damaged: it counts {count} rings, so that {file}, which has calls, is not read"),
            );
        }
        self.processes += 1;
        self.rings += whole;
    }
}

/// A ring with records that the page does not count. One without may have been made just before its thread was killed.
fn uncounted_ring(folder: &RunPath, count: u32) -> Option<String> {
    let names = folder.list().unwrap_or_default();
    let mut rings: Vec<u32> = names.iter().filter_map(|name| RingFile::number(name)).filter(|n| *n >= count).collect();
    rings.sort_unstable();
    rings.into_iter().find(|ring| has_records(folder, *ring)).map(|ring| format!("t{ring}.ring"))
}

/// A chunk of this ring has some that no collector has copied.
fn has_records(folder: &RunPath, ring: u32) -> bool {
    RawRing::open(folder, ring, false).is_ok_and(|mut ring| ring.holds_records())
}

/// Of a flight recorder the folders of processes that have ended are removed, as many as are too many.
fn trims(run: &RunPath) -> bool {
    let page = run.join(control::FILE).read(PAGE).unwrap_or_default();
    let flags = page.get(offset_of!(control::Control, flags)..).and_then(|b| b.first_chunk());
    flags.is_some_and(|flags| u64::from_le_bytes(*flags) & control::FLIGHT != 0)
}

/// Why names cannot be read, or not all of them, if so. There is one at least, as no record refers to a name that is
/// not there yet.
fn names_state(path: &RunPath, forked: bool) -> Option<&'static str> {
    let unreadable = Some("it is not there or cannot be opened, so functions have no names");
    let Ok((file, length)) = CachedFile::open(path, false).and_then(|file| file.length().map(|length| (file, length)))
    else {
        return unreadable;
    };
    if length > names::MAX_BYTES as u64 {
        return Some("it is longer than cutap makes it");
    }
    let (mut has_names, mut strange) = (false, false);
    let walked = walk_cells(&file, length, &mut |cell, rest| match cell {
        Cell::Name(name, bytes) => {
            has_names = true;
            strange |= !is_whole(rest, &name, bytes);
            Some(bytes)
        }
        Cell::Pending(bytes) => Some(bytes),
        Cell::Empty | Cell::End => {
            strange |= rest.iter().take(CELL).any(|b| *b != 0);
            Some(CELL)
        }
    });
    if walked.is_err() {
        return unreadable;
    }
    // A child may have copied a name of its parent that was half written.
    if !has_names || strange && !forked {
        return Some("it is damaged, so functions may have no names");
    }
    (!length.is_multiple_of(GROW as u64)).then_some("it is cut off, so functions may have no names")
}

enum RingState {
    Whole,
    /// Its thread was killed while it made it, before its first call.
    BeingMade,
    /// Why it cannot be read whole.
    Bad(String),
    Absent,
}

fn state(folder: &RunPath, ring: u32) -> RingState {
    let Ok(mut ring) = RawRing::open(folder, ring, false) else { return RingState::Absent };
    match ring.length() {
        Some((length, least)) if length < least => RingState::Bad(format!("it is cut off at byte {length}")),
        Some(_) => RingState::Whole,
        None if ring.is_being_made() => RingState::BeingMade,
        None => RingState::Bad("its head is damaged".into()),
    }
}
