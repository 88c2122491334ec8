//! Writes run folders as a traced process does, with `cutap-wire`'s own writers over mapped files, so
//! that reading can be tested at any moment of writing. For tests only. Time stands still unless told.

use cutap_wire::count::COUNTERS;
use cutap_wire::names::{CELL, Name, kind, layer};
use cutap_wire::process::Process as Page;
use cutap_wire::record::{self, FAR_PARENT, NO_PARENT, first_word};
use cutap_wire::ring::{CHUNK_HEADER, ChunkHeader, ChunkWriter, FREE, RingHeader, chunk_offset};
use cutap_wire::{MAGIC, PAGE, VERSION};
use memmap2::{MmapMut, MmapOptions};
use std::cell::Cell;
use std::fs::{self, File, OpenOptions};
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::Ordering;

/// A run folder and its clock.
pub struct Run {
    path: PathBuf,
    ticks: Rc<Cell<u64>>,
    /// Ticks a nanosecond; 0 for a clock of nanoseconds.
    tsc: u64,
}

/// Nanoseconds of CLOCK_MONOTONIC at the first tick.
pub const START_NS: u64 = 1_000_000_000;
/// Ticks at the same moment when the clock is a time stamp counter.
const START_TICKS: u64 = 77_000_000_000;

impl Run {
    /// A run whose processes count nanoseconds.
    pub fn new(path: &Path) -> Run {
        Run::with_clock(path, 0)
    }

    /// A run whose processes count this many ticks a nanosecond, or nanoseconds if 0.
    pub fn with_clock(path: &Path, tsc: u64) -> Run {
        fs::create_dir_all(path).expect("run folder");
        let start = if tsc == 0 { START_NS } else { START_TICKS };
        Run { path: path.to_owned(), ticks: Rc::new(Cell::new(start)), tsc }
    }

    /// Lets time pass.
    pub fn wait(&self, ns: u64) {
        self.ticks.set(self.ticks.get() + ns * self.tsc.max(1));
    }

    /// CLOCK_MONOTONIC of the run.
    pub fn now(&self) -> u64 {
        monotonic(self.ticks.get(), self.tsc)
    }

    /// Starts a process.
    pub fn process(&self, pid: u32, exe: &str) -> Process {
        self.start(pid, exe, "", PAGE as u32)
    }

    /// Starts a process whose rings have chunks of this size.
    pub fn process_with_chunks(&self, pid: u32, exe: &str, chunk_bytes: u32) -> Process {
        self.start(pid, exe, "", chunk_bytes)
    }

    /// Forks: a process with a folder of its own, into which its names are to be written again.
    pub fn fork(&self, parent: &Process, pid: u32) -> Process {
        self.start(pid, "forked", &parent.name, parent.chunk_bytes)
    }

    fn start(&self, pid: u32, exe: &str, parent: &str, chunk_bytes: u32) -> Process {
        let name = format!("p{pid}-0");
        let path = self.path.join(&name);
        fs::create_dir_all(&path).expect("process folder");
        let mut page = vec![0u8; PAGE];
        let mut put = |at: usize, bytes: &[u8]| page[at..at + bytes.len()].copy_from_slice(bytes);
        put(offset_of!(Page, version), &VERSION.to_le_bytes());
        put(offset_of!(Page, pid), &pid.to_le_bytes());
        put(offset_of!(Page, ppid), &1u32.to_le_bytes());
        put(offset_of!(Page, clock), &u32::from(self.tsc != 0).to_le_bytes());
        put(offset_of!(Page, ticks_per_second), &(self.tsc * 1_000_000_000).to_le_bytes());
        put(offset_of!(Page, start_ticks), &self.ticks.get().to_le_bytes());
        put(offset_of!(Page, start_monotonic), &self.now().to_le_bytes());
        put(offset_of!(Page, start_realtime), &1_700_000_000_000_000_000u64.to_le_bytes());
        put(offset_of!(Page, forked), &u32::from(!parent.is_empty()).to_le_bytes());
        put(offset_of!(Page, parent), parent.as_bytes());
        put(offset_of!(Page, exe), exe.as_bytes());
        put(offset_of!(Page, cmdline), exe.as_bytes());
        put(offset_of!(Page, magic), &MAGIC.to_le_bytes());
        fs::write(path.join(cutap_wire::process::FILE), &page).expect("proc page");
        let names = OpenOptions::new().create(true).append(true).open(path.join(cutap_wire::names::FILE));
        let names = names.expect("names file");
        Process { name, path, chunk_bytes, names, rings: 0, ticks: self.ticks.clone(), tsc: self.tsc }
    }
}

/// CLOCK_MONOTONIC at these ticks.
fn monotonic(ticks: u64, tsc: u64) -> u64 {
    ticks.wrapping_sub(START_TICKS).checked_div(tsc).map_or(ticks, |ns| START_NS + ns)
}

/// A process that writes its folder.
pub struct Process {
    name: String,
    path: PathBuf,
    chunk_bytes: u32,
    names: File,
    rings: u32,
    ticks: Rc<Cell<u64>>,
    tsc: u64,
}

impl Process {
    /// Its folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its id.
    pub fn pid(&self) -> u32 {
        self.name[1..].split('-').next().and_then(|pid| pid.parse().ok()).expect("a process folder")
    }

    /// Writes a name record, at the time that it is now.
    pub fn name(&mut self, kind: u8, a: u64, b: u64, c: u64, s: &str, t: &str) {
        let name = Name { kind, ticks: self.ticks.get(), a, b, c, s: s.as_bytes(), t: t.as_bytes() };
        let mut cells = vec![0u64; name.cells() * CELL / 8];
        // SAFETY: the cells were made for this name.
        unsafe { name.write(cells.as_mut_ptr().cast()) };
        let bytes: Vec<u8> = cells.iter().flat_map(|w| w.to_le_bytes()).collect();
        std::io::Write::write_all(&mut self.names, &bytes).expect("names");
    }

    /// The driver as object 1 with slots from 0 on.
    pub fn driver(&mut self, functions: &[&str]) {
        self.name(kind::OBJECT, 1, 0x10000, u64::from(layer::DRIVER), "libcuda.so.1", "");
        for (slot, function) in functions.iter().enumerate() {
            self.name(kind::SLOT, slot as u64, 1, 0, function, "");
        }
    }

    /// A library as this object, with slots from `slot` on.
    pub fn library(&mut self, object: u64, of: u8, soname: &str, slot: u64, functions: &[&str]) {
        self.name(kind::OBJECT, object, object << 16, u64::from(of), soname, "");
        for (n, function) in functions.iter().enumerate() {
            self.name(kind::SLOT, slot + n as u64, object, 0, function, "");
        }
    }

    /// A runtime linked into this object, as instance of the object's number, with slots from `slot` on.
    pub fn runtime(&mut self, object: u64, file: &str, version: u64, slot: u64, functions: &[&str]) {
        self.name(kind::OBJECT, object, object << 16, u64::from(layer::NONE), file, "");
        self.name(kind::INSTANCE, object, object, version, "", "");
        for (n, function) in functions.iter().enumerate() {
            self.name(kind::RUNTIME_SLOT, slot + n as u64, object, 0, function, "");
        }
    }

    /// Sets a counter of the page.
    pub fn count(&mut self, reason: usize, n: u64) {
        assert!(reason < COUNTERS);
        self.put(offset_of!(Page, counters) + reason * 8, &n.to_le_bytes());
    }

    /// Starts a thread with a ring of its own that has room for this many chunks.
    pub fn thread(&mut self, tid: u32, chunks: u32) -> Thread {
        let path = self.path.join(format!("t{}.ring", self.rings));
        let bytes = chunk_offset(chunks, self.chunk_bytes);
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path).expect("ring");
        file.set_len(bytes as u64).expect("ring");
        // SAFETY: the file is ours, and stays as long as it is; nobody cuts it off while it is mapped.
        let map = unsafe { MmapOptions::new().map_mut(&file) }.expect("ring");
        self.rings += 1;
        self.put(offset_of!(Page, rings), &self.rings.to_le_bytes());
        let mut thread = Thread {
            map,
            tid,
            chunks,
            chunk_bytes: self.chunk_bytes,
            sequence: 0,
            writer: None,
            open: Vec::new(),
            ticks: self.ticks.clone(),
            tsc: self.tsc,
        };
        let header = thread.header();
        // SAFETY: the first page of the file is mapped, and only this thread writes its plain words.
        unsafe {
            (&raw mut (*header).version).write(VERSION);
            (&raw mut (*header).chunk_bytes).write(self.chunk_bytes);
            (*header).chunks.store(chunks, Ordering::Relaxed);
            (*header).owner.word.store(tid, Ordering::Relaxed);
            (*header).tid.store(tid, Ordering::Relaxed);
            (*header).magic.store(MAGIC, Ordering::Release);
        }
        thread.open_chunk();
        thread
    }

    fn put(&self, at: usize, bytes: &[u8]) {
        let page = OpenOptions::new().write(true).open(self.path.join(cutap_wire::process::FILE)).expect("proc");
        std::os::unix::fs::FileExt::write_all_at(&page, bytes, at as u64).expect("proc");
    }
}

/// A thread that writes its ring.
pub struct Thread {
    map: MmapMut,
    tid: u32,
    chunks: u32,
    chunk_bytes: u32,
    sequence: u64,
    writer: Option<ChunkWriter>,
    /// Calls that are open, for their parents.
    pub open: Vec<u32>,
    ticks: Rc<Cell<u64>>,
    tsc: u64,
}

/// A record that was reserved and is not committed.
pub struct Unfinished {
    reserved: cutap_wire::ring::Reserved,
    first: u64,
}

impl Thread {
    /// A call begins inside the innermost open one.
    pub fn enter(&mut self, slot: u32, words: &[u64]) -> u32 {
        let parent = self.open.last().copied();
        self.enter_below(slot, parent, words)
    }

    /// A call begins inside this one, whatever else is open.
    pub fn enter_below(&mut self, slot: u32, parent: Option<u32>, words: &[u64]) -> u32 {
        let unfinished = self.reserve_enter(slot, parent, words);
        let number = unfinished.reserved.number;
        self.commit(unfinished);
        self.open.push(number);
        number
    }

    /// The innermost call returns.
    pub fn exit(&mut self, result: u64) {
        let number = self.open.pop().expect("an open call");
        self.exit_of(number, result);
    }

    /// This call returns.
    pub fn exit_of(&mut self, number: u32, result: u64) {
        self.open.retain(|o| *o != number);
        let back = self.calls().wrapping_sub(1).wrapping_sub(number);
        let words = if back < record::META_MAX { vec![result] } else { vec![result, u64::from(number)] };
        self.write(record::kind::EXIT, back.min(record::META_MAX), &words);
    }

    /// A call with nothing inside, that takes so long.
    pub fn call(&mut self, slot: u32, words: &[u64], ns: u64, result: u64) {
        self.enter(slot, words);
        self.ticks.set(self.ticks.get() + ns * self.tsc.max(1));
        self.exit(result);
    }

    /// Something is learned about the innermost open call.
    pub fn note(&mut self, what: u64, value: u64) {
        let number = *self.open.last().expect("an open call");
        let back = self.calls().wrapping_sub(1).wrapping_sub(number);
        self.write(record::kind::NOTE, back, &[what, value]);
    }

    /// A look-up.
    pub fn lookup(&mut self, which: u32, caller: u64, handle: u64, answer: u64, slot: u64, name: &str) {
        let mut words = vec![caller, handle, 0, answer, slot, 0, (name.len() as u64) << 48];
        let mut text = name.as_bytes().to_vec();
        text.resize(text.len().next_multiple_of(8), 0);
        words.extend(text.as_chunks::<8>().0.iter().map(|w| u64::from_le_bytes(*w)));
        self.write(record::kind::LOOKUP, which, &words);
    }

    /// Reserves an enter record, as a thread does that is stopped before it commits.
    pub fn reserve_enter(&mut self, slot: u32, parent: Option<u32>, words: &[u64]) -> Unfinished {
        let number = self.calls();
        let parent = parent.map_or(NO_PARENT, |p| number.wrapping_sub(p).min(u32::from(FAR_PARENT)) as u16);
        let mut all = vec![0x40_0000 | u64::from(parent) << 48];
        all.extend(words);
        self.reserve(record::kind::ENTER, slot, &all)
    }

    /// Commits what was reserved.
    pub fn commit(&mut self, unfinished: Unfinished) {
        unfinished.reserved.commit(unfinished.first);
    }

    /// The thread ends; another one takes its ring.
    pub fn reused_by(&mut self, tid: u32) {
        self.end();
        // SAFETY: the header is mapped.
        let header = unsafe { &*self.header() };
        header.owner.word.store(tid, Ordering::Relaxed);
        header.tid.store(tid, Ordering::Relaxed);
        self.tid = tid;
        self.open.clear();
        self.write(record::kind::THREAD, 0, &[u64::from(tid)]);
    }

    /// The innermost call is left by an exception.
    pub fn unwound(&mut self) {
        let number = self.open.pop().expect("an open call");
        let back = self.calls().wrapping_sub(1).wrapping_sub(number);
        self.write(record::kind::UNWOUND, back, &[]);
    }

    /// The thread ends, or is killed, and the kernel marks its mutex.
    pub fn end(&mut self) {
        // SAFETY: the header is mapped.
        let word = &unsafe { &*self.header() }.owner.word;
        word.fetch_or(cutap_wire::ring::OWNER_DIED, Ordering::Release);
    }

    /// States of all chunks.
    pub fn states(&mut self) -> Vec<u32> {
        // SAFETY: all chunks are mapped.
        (0..self.chunks).map(|n| unsafe { &*self.chunk(n) }.state.load(Ordering::Acquire)).collect()
    }

    /// Closes the current chunk and opens the next one.
    pub fn next_chunk(&mut self) {
        if let Some(writer) = self.writer.take() {
            // SAFETY: the chunk is mapped, and this is its writer.
            unsafe { writer.close() };
        }
        self.open_chunk();
    }

    fn calls(&self) -> u32 {
        let writer = self.writer.as_ref().expect("an open chunk");
        // SAFETY: the chunk is mapped.
        (unsafe { writer.head() } >> 32) as u32
    }

    fn write(&mut self, kind: u8, meta: u32, words: &[u64]) {
        let unfinished = self.reserve(kind, meta, words);
        self.commit(unfinished);
    }

    fn reserve(&mut self, kind: u8, meta: u32, words: &[u64]) -> Unfinished {
        let now = self.ticks.get();
        let last = self.writer.as_ref().expect("an open chunk").last;
        if now - last >= 1 << 31 {
            let time = self.reserve_plain(record::kind::TIME, 0, &[now]);
            self.commit(time);
        }
        self.reserve_plain(kind, meta, words)
    }

    fn reserve_plain(&mut self, kind: u8, meta: u32, words: &[u64]) -> Unfinished {
        let (now, count) = (self.ticks.get(), words.len() as u32 + 1);
        let first = first_word(kind, count, meta, now as u32);
        loop {
            let writer = self.writer.as_mut().expect("an open chunk");
            writer.last = now;
            // SAFETY: the chunk is mapped, this is its only writer, and the words lie in what is reserved.
            unsafe {
                let head = writer.head();
                if let Ok(reserved) = writer.reserve(head, count, first, kind == record::kind::ENTER) {
                    words.iter().enumerate().for_each(|(n, word)| reserved.word(n + 1, *word));
                    return Unfinished { reserved, first };
                }
            }
            self.next_chunk();
        }
    }

    fn open_chunk(&mut self) {
        let calls = match self.sequence {
            0 => 0,
            // SAFETY: the chunk that was closed last is mapped.
            _ => (unsafe { &*self.last_chunk() }.head.load(Ordering::Relaxed) >> 32) as u32,
        };
        let place = self.states().iter().position(|s| *s == FREE).expect("a free chunk");
        let (ticks, tsc) = (self.ticks.get(), self.tsc);
        let monotonic = monotonic(ticks, tsc);
        self.sequence += 1;
        let chunk = self.chunk(place as u32);
        // SAFETY: the chunk is mapped and free.
        self.writer = Some(unsafe {
            ChunkWriter::open(chunk, self.chunk_bytes, self.sequence, self.tid, calls, ticks, monotonic)
        });
    }

    fn last_chunk(&mut self) -> *mut ChunkHeader {
        let sequence = self.sequence;
        // SAFETY: all chunks are mapped.
        let is_last = |c: &*mut ChunkHeader| unsafe { &**c }.sequence.load(Ordering::Relaxed) == sequence;
        (0..self.chunks).map(|n| self.chunk(n)).find(is_last).expect("the last chunk")
    }

    fn header(&mut self) -> *mut RingHeader {
        self.map.as_mut_ptr().cast()
    }

    fn chunk(&mut self, n: u32) -> *mut ChunkHeader {
        let at = chunk_offset(n, self.chunk_bytes);
        assert!(at + CHUNK_HEADER <= self.map.len());
        // SAFETY: the place lies in the mapping.
        unsafe { self.map.as_mut_ptr().add(at) }.cast()
    }
}
