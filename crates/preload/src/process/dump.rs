//! `--dump-modules`: a module's image goes to `RUN/modules` before the driver gets it. Its size is not
//! an argument; it stands in the image's own head.

use super::copy::{program_words, text_length};
use super::folder;
use super::names::{self, gap};
use super::page::{self, count};
use super::path::Path;
use crate::sys;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use cutap_wire::diagnostic;
use cutap_wire::names::{Name, kind};

static NEXT: AtomicU32 = AtomicU32::new(0);

const WRAPPER: u32 = 0x4662_43b1;
const FATBIN: u32 = 0xba55_ed50;
const ELF: u32 = u32::from_le_bytes(*b"\x7fELF");

/// What an image is, as the names stream numbers it.
#[derive(Clone, Copy)]
enum Kind {
    Cubin = 1,
    Fatbin = 2,
    Ptx = 3,
}

impl Kind {
    fn ending(self) -> &'static [u8] {
        match self {
            Kind::Cubin => b".cubin",
            Kind::Fatbin => b".fatbin",
            Kind::Ptx => b".ptx",
        }
    }
}

/// Where the image at `at` begins, how long it is, and what it is; `None` where its head cannot be read.
fn measure(at: usize) -> Option<(usize, usize, Kind)> {
    let [head] = program_words(at)?;
    match head as u32 {
        WRAPPER => {
            let [_, image] = program_words(at)?;
            fatbin(image as usize)
        }
        FATBIN => fatbin(at),
        ELF => {
            let [_, _, _, _, segments_at, sections_at, segment, section]: [u64; 8] = program_words(at)?;
            let table = |at: u64, size: u64, count: u64| {
                (at as usize).saturating_add((size as u16 as usize) * (count as u16 as usize))
            };
            let sections = table(sections_at, section >> 16, section >> 32);
            let segments = table(segments_at, segment >> 48, section);
            Some((at, sections.max(segments), Kind::Cubin))
        }
        _ => Some((at, text_length(at, 1 << 30, |_| true)?, Kind::Ptx)),
    }
}

fn fatbin(at: usize) -> Option<(usize, usize, Kind)> {
    let [head, bytes] = program_words(at)?;
    (head as u32 == FATBIN).then_some((at, ((head >> 48) as usize).saturating_add(bytes as usize), Kind::Fatbin))
}

/// Keeps one image.
pub fn module(at: usize) {
    if at == 0 || !folder::ensure_folder() || !folder::settled() {
        return;
    }
    let Some((start, bytes, format)) = measure(at) else { return count(diagnostic::MODULE_NOT_DUMPED, 1) };
    let mut folder = Path::run();
    folder.push(b"/modules");
    let _ = sys::make_folder(folder.bytes());
    folder.push(b"/").push(page::folder()).push(b"-");
    folder.number(u64::from(NEXT.fetch_add(1, Relaxed))).push(format.ending());
    let written = sys::with(folder.bytes(), &[sys::Open::New], |file| file.write(start, bytes));
    let name = folder.bytes().rsplit(|&b| b == b'/').next().and_then(|n| n.strip_suffix(b"\0")).unwrap_or(&[]);
    if written != Some(true) {
        count(diagnostic::MODULE_NOT_DUMPED, 1);
        sys::remove(folder.bytes());
        return gap(diagnostic::MODULE_NOT_DUMPED, name, &[]);
    }
    names::write(&Name { kind: kind::MODULE, ticks: 0, a: bytes as u64, b: format as u64, c: 0, s: name, t: &[] });
}
