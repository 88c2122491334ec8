//! The ring of a thread state: making its file, opening the next chunk, and what to do when there is none.
//! Everything here is rare and runs with all signals blocked, so that no handler finds a ring half
//! changed; the waiting in between does not.
//!
//! Limits: the first recorded call of a thread takes about 4.5 KiB of its stack, later ones up to 1.5 KiB. With
//! hooks the first call of each function takes up to 7 KiB, later ones 2 KiB. The thread-local memory of the
//! preload (80 bytes) is part of each stack. With a shared runtime 12.9 or 13.0, `pthread_create` with
//! PTHREAD_STACK_MIN (16 KiB) then returns EINVAL; 20 KiB is enough.

use super::heads;
use super::thread_state::{MAPPED, ThreadState};
use crate::process::{clock, page, path, run, switch};
use crate::sys::{self, allowed, mappings};
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering::*, compiler_fence};
use cutap_wire::record::kind;
use cutap_wire::ring::{CHUNK_HEADER, ChunkHeader, ChunkWriter, FREE, FULL, RingHeader, chunk_offset, shared_head};
use cutap_wire::{MAGIC, VERSION, control, diagnostic};

/// How long a writer believes in a collector whose heartbeat does not move.
const PATIENCE_NS: u64 = 200_000_000;

/// How long a writer waits for a collector that lives and does not empty this ring: it may not be able to.
const MOST_NS: u64 = 3_000_000_000;
/// The same of one that may not sleep: it takes the processor that the collector may need.
const MOST_AWAKE_NS: u64 = 20_000_000;

/// What is done with a full chunk of a flight recorder before it is written over; nothing at first.
pub static BEFORE_OVERWRITE: ChunkCallback = ChunkCallback(AtomicPtr::new(core::ptr::null_mut()));

/// A function that gets a chunk of a thread state.
pub struct ChunkCallback(AtomicPtr<()>);

impl ChunkCallback {
    /// Sets it.
    pub fn set(&self, function: fn(&mut ThreadState, *mut u8)) {
        self.0.store(function as *mut (), Release);
    }
    fn call(&self, thread_state: &mut ThreadState, chunk: *mut u8) {
        let function = self.0.load(Acquire);
        if !function.is_null() {
            // SAFETY: only `set` writes it.
            let function: fn(&mut ThreadState, *mut u8) = unsafe { core::mem::transmute(function) };
            function(thread_state, chunk);
        }
    }
}

/// What is left of a disk is for the first chunks of threads and for names.
const LAST_ROOM: u64 = 2 << 20;

/// Makes the first page of a ring, and its first chunk if calls are recorded. The first record opens the chunk.
pub fn create(thread_state: &mut ThreadState) -> bool {
    let bytes = run::chunk_bytes();
    let shared = shared_head(thread_state.ring).filter(|_| switch::recording() && thread_state.vfork_page.is_null());
    let pages = match shared {
        Some(head) => {
            let mut path = thread_state.path();
            path.push(b"/h").number(head.file.into()).push(b".heads");
            heads::place(head, bytes as usize, path.bytes())
        }
        None => own_file(thread_state, bytes),
    };
    thread_state.shares = shared.is_some();
    let Some((page, chunk)) = pages else { return false };
    let header = page.cast::<RingHeader>();
    // SAFETY: a fresh page of our file.
    unsafe {
        (&raw mut (*header).version).write(VERSION);
        (&raw mut (*header).chunk_bytes).write(bytes);
        if !chunk.is_null() {
            (*header).chunks.store(1, Relaxed);
            thread_state.mapped[0] = (1, chunk);
        }
        (*header).magic.store(MAGIC, Release);
    }
    thread_state.header = header;
    true
}

/// The same in a file of the ring's own: page and chunk in one mapping. While cutap opens a file, it holds the first
/// free descriptor for a moment, so this opens the file only once. The chunk is null if there is none.
fn own_file(thread_state: &ThreadState, chunk_bytes: u32) -> Option<(*mut u8, *mut u8)> {
    if !mappings::take(1) {
        return None;
    }
    let (offset, end) = (chunk_offset(0, chunk_bytes), chunk_offset(1, chunk_bytes));
    // An earlier try may have left the file without a header.
    let mapping = sys::with(path(thread_state).bytes(), sys::MADE, |file| {
        let page = if switch::recording() && file.allocate(end) { file.map(0, end) } else { core::ptr::null_mut() };
        if page.is_null() {
            return Some((file.first_page()?, core::ptr::null_mut()));
        }
        // SAFETY: inside the mapping.
        Some((page, unsafe { page.add(offset) }))
    });
    let mapping = mapping.flatten();
    if mapping.is_none() {
        mappings::give_back(1);
    }
    mapping
}

/// The file of a thread state's ring.
fn path(thread_state: &ThreadState) -> path::Path {
    let mut path = thread_state.path();
    path.push(b"/t").number(u64::from(thread_state.ring)).push(b".ring");
    path
}

/// Opens the next chunk for a record of this kind and length; false when there is none to be had. The
/// record is dropped then, and counted here.
#[cold]
pub fn next_chunk(thread_state: &mut ThreadState, kind: u8, words: u32) -> bool {
    let opened = open_chunk(thread_state, kind, words);
    if !opened {
        let lossy = run::flags() & control::LOSSY != 0;
        page::count(
            match kind {
                kind::ENTER if lossy => diagnostic::CALL_DROPPED_LOSSY,
                kind::ENTER => diagnostic::CALL_DROPPED,
                kind::EXIT | kind::UNWOUND => diagnostic::END_DROPPED,
                kind::LOOKUP if lossy => diagnostic::EVENT_DROPPED_LOSSY,
                // Counted once for all pieces, where they are written.
                kind::STACK | kind::MEMORY => return false,
                _ => diagnostic::RECORD_DROPPED,
            },
            1,
        );
    }
    opened
}

fn open_chunk(thread_state: &mut ThreadState, kind: u8, words: u32) -> bool {
    // A signal handler's call inside this function, or a vfork child, must not wait.
    let nested = thread_state.changing;
    let blocking = allowed::may_block_signals();
    if nested && !blocking {
        // The handler may have come in the middle of a change.
        return false;
    }
    let most = if allowed::may_sleep() { MOST_NS } else { MOST_AWAKE_NS };
    let started = sys::clock(sys::MONOTONIC);
    let sequence = thread_state.sequence;
    // A process that ends here has a call that nothing else reports.
    let mut waits = false;
    let mut wait = |now: bool| {
        if now != waits && kind == kind::ENTER {
            page::count(diagnostic::CALL_WAITED, if now { 1 } else { u64::MAX });
            waits = now;
        }
    };
    loop {
        let signals = sys::block_signals();
        thread_state.changing = true;
        // A signal handler may have opened one while we waited: it is as good for us.
        // SAFETY: our own thread state, read again because handlers write it behind the compiler's back.
        let opened = match unsafe { (&raw const thread_state.sequence).read_volatile() } == sequence {
            true => {
                let in_vain = thread_state.in_vain || sys::clock(sys::MONOTONIC).saturating_sub(started) > most;
                thread_state.in_vain = in_vain;
                let may_wait = !nested && !in_vain && worth_waiting(started);
                change(thread_state, blocking, |thread_state, writer| {
                    try_next(thread_state, writer, kind, words, may_wait)
                })
            }
            false => Some(true),
        };
        if !nested {
            thread_state.changing = false;
        }
        sys::restore_signals(signals);
        match opened {
            Some(done) => {
                wait(false);
                return done;
            }
            None => {
                wait(true);
                thread_state.changing = true;
                sys::sleep_us(200);
                thread_state.changing = nested;
            }
        }
    }
}

/// Changes which chunk is written to. Where signals are not kept away meanwhile, a handler finds no chunk, and its
/// records are dropped.
fn change<R>(
    thread_state: &mut ThreadState,
    blocking: bool,
    then: impl FnOnce(&mut ThreadState, &mut ChunkWriter) -> R,
) -> R {
    let mut writer = thread_state.writer;
    let chunk_word = &raw mut thread_state.writer.chunk;
    if !blocking {
        // SAFETY: our own thread state.
        unsafe { chunk_word.write_volatile(core::ptr::null_mut()) };
        compiler_fence(SeqCst);
    }
    let result = then(thread_state, &mut writer);
    (thread_state.writer.bytes, thread_state.writer.last) = (writer.bytes, writer.last);
    compiler_fence(SeqCst);
    // SAFETY: as above.
    unsafe { (&raw mut thread_state.writer.chunk).write_volatile(writer.chunk) };
    result
}

/// Adds chunks as long as that can be done, until the ring has so many: no file can be made longer soon.
pub fn lay_in(thread_state: &mut ThreadState, most: u32) {
    let signals = sys::block_signals();
    // SAFETY: the header is mapped.
    let header = unsafe { &*thread_state.header };
    let current = thread_state.writer.chunk;
    while header.chunks.load(Relaxed) < most.min(run::max_chunks()) {
        let n = header.chunks.load(Relaxed);
        if add_chunk(thread_state, current, header, n).is_none() {
            break;
        }
    }
    sys::restore_signals(signals);
}

/// The last heartbeat of a collector that was found dead: it is not waited for again.
static LAST_BEAT: AtomicU64 = AtomicU64::new(u64::MAX);

/// True while it may help to wait: somebody drains, or copies what would be written over.
fn worth_waiting(started: u64) -> bool {
    let Some(c) = run::control() else { return false };
    let now = sys::clock(sys::MONOTONIC);
    if c.flags.load(Relaxed) & control::FLIGHT != 0 {
        return now.saturating_sub(c.copying.load(Acquire)) < PATIENCE_NS;
    }
    let beat = c.heartbeat.load(Acquire);
    if c.collector.load(Acquire) != control::COLLECTOR_ATTACHED || beat == LAST_BEAT.load(Relaxed) {
        return false;
    }
    let alive = now.saturating_sub(beat.max(started)) < PATIENCE_NS;
    if !alive {
        LAST_BEAT.store(beat, Relaxed);
    }
    alive
}

/// `None`: wait and come again.
fn try_next(
    thread_state: &mut ThreadState,
    writer: &mut ChunkWriter,
    kind: u8,
    words: u32,
    may_wait: bool,
) -> Option<bool> {
    // SAFETY: the header is mapped.
    let header = unsafe { &*thread_state.header };
    let flags = run::flags();
    let lossy = flags & control::LOSSY != 0;
    // In a lossy ring a call that was recorded ends there too, so that no call looks unfinished.
    let ends_call = lossy && !matches!(kind, kind::ENTER | kind::LOOKUP | kind::STACK | kind::MEMORY);
    if flags & (control::LOSSY | control::FLIGHT) == 0 {
        // Whoever drains may take it while we wait.
        close(writer, header.chunk_bytes);
    }
    let free = thread_state.mapped.iter().position(|&(n, p)| {
        // SAFETY: mapped chunks of our ring.
        n != 0 && !p.is_null() && unsafe { (*p.cast::<ChunkHeader>()).state.load(Acquire) } == FREE
    });
    thread_state.in_vain &= free.is_none();
    if free.is_none() && ends_call && lengthen(writer, header.chunk_bytes, words) {
        return Some(true);
    }
    let chunks = header.chunks.load(Relaxed);
    let full = chunks >= run::max_chunks();
    let mut bytes = header.chunk_bytes;
    let at = match free.and_then(|i| thread_state.mapped.get(i)).map(|&(_, p)| p) {
        Some(p) => p,
        None if flags & control::FLIGHT != 0 => {
            let added = if full { None } else { add_chunk(thread_state, writer.chunk, header, chunks) };
            match added {
                Some(p) => p,
                None if may_wait && chunks > 0 => return None,
                None => match oldest(thread_state, writer.chunk, 0) {
                    Some(p) => {
                        BEFORE_OVERWRITE.call(thread_state, p);
                        p
                    }
                    None => return Some(false),
                },
            }
        }
        None if lossy && full && !ends_call => return Some(false),
        None if !lossy && full && may_wait => return None,
        None => match add_chunk(thread_state, writer.chunk, header, chunks) {
            Some(p) => {
                if lossy && full {
                    bytes = CHUNK_HEADER as u32 + words * 8;
                }
                p
            }
            // Another may come free, as long as there is one that somebody reads.
            None if !lossy && may_wait && chunks > 0 => return None,
            None => return Some(false),
        },
    };
    let first_call = close(writer, header.chunk_bytes);
    let (ticks, monotonic) = clock::pair();
    thread_state.sequence += 1;
    let tid = header.tid.load(Relaxed);
    // SAFETY: the chunk is ours: free, new, or the oldest of those that nobody takes.
    *writer = unsafe { ChunkWriter::open(at.cast(), bytes, thread_state.sequence, tid, first_call, ticks, monotonic) };
    Some(true)
}

/// What the next chunk of a ring of kept calls is.
pub enum NextKept {
    /// A free one.
    Free(*mut u8),
    /// There is room for one more.
    New,
    /// None but those in use.
    None,
}

/// What the next chunk of this ring of kept calls would be.
pub fn next_kept(state: &ThreadState) -> NextKept {
    let is_free = |at: *mut u8| {
        // SAFETY: mapped chunks of this ring.
        at.cast() != state.writer.chunk && unsafe { (*at.cast::<ChunkHeader>()).state.load(Relaxed) } == FREE
    };
    let free = state.mapped.iter().find(|(n, at)| *n != 0 && !at.is_null() && is_free(*at));
    // SAFETY: the header is mapped.
    let chunks = unsafe { (*state.header).chunks.load(Relaxed) };
    match free {
        Some((_, at)) => NextKept::Free(*at),
        None if chunks < run::max_chunks() => NextKept::New,
        None => NextKept::None,
    }
}

/// Opens the next chunk of a ring of kept calls, which begins at this moment by both clocks. It may be the oldest one
/// behind chunk number `pinned`. The calls that were in it; none if there is no room.
pub fn open_kept(state: &mut ThreadState, (ticks, monotonic): (u64, u64), tid: u32, pinned: u64) -> Option<u32> {
    // SAFETY: the header is mapped.
    let header = unsafe { &*state.header };
    let current = state.writer.chunk;
    let unused = match next_kept(state) {
        NextKept::Free(at) => Some(at),
        NextKept::New => add_chunk(state, current, header, header.chunks.load(Relaxed)),
        NextKept::None => None,
    };
    let (at, lost) = match unused {
        Some(at) => (at, 0),
        None => {
            let at = oldest(state, current, pinned)?;
            // SAFETY: a full chunk of this ring.
            let head = unsafe { &*at.cast::<ChunkHeader>() };
            (at, ((head.head.load(Relaxed) >> 32) as u32).wrapping_sub(head.first_call.load(Relaxed)))
        }
    };
    let first_call = close(&mut state.writer, header.chunk_bytes);
    state.sequence += 1;
    // SAFETY: the chunk is free, new or full, and this ring's.
    state.writer =
        unsafe { ChunkWriter::open(at.cast(), header.chunk_bytes, state.sequence, tid, first_call, ticks, monotonic) };
    Some(lost)
}

/// Ends the current chunk, also one that was opened for less than it holds; the number of calls so far.
fn close(writer: &mut ChunkWriter, chunk_bytes: u32) -> u32 {
    if writer.chunk.is_null() {
        return 0;
    }
    writer.bytes = chunk_bytes;
    // SAFETY: the current chunk is mapped.
    unsafe {
        writer.close();
        (writer.head() >> 32) as u32
    }
}

/// A chunk that was opened for the ends of calls alone takes one more of them, if it has room.
fn lengthen(writer: &mut ChunkWriter, chunk_bytes: u32, words: u32) -> bool {
    if writer.chunk.is_null() || writer.bytes == chunk_bytes {
        return false;
    }
    // SAFETY: the current chunk is mapped.
    let bytes = unsafe { writer.head() } as u32 + words * 8;
    if bytes > chunk_bytes {
        return false;
    }
    writer.bytes = bytes;
    true
}

/// The oldest chunk that is full, to be written over: of those with higher numbers than `pinned`.
fn oldest(thread_state: &ThreadState, current: *mut ChunkHeader, pinned: u64) -> Option<*mut u8> {
    let waiting = thread_state.writing.0 as usize;
    // SAFETY: the header is mapped.
    let bytes = unsafe { (*thread_state.header).chunk_bytes } as usize;
    let mut earliest: Option<(u64, *mut u8)> = None;
    for &(n, p) in &thread_state.mapped {
        // A record that a signal handler interrupted may be waiting for its words there.
        if n == 0 || p.cast() == current || waiting.wrapping_sub(p as usize) < bytes {
            continue;
        }
        // SAFETY: a mapped chunk of our ring.
        let (state, sequence) = unsafe {
            let c = &*p.cast::<ChunkHeader>();
            (c.state.load(Relaxed), c.sequence.load(Relaxed))
        };
        if state == FULL && sequence > pinned && earliest.is_none_or(|f| sequence < f.0) {
            earliest = Some((sequence, p));
        }
    }
    earliest.map(|f| f.1)
}

/// One more chunk at the end of the file, allocated before it is published.
fn add_chunk(
    thread_state: &mut ThreadState,
    current: *mut ChunkHeader,
    header: &RingHeader,
    n: u32,
) -> Option<*mut u8> {
    if !allowed::may_make_files() {
        return None;
    }
    let path = path(thread_state);
    let (offset, bytes) = (chunk_offset(n, header.chunk_bytes), header.chunk_bytes as usize);
    let place = chunk_mapping(thread_state, current, bytes, n)?;
    let replaced = thread_state.mapped.get(place).filter(|m| m.0 != 0).map_or(core::ptr::null_mut(), |m| m.1);
    // A ring that shares its head has no file before its second chunk.
    let ways = if thread_state.shares { sys::MADE } else { &[sys::Open::ReadWrite][..] };
    let p = sys::with(path.bytes(), ways, |file| {
        if n > 0 && file.room() < LAST_ROOM || !file.allocate_part(offset, bytes) {
            return core::ptr::null_mut();
        }
        // A thread that has filled one will fill another; most never do.
        // SAFETY: a full chunk's mapping that only this thread state knows.
        if n == 0 { file.map(offset, bytes) } else { unsafe { file.map_whole(offset, bytes, replaced) } }
    });
    let Some(p) = p.filter(|p| !p.is_null()) else {
        mappings::give_back(u32::from(replaced.is_null()));
        return None;
    };
    header.chunks.store(n + 1, Release);
    if let Some(m) = thread_state.mapped.get_mut(place) {
        *m = (n + 1, p);
    }
    Some(p)
}

/// Which entry of `mapped` the next chunk takes: an empty one, which costs a mapping, or that of the oldest chunk. No
/// reader frees that chunk any more, or it would have been taken.
fn chunk_mapping(thread_state: &ThreadState, current: *mut ChunkHeader, bytes: usize, n: u32) -> Option<usize> {
    let empty = thread_state.mapped.iter().position(|m| m.0 == 0);
    if let Some(place) = empty
        && mappings::take(1)
    {
        return Some(place);
    }
    // A record that a signal handler interrupted may be waiting for its words in a chunk. A frame that a handler
    // interrupted may only have the address of the current chunk: there must be a chunk at that address at any moment,
    // full or not. The mapping of a shared head stays whole.
    let waiting = |at: *mut u8| (thread_state.writing.0 as usize).wrapping_sub(at as usize) < bytes;
    let may_go = |place: usize| {
        let Some(&(of, at)) = thread_state.mapped.get(place) else { return false };
        of != 0 && at.cast() != current && !waiting(at) && !(thread_state.shares && of == 1)
    };
    (0..MAPPED).map(|i| (n as usize + i) % MAPPED).find(|place| may_go(*place))
}
