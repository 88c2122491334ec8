//! The channels of this process, each with a cursor: where its ring was read up to. After a driver call the places in
//! USERD are compared with the cursors, and what is new goes into the ring of the calling thread. A look costs one read
//! of a device's memory for each channel, about a microsecond; so only what is new is read.

use super::commands::Commands;
use super::{callers, memory};
use crate::loader::announce;
use crate::loader::objects::Object;
use crate::process::path::Shared;
use crate::process::{names, page};
use crate::ring::record;
use crate::ring::thread_state::{OpenCall, ThreadState};
use crate::slots::frame::Frame;
use crate::slots::table;
use crate::sys;
use crate::sys::arch::load4;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};
use cutap_calls::generated::submission::{DESCRIPTOR_BYTES, USERD_PUT};
use cutap_wire::diagnostic;
use cutap_wire::memory::{MOST, NewPiece, piece_kind};
use cutap_wire::names::{Name, kind as names_kind, shape};
use cutap_wire::submission::{FUNCTION, Submission, WORDS, flag};

/// Channels at most.
const CHANNELS: usize = 256;
/// Bytes that are kept after one driver call.
const TOTAL: usize = 256 << 10;
/// Bytes of an entry.
const ENTRY: usize = 8;

/// A channel.
#[derive(Clone, Copy)]
pub struct Channel {
    /// It; a handle of 0: the place is free.
    pub object: memory::Object,
    /// Its class.
    pub class: u32,
    /// Its engine.
    pub engine: u32,
    /// The GPU's address of its ring.
    pub ring: u64,
    /// Entries of the ring.
    pub entries: u32,
    /// Memory with its USERD, and where in it.
    pub userd: (memory::Object, u64),
    /// Where both are mapped, once that is known.
    host: Option<(usize, usize)>,
    /// It was counted as one that cannot be read.
    counted: bool,
    cursor: u32,
    classes: [u32; 8],
}

const NONE: memory::Object = memory::Object { client: 0, handle: 0 };
const FREE: Channel = Channel::new(NONE, 0, 0, (0, 0), (NONE, 0));

impl Channel {
    /// One that was just made.
    pub const fn new(
        object: memory::Object,
        class: u32,
        engine: u32,
        (ring, entries): (u64, u32),
        userd: (memory::Object, u64),
    ) -> Channel {
        let (host, counted, cursor, classes) = (None, false, 0, [0; 8]);
        Channel { object, class, engine, ring, entries, userd, host, counted, cursor, classes }
    }
}

static ALL: Shared<[Channel; CHANNELS]> = Shared(UnsafeCell::new([FREE; CHANNELS]));
/// Calls ended that were not recorded.
static MISSED: AtomicBool = AtomicBool::new(false);
/// The slot of `FUNCTION`, plus one.
static SLOT: AtomicU32 = AtomicU32::new(0);

/// All places for channels. Only under the lock.
fn all() -> &'static mut [Channel; CHANNELS] {
    // SAFETY: under the lock.
    unsafe { &mut *ALL.0.get() }
}

/// Tells the name of the function that the calls have. `library`: the driver's library, as a load of this layer.
pub fn announce(library: &Object) {
    if SLOT.load(Acquire) != 0 {
        return;
    }
    announce::announce(library);
    let n = table::number_without_thunk();
    let b = u64::from(library.id) | shape(WORDS as u8, 0, 0) << 44;
    let name = Name { kind: names_kind::SLOT, ticks: 0, a: n.into(), b, c: 0, s: FUNCTION.as_bytes(), t: &[] };
    if names::write(&name).is_some() {
        SLOT.store(n + 1, Release);
    }
}

/// A channel was made. Only under the lock.
pub fn add_channel(channel: Channel) {
    freed(channel.object);
    match all().iter_mut().find(|c| c.object.handle == 0) {
        Some(free) => *free = channel,
        None => page::count(diagnostic::CHANNEL_NOT_READ, 1),
    }
}

/// An object was freed, or a client with all that it has. Only under the lock.
pub fn freed(of: memory::Object) {
    let is = |c: &&mut Channel| c.object == of || of.client == of.handle && c.object.client == of.client;
    all().iter_mut().filter(is).for_each(|c| *c = FREE);
}

/// Mappings have gone: whose ring was there is looked for again. Only under the lock.
pub fn unmapped() {
    all().iter_mut().for_each(|c| c.host = None);
}

/// A forked child has no channel. Only under the lock.
pub fn forget() {
    all().iter_mut().for_each(|c| *c = FREE);
}

/// A call ended that is not recorded: what it submitted is nobody's.
pub fn missed() {
    MISSED.store(true, Relaxed);
}

/// Writes what is new in all rings, with these flags, inside the call of `frame`. Only under the lock.
pub fn write_new_entries(thread_state: &mut ThreadState, frame: &Frame, flags: u32) {
    let missed = MISSED.swap(false, Relaxed);
    let mut tested = (0, 0);
    let mut budget = TOTAL;
    for channel in all().iter_mut().filter(|c| c.object.handle != 0) {
        let Some(put) = put_of(channel, &mut tested) else { continue };
        let count =
            put.wrapping_sub(channel.cursor).wrapping_add(if put < channel.cursor { channel.entries } else { 0 });
        if count == 0 {
            continue;
        }
        if missed {
            page::count(diagnostic::SUBMISSION_MISSED, u64::from(count));
        } else {
            write(thread_state, frame, channel, (count, flags), &mut budget);
        }
        channel.cursor = put;
    }
}

/// Where a channel's ring ends now. `tested`: memory of which this look knows that it is there.
fn put_of(channel: &mut Channel, tested: &mut (usize, usize)) -> Option<u32> {
    let host = match channel.host {
        Some(host) => Some(host),
        // SAFETY: under the lock.
        None => unsafe {
            let userd = memory::host_of(channel.userd.0, channel.userd.1).filter(|(_, left)| *left >= 512);
            let ring = memory::host(channel.ring);
            userd.zip(ring).map(|((userd, _), (ring, _))| (userd, ring))
        },
    };
    let Some((userd, _)) = host else {
        if !core::mem::replace(&mut channel.counted, true) {
            page::count(diagnostic::CHANNEL_NOT_READ, 1);
        }
        return None;
    };
    channel.host = host;
    let at = userd + USERD_PUT as usize;
    // One test for what lies close together: it is one mapping.
    if at.wrapping_sub(tested.0) >= tested.1 {
        if !sys::readable(at & !7) {
            channel.host = None;
            return None;
        }
        *tested = (at & !(CLOSE - 1), CLOSE);
    }
    // SAFETY: tested; it stays mapped under the lock.
    let put = unsafe { load4(at) };
    (put < channel.entries).then_some(put)
}

/// Rings in so many bytes, from a multiple of it on, are in one mapping: it is the page size of video memory.
const CLOSE: usize = 2 << 20;

/// Writes the new entries of a channel as a call inside that of `frame`.
fn write(
    thread_state: &mut ThreadState,
    frame: &Frame,
    channel: &mut Channel,
    (count, flags): (u32, u32),
    budget: &mut usize,
) {
    let Some(slot) = SLOT.load(Acquire).checked_sub(1) else { return };
    let shared = callers::is_shared(&raw const *thread_state as usize);
    let flags = flags | if shared { flag::SHARED } else { 0 } | if frame.recorded == 0 { flag::ALONE } else { 0 };
    if shared {
        page::count(diagnostic::SUBMISSION_SHARED, 1);
    }
    let Channel { object, class, engine, ring, entries, cursor: first, .. } = *channel;
    let (client, channel_handle) = (object.client, object.handle);
    let words =
        Submission { client, channel: channel_handle, class, flags, ring, entries, engine, first, count }.words();
    // Below the frame of the driver call, and above all that is called from here.
    let at = &raw const words as usize;
    let call = OpenCall { number: 0, slot, frame: at, reported: 0 };
    let Some(number) = record::enter(thread_state, call, frame.caller, [&words]) else { return };
    let mut submission = KeptSubmission { thread_state, at, number, budget };
    let bytes = channel.classes;
    submission.own(piece_kind::CLASSES, 0, &bytes);
    let Some((_, host)) = channel.host else { return record::exit(submission.thread_state, at, number, &[0]) };
    let mut classes = channel.classes;
    let mut commands = Commands::new(&mut classes);
    for n in 0..count {
        let place = (channel.cursor + n) % channel.entries.max(1);
        let mut entry = [0u32; 2];
        // SAFETY: under the lock.
        let read = unsafe { memory::copy(host + place as usize * ENTRY, entry.as_mut_ptr().cast(), ENTRY) };
        if read < ENTRY {
            page::count(diagnostic::SUBMISSION_NOT_READ, 1);
            break;
        }
        submission.own(piece_kind::ENTRIES, channel.ring + u64::from(place) * ENTRY as u64, &entry);
        let [low, high] = entry;
        let (from, length) =
            (u64::from(low & !3) | u64::from(high & 0xff) << 32, (high >> 10 & 0x1f_ffff) as usize * 4);
        commands.entry();
        submission.memory(piece_kind::COMMANDS, from, length, |bytes| commands.words(bytes));
    }
    for at in commands.sent() {
        submission.memory(piece_kind::DESCRIPTOR, *at, DESCRIPTOR_BYTES as usize, |_| {});
    }
    record::exit(submission.thread_state, at, number, &[0]);
    channel.classes = classes;
}

/// What is being kept of one call.
struct KeptSubmission<'a> {
    thread_state: &'a mut ThreadState,
    at: usize,
    number: u32,
    budget: &'a mut usize,
}

impl KeptSubmission<'_> {
    /// Words that are here.
    fn own(&mut self, kind: u8, address: u64, words: &[u32]) {
        let len = size_of_val(words);
        let piece = NewPiece { kind, address, room: len, full_length: len };
        record::memory(self.thread_state, self.at, self.number, &piece, |to| {
            // SAFETY: as many bytes as the record has room for.
            unsafe { core::ptr::copy_nonoverlapping(words.as_ptr().cast(), to, len) };
            len
        });
    }

    /// What a GPU has at an address. `read` is given each word.
    fn memory(
        &mut self,
        piece_kind: u8,
        from: u64,
        len: usize,
        mut read: impl FnMut(core::iter::Copied<core::slice::Iter<'_, u32>>),
    ) {
        let capped = len.min(*self.budget);
        *self.budget -= capped;
        if capped < len {
            page::count(diagnostic::SUBMISSION_CUT, 1);
        }
        let mut copied = 0;
        while copied < capped {
            let at = from + copied as u64;
            // SAFETY: under the lock.
            let host = unsafe { memory::host(at) };
            let (host, there) = host.unwrap_or((0, 0));
            let part = (capped - copied).min(MOST).min(usize::try_from(there).unwrap_or(usize::MAX));
            let piece = NewPiece { kind: piece_kind, address: at, room: part, full_length: len - copied };
            let got = record::memory(self.thread_state, self.at, self.number, &piece, |to| {
                // SAFETY: as many bytes as the record has room for; under the lock.
                let got = unsafe { memory::copy(host, to, part) };
                // SAFETY: they were just written, in words of eight bytes.
                read(unsafe { core::slice::from_raw_parts(to.cast::<u32>(), got / 4) }.iter().copied());
                got
            });
            copied += got;
            if got < part || got == 0 {
                return page::count(diagnostic::SUBMISSION_NOT_READ, 1);
            }
        }
    }
}
