//! Stacks of Python to which nodes of autograd lead. Each has a number, by a hash of its frames. Its frames go to the
//! names stream once.

use super::codes::{FACTOR, mixed};
use super::frames;
use crate::process::{names, page};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use cutap_wire::diagnostic;
use cutap_wire::names::{Name, kind};
use cutap_wire::python::{MOST_FRAMES, Node};

/// Stacks that have a number.
const STACKS: usize = 1 << 16;
/// Places that are looked at for one.
const PROBES: usize = 64;
/// The hash of each number, minus one; 0: not given.
static HASHES: [AtomicU64; STACKS] = [const { AtomicU64::new(0) }; STACKS];
/// Its frames are written.
static WRITTEN: [AtomicBool; STACKS] = [const { AtomicBool::new(false) }; STACKS];

const _: () = assert!(STACKS <= Node::MOST as usize);

/// The number of this thread's stack, 0: it has no frames, or there is no room for another stack.
pub fn here() -> u32 {
    let mut words = [MaybeUninit::<u64>::uninit(); MOST_FRAMES];
    let Some(read) = frames::read(&mut words) else { return 0 };
    if read.count == 0 || read.count > MOST_FRAMES {
        return 0;
    }
    // SAFETY: the frames that are counted were written.
    number(unsafe { core::slice::from_raw_parts(words.as_ptr().cast(), read.count) }, read.has_more)
}

fn number(words: &[u64], has_more: bool) -> u32 {
    let hash = words.iter().fold(FACTOR ^ u64::from(has_more), |hash, word| mixed(hash, *word)) | 1;
    let start = (hash >> 8) as usize;
    for place in (0..PROBES).map(|n| start.wrapping_add(n) % STACKS) {
        let (Some(of), Some(written)) = (HASHES.get(place), WRITTEN.get(place)) else { continue };
        let there = of.load(Relaxed);
        if there == hash && written.load(Acquire) {
            return place as u32 + 1;
        }
        let is_ours = there == hash || there == 0 && of.compare_exchange(0, hash, AcqRel, Acquire).is_ok();
        if is_ours || of.load(Relaxed) == hash {
            // Another thread may be writing the same: twice does no harm.
            write(place as u32 + 1, words, has_more);
            written.store(true, Release);
            return place as u32 + 1;
        }
    }
    page::count(diagnostic::PYTHON_NOT_KEPT, 1);
    0
}

#[cold]
#[inline(never)]
fn write(number: u32, words: &[u64], has_more: bool) {
    // SAFETY: the bytes of the words.
    let s = unsafe { core::slice::from_raw_parts(words.as_ptr().cast::<u8>(), size_of_val(words)) };
    names::write(&Name { kind: kind::PYTHON_STACK, ticks: 0, a: number.into(), b: has_more.into(), c: 0, s, t: &[] });
}
