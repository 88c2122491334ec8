//! The ranges of NVTX that are open in a thread, with the numbers of their records.

use crate::process::path::Shared;
use crate::sys;
use crate::sys::callback::Callback;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, Ordering::*, compiler_fence};

/// Ranges that are remembered; deeper ones are counted, and not recorded.
const MOST: usize = 64;
/// The range was not recorded.
const NONE: u32 = u32::MAX;
/// Bytes of a name that are remembered.
pub const NAME_BYTES: usize = 120;

/// Ranges of all threads that are open and captured.
static CAPTURED: AtomicU32 = AtomicU32::new(0);
/// Called when `CAPTURED` has changed without a range that began or ended.
pub static CAPTURED_CHANGED: Callback = Callback::none();
/// Called when the thread that forked has a state in the child, in ranges that began in the parent.
pub static AFTER_FORK: Callback = Callback::none();

/// See `CAPTURED`.
pub fn captured() -> u32 {
    CAPTURED.load(SeqCst)
}

/// A captured range begins.
pub fn begin_captured() {
    CAPTURED.fetch_add(1, SeqCst);
}

/// So many end.
pub fn end_captured(count: u32) {
    CAPTURED.fetch_sub(count, SeqCst);
}

/// A range that is open.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct OpenRange {
    domain: u32,
    /// The number of its record, or `NONE`.
    number: u32,
    is_captured: bool,
    /// The name of a range that may be recorded later, or again in a forked child; nothing for any other.
    name_bytes: u8,
    name: [u8; NAME_BYTES],
}

impl OpenRange {
    /// `is_captured`: calls are recorded while it is open, and not otherwise.
    pub fn new(domain: u32, number: Option<u32>, is_captured: bool) -> OpenRange {
        OpenRange { domain, number: number.unwrap_or(NONE), is_captured, name_bytes: 0, name: [0; NAME_BYTES] }
    }

    /// With a name: it may be recorded later.
    pub fn named(mut self, text: &[u8]) -> OpenRange {
        if let Some(room) = self.name.get_mut(..text.len()) {
            room.copy_from_slice(text);
            self.name_bytes = text.len() as u8;
        }
        self
    }

    /// The domain and the name of one that may be recorded later.
    pub fn unrecorded(&self) -> Option<(u32, &[u8])> {
        let name = self.name.get(..usize::from(self.name_bytes))?;
        (self.number == NONE && !name.is_empty()).then_some((self.domain, name))
    }

    /// It was recorded, or cannot be.
    fn set_number(&mut self, number: Option<u32>) {
        self.number = number.unwrap_or(NONE);
        if number.is_none() {
            self.name_bytes = 0;
        }
    }

    /// The number of its record, if it has one.
    pub fn number(&self) -> Option<u32> {
        Some(self.number).filter(|number| *number != NONE)
    }

    /// See `new`.
    pub fn is_captured(&self) -> bool {
        self.is_captured
    }
}

/// All zero is: none.
#[repr(C)]
pub struct OpenRanges {
    depth: usize,
    /// Ranges above those that are remembered. They are taken for innermost, whatever their domain.
    deeper: u32,
    all: [OpenRange; MOST],
}

impl OpenRanges {
    /// A thread begins without ranges. How many captured ones there were.
    pub fn clear(&mut self) -> u32 {
        let captured = self.captured();
        (self.depth, self.deeper) = (0, 0);
        captured
    }

    fn captured(&self) -> u32 {
        self.all.iter().take(self.depth).filter(|range| range.is_captured).count() as u32
    }

    /// Ranges of this domain that are open.
    pub fn level(&self, domain: u32) -> i32 {
        let open = self.all.iter().take(self.depth).filter(|range| range.domain == domain).count();
        open as i32 + self.deeper as i32
    }

    /// Whether one more is remembered.
    pub fn has_room(&self) -> bool {
        self.deeper == 0 && self.depth < MOST
    }

    /// A range begins; false if it is too deep to be remembered.
    pub fn push(&mut self, range: OpenRange) -> bool {
        match self.all.get_mut(self.depth).filter(|_| self.deeper == 0) {
            Some(place) => {
                // A signal handler's ranges come above it.
                self.depth += 1;
                compiler_fence(SeqCst);
                *place = range;
                true
            }
            None => {
                self.deeper = self.deeper.saturating_add(1);
                false
            }
        }
    }

    /// The place of the outermost range that may be recorded now, and that range.
    pub fn unrecorded(&self) -> Option<(usize, OpenRange)> {
        let open = self.all.iter().take(self.depth).enumerate();
        open.filter(|(_, range)| range.unrecorded().is_some()).map(|(place, range)| (place, *range)).next()
    }

    /// What became of the range at a place.
    pub fn set_number(&mut self, place: usize, number: Option<u32>) {
        if let Some(range) = self.all.get_mut(place) {
            range.set_number(number);
        }
    }

    /// The innermost range of a domain ends. None: no range is open.
    pub fn pop(&mut self, domain: u32) -> Option<OpenRange> {
        if self.deeper > 0 {
            self.deeper -= 1;
            return Some(OpenRange::new(domain, None, false));
        }
        let place = self.all.iter().take(self.depth).rposition(|range| range.domain == domain)?;
        let range = *self.all.get(place)?;
        for n in place + 1..self.depth {
            let Some(next) = self.all.get(n).copied() else { break };
            if let Some(to) = self.all.get_mut(n - 1) {
                *to = next;
            }
        }
        self.depth -= 1;
        Some(range)
    }
}

/// The ranges of the thread that forked, for its first thread state in the child, and its thread id there; 0: none.
static INHERITED: (Shared<OpenRanges>, AtomicU32) = (
    Shared(UnsafeCell::new(OpenRanges {
        depth: 0,
        deeper: 0,
        all: [OpenRange { domain: 0, number: 0, is_captured: false, name_bytes: 0, name: [0; NAME_BYTES] }; MOST],
    })),
    AtomicU32::new(0),
);

/// A forked child: of its parent's ranges only those of the thread that forked are open. Their records are the
/// parent's, and the child records them again. Without `ranges` another thread is the first to call.
pub fn forked(ranges: Option<&OpenRanges>) {
    let captured = ranges.map_or(0, |ranges| {
        // SAFETY: called once in a child, by the one thread that forgets the parent; see `inherit`.
        let inherited = unsafe { &mut *INHERITED.0.0.get() };
        inherited.all.iter_mut().zip(&ranges.all).for_each(|(to, from)| *to = OpenRange { number: NONE, ..*from });
        (inherited.depth, inherited.deeper) = (ranges.depth, ranges.deeper);
        ranges.captured()
    });
    INHERITED.1.store(if ranges.is_some() { sys::gettid() } else { 0 }, Release);
    CAPTURED.store(captured, SeqCst);
}

/// Fills those of a new thread state of this thread. Whether there are some.
pub fn inherit(to: &mut OpenRanges) -> bool {
    if INHERITED.1.load(Relaxed) == 0 || INHERITED.1.compare_exchange(sys::gettid(), 0, AcqRel, Relaxed).is_err() {
        return false;
    }
    // SAFETY: only this thread has filled them, and it takes them once.
    let inherited = unsafe { &*INHERITED.0.0.get() };
    to.all.iter_mut().zip(&inherited.all).for_each(|(to, from)| *to = *from);
    (to.depth, to.deeper) = (inherited.depth, inherited.deeper);
    to.depth > 0
}
