//! `--dump-modules`: a module's image goes to `RUN/modules` before the driver gets it. Its size is not
//! an argument; it stands in the image's own head.

use super::{Path, count, gap, names};
use crate::sys;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use cutap_wire::count;
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

/// Where the image begins, how long it is, and what it is.
///
/// # Safety
/// `at` is what the program gives the driver as a module image.
unsafe fn measure(at: usize) -> Option<(usize, usize, Kind)> {
    // SAFETY: the driver reads these heads too.
    unsafe {
        let word = |offset: usize| ((at + offset) as *const u32).read_unaligned();
        let long = |offset: usize| ((at + offset) as *const u64).read_unaligned() as usize;
        match word(0) {
            WRAPPER => measure(long(8)),
            FATBIN => Some((at, (word(4) >> 16) as usize + long(8), Kind::Fatbin)),
            ELF => {
                let short = |offset: usize| ((at + offset) as *const u16).read_unaligned() as usize;
                let sections = long(40) + short(58) * short(60);
                let segments = long(32) + short(54) * short(56);
                Some((at, sections.max(segments), Kind::Cubin))
            }
            _ => Some((at, sys::text(at as *const u8, 1 << 30).len(), Kind::Ptx)),
        }
    }
}

/// Keeps one image.
pub fn module(at: usize) {
    if at == 0 || !sys::readable(at) || !super::process_made() || !super::settled() {
        return;
    }
    // SAFETY: an image that the driver is about to read.
    let Some((start, bytes, what)) = (unsafe { measure(at) }) else { return };
    let mut folder = Path::run();
    folder.push(b"/modules");
    let _ = sys::make_folder(folder.bytes());
    folder.push(b"/").push(super::process_path()).push(b"-");
    folder.number(u64::from(NEXT.fetch_add(1, Relaxed))).push(what.ending());
    let written = sys::with(folder.bytes(), &[sys::Open::New], |file| file.write(start, bytes));
    if written != Some(true) {
        count(count::MODULE_NOT_DUMPED, 1);
        return gap(count::MODULE_NOT_DUMPED, folder.bytes(), &[]);
    }
    let name = folder.bytes().rsplit(|&b| b == b'/').next().and_then(|n| n.strip_suffix(b"\0")).unwrap_or(&[]);
    names::write(&Name { kind: kind::MODULE, ticks: 0, a: bytes as u64, b: what as u64, c: 0, s: name, t: &[] });
}
