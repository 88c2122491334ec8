//! One process of a run: its page, its names and its rings, each of which may appear late. What cannot be read is tried
//! again at the next round.

use super::batch::Batch;
use super::names::Names;
use super::recorder::Last;
use super::ring::Ring;
use cutap_file::{Block, Writer, kind};
use cutap_trace::{CachedFile, RingFile, is_gone, living};
use cutap_wire::diagnostic::CALL_WAITED;
use cutap_wire::{MAGIC, PAGE, VERSION, names, process};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::path::Path;

/// A ring file number beyond this is damage, not a process with so many threads.
pub(crate) const MOST_RINGS: u32 = 1 << 20;
/// Bytes of names in one block.
const MOST_NAMES: usize = 1 << 20;

/// A process.
#[derive(Debug)]
pub(super) struct Process {
    pub number: u32,
    pub name: String,
    page_file: CachedFile,
    pub page: Vec<u8>,
    /// The file knows of it.
    begun: bool,
    /// It has ended, and was read to its end: looked at again in the last round.
    pub ended: bool,
    names: Option<Names>,
    /// Each ring, and its page as it stands in the file.
    pub rings: BTreeMap<u32, (Ring, Vec<u8>)>,
    before: BTreeMap<u32, Last>,
}

impl Process {
    /// Opens one, of which the file has so much of its rings; none while its page is not finished.
    pub fn open(run: &Path, name: &str, number: u32, before: BTreeMap<u32, Last>) -> Option<Process> {
        let page_file = CachedFile::open(&run.join(name).join(process::FILE), false).ok()?;
        // Finished is what a read before this one says.
        let page = read_page(&page_file).and_then(|_| read_page(&page_file))?;
        let (names, rings) = (None, BTreeMap::new());
        Some(Process {
            number,
            name: name.to_owned(),
            page_file,
            page,
            begun: false,
            ended: false,
            names,
            rings,
            before,
        })
    }

    /// Appends what is new; with `last`, all that is there. With `consume` chunks are given back.
    pub fn round(
        &mut self,
        run: &Path,
        writer: &mut Writer<File>,
        (last, consume): (bool, bool),
        batch: &mut Batch,
        beat: &mut dyn FnMut(),
    ) -> io::Result<bool> {
        let folder = run.join(&self.name);
        let block = |kind, ring, at| Block::new(kind, self.number, ring, at);
        let page = read_page(&self.page_file).unwrap_or_else(|| self.page.clone());
        let first = !std::mem::replace(&mut self.begun, true);
        if first {
            writer.write(block(kind::PROCESS, 0, 0), &[], self.name.as_bytes())?;
        }
        if first || last {
            let mut page = page.clone();
            // Who waits and has not ended continues: perhaps for us, while a flight recorder is copied.
            if living(pid(&page)).is_some() {
                page[offset_of!(process::Process, counters) + CALL_WAITED * 8..][..8].fill(0);
            }
            writer.write(block(kind::PAGE, 0, 0), &[], trimmed(&page))?;
        }
        self.page = page;
        if self.names.is_none() {
            self.names = CachedFile::open(&folder.join(names::FILE), false).ok().map(Names::new);
        }
        let mut names = |all, writer: &mut Writer<File>| match &mut self.names {
            Some(names) => names.read(all, &mut |at, bytes| {
                let mut pieces = (at..).step_by(MOST_NAMES).zip(bytes.chunks(MOST_NAMES));
                pieces.try_for_each(|(at, bytes)| writer.write(block(kind::NAMES, 0, at), &[], bytes))
            }),
            None => Ok(()),
        };
        names(last, writer)?;
        let mut found = false;
        // All at the same time: a user may remove the folder, and who waits for us has its ring open.
        for k in 0..rings(&self.page).min(MOST_RINGS) {
            if let std::collections::btree_map::Entry::Vacant(place) = self.rings.entry(k) {
                let Ok(file) = RingFile::open(&folder, k, consume) else { continue };
                place.insert((
                    {
                        let (sequence, open) = self.before.get(&k).copied().unwrap_or_default();
                        Ring::new(file, sequence, open)
                    },
                    Vec::new(),
                ));
            }
        }
        for k in 0..rings(&self.page).min(MOST_RINGS) {
            let Some((ring, written)) = self.rings.get_mut(&k) else { continue };
            let Some(page) = ring.page() else { continue };
            if consume && written.is_empty() {
                ring.give_back_old();
            }
            if written.is_empty() || last {
                writer.write(block(kind::RING, k, 0), &[], trimmed(&page))?;
                *written = page;
            }
            let mut ready = ring.ready(last).into_iter();
            loop {
                let taken = batch.next(ring, &mut ready, last, &|sequence| block(kind::CHUNK, k, sequence))?;
                if taken.is_empty() {
                    break;
                }
                names(false, writer)?;
                for taken in taken {
                    writer.append(&taken.packed)?;
                    ring.taken(&taken.chunk, consume);
                    beat();
                }
                found = true;
            }
        }
        if last {
            names(true, writer)?;
        }
        self.ended = !found && !self.rings.is_empty() && self.rings.values().all(|ring| ring.0.abandoned());
        self.ended &= is_gone(pid(&self.page));
        if self.ended {
            self.let_go();
        }
        Ok(found)
    }

    /// Nothing is expected of it: its files are closed until they are read again.
    fn let_go(&self) {
        self.page_file.let_go();
        self.names.iter().for_each(Names::let_go);
        self.rings.values().for_each(|ring| ring.0.let_go());
    }
}

pub(super) fn read_page(file: &CachedFile) -> Option<Vec<u8>> {
    let mut page = vec![0; PAGE];
    file.read_exact_at(&mut page, 0).ok()?;
    (page[..8] == MAGIC.to_le_bytes() && page[8..12] == VERSION.to_le_bytes()).then_some(page)
}

/// Its number, as it sees it itself.
fn pid(page: &[u8]) -> u32 {
    number(page, offset_of!(process::Process, pid))
}

/// Ring files that the process has made.
pub(super) fn rings(page: &[u8]) -> u32 {
    number(page, offset_of!(process::Process, rings))
}

/// Those of them that were finished; 0 where that was not counted.
pub(super) fn finished(page: &[u8]) -> u32 {
    number(page, offset_of!(process::Process, finished))
}

fn number(page: &[u8], at: usize) -> u32 {
    page[at..].first_chunk().map_or(0, |b| u32::from_le_bytes(*b))
}

/// A page without the zeros at its end.
pub(super) fn trimmed(page: &[u8]) -> &[u8] {
    &page[..page.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1)]
}
