//! Visits the processes of a run, round by round, and appends new data to the file. It never waits for a process, and a
//! file that cannot be read does not stop it.

use super::batch::Batch;
use super::clock_copy::ClockCopy;
use super::process::{Process, Round, trimmed};
use super::retired::Retired;
use super::ring::Ring;
use crate::base::error::{Error, Result, cannot};
use cutap_file::{Block, Why, Writer, kind, walk};
use cutap_trace::{ChunkPage, Damage, Listing, Rate, RunPath, damaged, monotonic};
use cutap_wire::ring::OPEN;
use cutap_wire::{MAGIC, PAGE, VERSION, control, process};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::mem::offset_of;
use std::path::Path;

/// What of a process page never changes and tells one process from another.
const WHO: std::ops::Range<usize> =
    offset_of!(process::Process, version)..offset_of!(process::Process, start_realtime) + 8;

/// The counter's rate in the control page.
const RATE: std::ops::Range<usize> =
    offset_of!(control::Control, ticks_per_second)..offset_of!(control::Control, ticks_per_second) + 8;

/// What is switched on, in the control page.
const FLAGS: std::ops::Range<usize> = offset_of!(control::Control, flags)..offset_of!(control::Control, flags) + 8;

/// Whether a collector has drained it, in the control page.
const COLLECTOR: std::ops::Range<usize> =
    offset_of!(control::Control, collector)..offset_of!(control::Control, collector) + 4;

/// Which run it is, in the control page.
const RUN: std::ops::Range<usize> = offset_of!(control::Control, run)..offset_of!(control::Control, run) + 8;

/// The file is behind by this much and the pause between two rounds at most.
const PARTS_EVERY_NS: u64 = 1_000_000_000;

/// Bytes of a filter's text at most. Its rules fit into a page.
const MOST_TEXT: usize = 1 << 16;

/// Puts a run into a file.
#[derive(Debug)]
pub struct Recorder {
    pub(super) run: RunPath,
    pub(super) writer: Writer<File>,
    pub(super) consume: bool,
    control: Vec<u8>,
    pub(super) processes: Vec<Process>,
    /// What is kept of those that have ended.
    pub(super) retired: Retired,
    visited: BTreeSet<String>,
    listing: Listing,
    /// The one of those that have ended that is looked at again.
    recheck: usize,
    prior: BTreeMap<String, PriorProcess>,
    /// The control page of a file that is added to.
    before: Vec<u8>,
    next: u32,
    pub(super) batch: Batch,
    rate: Rate,
    /// When the chunks that are not full were looked at last.
    parts_at_ns: u64,
    /// The file that is added to was cut off at this byte.
    pub cut_at: Option<u64>,
    /// There was no file before.
    pub is_new_file: bool,
    /// Files of the folder that cannot be read, for a sentence.
    pub unread: Option<String>,
    /// What is damaged in the folder: found when all of it was read, else what was met on the way.
    damage: Option<Damage>,
    /// The file says with which filter and as which rank the run was made, or there was none.
    has_texts: bool,
    clock_copy: ClockCopy,
}

/// What a file that is added to holds of a process already.
#[derive(Debug, Default)]
struct PriorProcess {
    number: u32,
    page: Vec<u8>,
    /// Of each ring.
    rings: BTreeMap<u32, RingPosition>,
}

/// Number of the last whole chunk of a ring; number of the one that was open then, and its bytes.
pub(super) type RingPosition = (u64, (u64, u64));

/// Blocks of a process in such a file: its name, its page, and the rings as in [`PriorProcess`].
type RecordedProcess = (Option<Block>, Option<Block>, BTreeMap<u32, RingPosition>);

impl Recorder {
    /// Begins a file. With `consume`, chunks are given back to their writers.
    pub fn begin(run: &Path, out: File, consume: bool) -> io::Result<Recorder> {
        let writer = Writer::begin(out, VERSION)?;
        Ok(Recorder { is_new_file: true, ..Recorder::new(RunPath::open(run)?, writer, consume) })
    }

    /// Adds to a recording of the same run, behind its last whole block. `consume` as in `begin`.
    pub fn go_on(run: &Path, mut file: File, path: &Path, consume: bool) -> Result<Recorder> {
        let advice = "give another file with -o";
        let run_dir =
            RunPath::open(run).map_err(|e| cannot("read the run directory", run, &e, "give the folder of a run"))?;
        let refuse = |why: &str| Error::own(format!("cannot add to {}: {why}; {advice}", path.display()));
        let mut recorded: BTreeMap<u32, RecordedProcess> = BTreeMap::new();
        let mut control = None;
        let (mut damaged, mut unpacked) = (None, Vec::new());
        let (mut has_texts, mut clock_copy) = (false, ClockCopy::default());
        let walked = walk(&file, VERSION, &mut |block, plain| {
            // A collector that goes on for another has no time to read all of it, and the file was written a moment
            // ago.
            if !consume && damaged.is_none() && cutap_file::body(&file, block, &mut unpacked).is_err() {
                damaged = Some(block.start());
            }
            if block.kind == kind::CONTROL {
                control = Some(*block);
                return;
            }
            if block.kind == kind::CLOCKS {
                clock_copy.add_block(block);
                return;
            }
            has_texts |= matches!(block.kind, kind::FILTER | kind::RANK | kind::HOST);
            let of = recorded.entry(block.process).or_default();
            match block.kind {
                kind::PROCESS => of.0 = Some(*block),
                kind::PAGE => of.1 = Some(*block),
                // A chunk that was open then has more in it now.
                kind::CHUNK => {
                    let open = block.at > 0 && ChunkPage::parse(plain).state == OPEN;
                    let of = of.2.entry(block.ring).or_default();
                    of.0 = of.0.max(block.at - u64::from(open));
                    if open {
                        of.1 = (block.at, u64::from(block.plain) + u64::from(block.raw));
                    }
                }
                kind::PART => {
                    let of = of.2.entry(block.ring).or_default();
                    let from = plain.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
                    of.1 = (
                        block.at,
                        (plain.len() as u64).saturating_sub(8).saturating_add(from).saturating_add(block.raw.into()),
                    );
                }
                _ => {}
            }
        });
        let cut = walked.map_err(|_| refuse("it is no recording of this version of cutap"))?;
        if cut.at == 0 {
            return Err(refuse("it is cut off within its first 24 bytes, and nothing is left of it"));
        }
        if cut.why == Why::Damaged {
            return Err(refuse(&format!("it is damaged at byte {}", cut.at)));
        }
        // Which calls a block held cannot be told, so neither can which ones would stand there twice.
        if let Some(at) = damaged {
            return Err(refuse(&format!("the block at byte {at} is damaged, and what it held is not known")));
        }
        let mut prior = BTreeMap::new();
        let mut next = 0;
        let body = |block: Option<Block>| {
            let mut bytes = Vec::new();
            block.map(|b| cutap_file::body(&file, &b, &mut bytes));
            bytes
        };
        for (number, (name, page, rings)) in recorded {
            let name = String::from_utf8_lossy(&body(name)).into_owned();
            prior.insert(name, PriorProcess { number, page: body(page), rings });
            next = next.max(number.saturating_add(1));
        }
        let before = body(control);
        let moved = file.set_len(cut.at).and_then(|()| file.seek(SeekFrom::Start(cut.at)));
        moved.map_err(|e| cannot("add to", path, &e, advice))?;
        let cut_at = (cut.why == Why::CutOff).then_some(cut.at);
        Ok(Recorder {
            prior,
            before,
            next,
            cut_at,
            has_texts,
            clock_copy,
            ..Recorder::new(run_dir, Writer::go_on(file, cut.at), consume)
        })
    }

    fn new(run: RunPath, writer: Writer<File>, consume: bool) -> Recorder {
        Recorder {
            run,
            writer,
            consume,
            control: Vec::new(),
            processes: Vec::new(),
            retired: Retired::default(),
            visited: BTreeSet::new(),
            listing: Listing::default(),
            recheck: 0,
            prior: BTreeMap::new(),
            before: Vec::new(),
            next: 0,
            batch: Batch::new(),
            rate: Rate::begin(),
            parts_at_ns: monotonic(),
            cut_at: None,
            is_new_file: false,
            unread: None,
            damage: None,
            has_texts: false,
            clock_copy: ClockCopy::default(),
        }
    }

    /// Appends what has happened since; with `last`, all that is there now. True when there was
    /// something. `beat` is called so often that nobody takes this for dead. An error is the file's.
    pub fn round(&mut self, last: bool, beat: &mut dyn FnMut()) -> io::Result<bool> {
        if last {
            self.run.forget_unopened();
        }
        let mut control = self.control_page();
        // No collector has measured it: the run was made here, and so it is measured here.
        if let Some(rate) = control.get_mut(RATE).filter(|rate| last && rate.iter().all(|b| *b == 0)) {
            rate.copy_from_slice(&self.rate.per_second_of_longer().to_le_bytes());
        }
        let parts = !last && self.consume && monotonic().saturating_sub(self.parts_at_ns) >= PARTS_EVERY_NS;
        let is_rate_new = || control.get(RATE) != padded(&self.control).get(RATE);
        if !control.is_empty() && (self.control.is_empty() || last || parts && is_rate_new()) {
            self.writer.write(Block::new(kind::CONTROL, 0, 0, 0), &[], trimmed(&control))?;
            self.control = control;
            self.keep_texts()?;
        }
        if last || self.listing.is_due(monotonic()) {
            self.discover();
        }
        // The number of a process in another name space tells nothing of it: it may have begun again.
        self.recheck = (self.recheck + 1) % self.processes.len().max(1);
        if parts {
            self.parts_at_ns = monotonic();
        }
        if parts || last {
            self.clock_copy.round(&self.run, &mut self.writer)?;
        }
        let (mut has_new, round) = (false, Round { last, consume: self.consume, parts });
        for (n, process) in self.processes.iter_mut().enumerate() {
            if process.has_ended && !last && n != self.recheck {
                continue;
            }
            has_new |= process.round(&self.run, &mut self.writer, round, &mut self.batch, beat)?;
        }
        Ok(has_new)
    }

    /// Notes once with which filter, as which rank and where the run was made: readers of the file show what was asked.
    fn keep_texts(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.has_texts, true) {
            return Ok(());
        }
        let texts = [(control::FILTER, kind::FILTER), (control::RANK, kind::RANK), (control::HOST, kind::HOST)];
        for (name, kind) in texts {
            let text = self.run.join(name).read(MOST_TEXT).unwrap_or_default();
            if !text.is_empty() {
                self.writer.write(Block::new(kind, 0, 0, 0), &[], &text)?;
            }
        }
        Ok(())
    }

    /// Adds what `cutap where --json` said of the run that hangs.
    pub fn add_hang(&mut self, document: &[u8]) -> io::Result<()> {
        self.writer.write(Block::new(kind::HANG, 0, 0, 0), &[], document)
    }

    /// When the last one of those threads stopped that have made no record since this moment.
    pub fn stopped_before(&mut self, before_ns: u64) -> Option<u64> {
        self.rings().map(|ring| ring.grown_ns).filter(|grown_ns| *grown_ns < before_ns).max()
    }

    /// Bytes of chunks that were added, and chunks that neither the file nor the folder has: their writers took them
    /// again.
    pub fn copied(&mut self) -> (u64, u64) {
        let before = (self.retired.added, self.retired.missing);
        self.rings().fold(before, |all, ring| (all.0 + ring.added, all.1 + ring.missing()))
    }

    /// What is damaged in the folder. The first answer is kept.
    pub fn damage(&mut self) -> Damage {
        if let Some(damage) = self.damage {
            return damage;
        }
        let flight = self.is_flight_recorder();
        let before = self.retired.damage;
        let met = self.rings().fold(before, |all, ring| {
            let (parts, lost) = ring.damaged(flight);
            Damage { parts: all.parts + parts, lost: all.lost.plus(lost) }
        });
        *self.damage.insert(met)
    }

    /// Reads all of the folder for damage, as those do who show it.
    pub fn look_for_damage(&mut self) {
        self.damage = damaged(self.run.run()).ok();
    }

    /// Chunks of which this new file has nothing, for a collector had read them for its own output. What a flight
    /// recorder has no more was overwritten.
    pub fn read_before(&mut self) -> u64 {
        let collector =
            self.control.get(COLLECTOR).is_some_and(|state| state != control::COLLECTOR_NEVER.to_le_bytes());
        if !self.is_new_file || self.consume || !collector || self.is_flight_recorder() {
            return 0;
        }
        let before = self.retired.before;
        before + self.rings().map(|ring| ring.missing().saturating_sub(ring.damaged(false).0)).sum::<u64>()
    }

    /// Processes and rings that could be read.
    pub fn read(&self) -> (usize, usize) {
        let rings = self.processes.iter().flat_map(|p| p.rings.values()).filter(|(_, page)| !page.is_empty());
        (self.retired.processes + self.processes.len(), self.retired.rings + rings.count())
    }

    fn rings(&mut self) -> impl Iterator<Item = &mut Ring> {
        self.processes.iter_mut().flat_map(|p| p.rings.values_mut()).map(|(ring, _)| ring)
    }

    fn is_flight_recorder(&self) -> bool {
        let flags = self.control.get(FLAGS).map_or(0, |b| b.iter().rev().fold(0, |all, b| all << 8 | u64::from(*b)));
        flags & control::FLIGHT != 0
    }

    /// Says that the recording ended in order; and before, what of it is not there. One that lacks what could not be
    /// opened now and can be later, with more descriptors, has no end yet.
    pub fn end(&mut self) -> io::Result<()> {
        let (missing, flight) = (self.copied().1, self.is_flight_recorder());
        if let Some(at) = self.cut_at.filter(|_| flight || missing > 0) {
            let missing = if flight { 0 } else { missing.min(u32::MAX.into()) as u32 };
            self.writer.write(Block::new(kind::LACKS, 0, missing, at), &[], &[])?;
        }
        let damaged = self.damage().parts.min(u32::MAX.into()) as u32;
        if damaged > 0 {
            self.writer.write(Block::new(kind::LACKS, 0, damaged, 0), &[], &[])?;
        }
        let before = self.read_before().min(u32::MAX.into()) as u32;
        if before > 0 {
            self.writer.write(Block::new(kind::LACKS, 0, before, kind::READ_BEFORE), &[], &[])?;
        }
        if let Some(unread) = &self.unread {
            self.writer.write(Block::new(kind::LACKS, 0, 0, kind::UNREAD), &[], unread.as_bytes())?;
        }
        if self.run.unopened().is_some() {
            return Ok(());
        }
        self.writer.write(Block::new(kind::END, 0, 0, 0), &[], &[])
    }

    /// What of the run directory could not be opened, and why, for a sentence.
    pub fn unopened(&self) -> Option<String> {
        self.run.unopened()
    }

    /// Takes back what was written halfway, before this error.
    pub fn cut_back(&mut self, error: &io::Error) {
        // Under a quota that is used up btrfs cuts off half: zeros from there to the end of the page, and what follows
        // stays.
        if error.raw_os_error() == Some(libc::EDQUOT) {
            return;
        }
        let whole = self.writer.bytes();
        // If that cannot be done, a reader finds the end of what is whole by itself.
        let _ = self.writer.out().set_len(whole);
    }

    /// The control page as it is now. Where somebody has put something else in its place, the last that was this run's.
    fn control_page(&self) -> Vec<u8> {
        let page = self.run.join(control::FILE).read(PAGE).unwrap_or_default();
        let head = [&MAGIC.to_le_bytes()[..], &VERSION.to_le_bytes()].concat();
        let ours = self.control.is_empty() || page.get(RUN) == Some(&padded(&self.control)[RUN]);
        if page.starts_with(&head) && ours { page } else { self.control.clone() }
    }

    /// Whether the file is of another run: its control page says so, or a process in it is another than the one of that
    /// name here.
    pub fn other_run(&self) -> bool {
        // In the file a page has no zeros at its end, and such a number may end in some.
        let of = |page: &[u8]| padded(page)[RUN].iter().fold(0, |all, b| all << 8 | u64::from(*b));
        // 0 says nothing: the page is missing, damaged, or made where there was no number.
        let (there, here) = (of(&self.before), of(&self.control_page()));
        if there != 0 && here != 0 && there != here {
            return true;
        }
        let mut both = self.processes.iter().filter_map(|p| Some((p, self.prior.get(&p.name)?)));
        both.any(|(p, prior)| !prior.page.is_empty() && padded(&prior.page)[WHO] != padded(&p.page)[WHO])
    }

    /// Finds processes that are new. A page that is not finished is looked at again the next time.
    pub fn discover(&mut self) {
        let names = self.listing.time(monotonic(), || self.run.list()).unwrap_or_default();
        let mut new: Vec<String> =
            names.into_iter().filter(|n| n.starts_with('p') && !self.visited.contains(n)).collect();
        new.sort();
        for name in new {
            let prior = self.prior.get(&name);
            let (number, before) = prior.map_or((self.next, BTreeMap::new()), |k| (k.number, k.rings.clone()));
            let Some(process) = Process::open(&self.run, &name, number, before) else {
                // Its page alone: a collector before this one has all of it.
                if self.run.join(&name).is_file() {
                    self.visited.insert(name);
                }
                continue;
            };
            self.next = self.next.max(number.saturating_add(1));
            self.visited.insert(name);
            self.processes.push(process);
        }
    }
}

fn padded(page: &[u8]) -> Vec<u8> {
    let mut page = page.to_vec();
    page.resize(PAGE, 0);
    page
}
