//! Writes run directories as a traced process does, with the writers of `cutap-wire` over mapped files, so that tests
//! can read at any moment of writing. For tests only. Time passes only when a test says so.

pub mod any;
mod functions;
mod stretch;
pub mod tables;
mod thread;

use cutap_calls::Layer;
use cutap_wire::control::{self, Control};
use cutap_wire::diagnostic::COUNTERS;
use cutap_wire::names::{CELL, Name, kind};
use cutap_wire::process::Process as Page;
use cutap_wire::ring::chunk_offset;
use cutap_wire::{MAGIC, PAGE, VERSION};
use memmap2::MmapOptions;
use std::cell::Cell;
use std::fs::{self, File, OpenOptions};
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::rc::Rc;
pub use stretch::stretch;
pub use thread::{Thread, UncommittedRecord, pieces};

/// A run directory and its clock.
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
        fs::create_dir_all(path).expect("run directory");
        let start = if tsc == 0 { START_NS } else { START_TICKS };
        Run { path: path.to_owned(), ticks: Rc::new(Cell::new(start)), tsc }
    }

    /// The run has rows of GPU time.
    pub fn has_gpu_time(&self) {
        let mut page = vec![0u8; PAGE];
        let mut put = |at: usize, bytes: &[u8]| page[at..at + bytes.len()].copy_from_slice(bytes);
        put(offset_of!(Control, magic), &MAGIC.to_le_bytes());
        put(offset_of!(Control, version), &VERSION.to_le_bytes());
        put(offset_of!(Control, flags), &control::GPU_TIME.to_le_bytes());
        fs::write(self.path.join(control::FILE), &page).expect("control page");
    }

    /// Lets time pass.
    pub fn wait(&self, ns: u64) {
        self.ticks.set(self.ticks.get() + ns * self.tsc.max(1));
    }

    /// As on another core, whose time stamps are behind.
    pub fn back(&self, ns: u64) {
        self.ticks.set(self.ticks.get() - ns * self.tsc.max(1));
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

    /// Forks: a process with a separate folder, into which its names are to be written again.
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
        self.bytes(kind, a, b, c, s.as_bytes(), t.as_bytes());
    }

    fn bytes(&mut self, kind: u8, a: u64, b: u64, c: u64, s: &[u8], t: &[u8]) {
        let name = Name { kind, ticks: self.ticks.get(), a, b, c, s, t };
        let mut cells = vec![0u64; name.cells() * CELL / 8];
        // SAFETY: the cells were made for this name.
        unsafe { name.write(cells.as_mut_ptr().cast()) };
        let bytes: Vec<u8> = cells.iter().flat_map(|w| w.to_le_bytes()).collect();
        std::io::Write::write_all(&mut self.names, &bytes).expect("names");
    }

    /// The driver as object 1 with slots from 0 on.
    pub fn driver(&mut self, functions: &[&str]) {
        self.name(kind::OBJECT, 1, 0x10000, u64::from(Layer::DRIVER.number()), "libcuda.so.1", "");
        for (slot, function) in functions.iter().enumerate() {
            self.slot(slot as u64, 1, (6, 0, 0), function);
        }
    }

    /// A function of this object whose records have so many words of registers, vector registers and stack.
    pub fn slot(&mut self, slot: u64, object: u64, shape: (u8, u8, u8), function: &str) {
        let shape = cutap_wire::names::shape(shape.0, shape.1, shape.2);
        self.name(kind::SLOT, slot, object | shape << 44, 0, function, "");
    }

    /// A function of this runtime instance whose parameter block has so many words.
    pub fn runtime_slot(&mut self, slot: u64, instance: u64, words: u64, function: &str) {
        self.name(kind::RUNTIME_SLOT, slot, instance, words << 32, function, "");
    }

    /// What the driver says of a kernel's parameters: offset and size of each.
    pub fn kernel_parameters(&mut self, handle: u64, parameters: &[(u32, u32)]) {
        let bytes = parameters.iter().flat_map(|(at, size)| [at.to_le_bytes(), size.to_le_bytes()]);
        let bytes: Vec<u8> = bytes.flatten().collect();
        self.bytes(kind::KERNEL_PARAMETERS, handle, 0, 0, &bytes, &[]);
    }

    /// A library as this object, with slots from `slot` on.
    pub fn library(&mut self, object: u64, of: u8, soname: &str, slot: u64, functions: &[&str]) {
        self.name(kind::OBJECT, object, object << 16, u64::from(of), soname, "");
        for (n, function) in functions.iter().enumerate() {
            self.slot(slot + n as u64, object, (6, 0, 0), function);
        }
    }

    /// A runtime linked into this object, as instance of the object's number, with slots from `slot` on.
    pub fn runtime(&mut self, object: u64, file: &str, version: u64, slot: u64, functions: &[&str]) {
        self.name(kind::OBJECT, object, object << 16, 0, file, "");
        self.name(kind::INSTANCE, object, object, version, "", "");
        for (n, function) in functions.iter().enumerate() {
            self.runtime_slot(slot + n as u64, object, 6, function);
        }
    }

    /// Sets a counter of the page.
    pub fn count(&mut self, reason: usize, n: u64) {
        assert!(reason < COUNTERS);
        self.put(offset_of!(Page, counters) + reason * 8, &n.to_le_bytes());
    }

    /// Notes when a collector found that it had ended.
    pub fn set_ended(&mut self, ns: u64) {
        self.put(offset_of!(Page, end_ns), &ns.to_le_bytes());
    }

    /// Starts a thread with a separate ring that has room for this many chunks.
    pub fn thread(&mut self, tid: u32, chunks: u32) -> Thread {
        let path = self.path.join(format!("t{}.ring", self.rings));
        let bytes = chunk_offset(chunks, self.chunk_bytes);
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path).expect("ring");
        file.set_len(bytes as u64).expect("ring");
        // SAFETY: the file is ours, and stays as long as it is; nobody cuts it off while it is mapped.
        let map = unsafe { MmapOptions::new().map_mut(&file) }.expect("ring");
        self.rings += 1;
        self.put(offset_of!(Page, rings), &self.rings.to_le_bytes());
        let clock = (self.ticks.clone(), self.tsc);
        Thread::new(map, tid, chunks, self.chunk_bytes, clock)
    }

    fn put(&self, at: usize, bytes: &[u8]) {
        let page = OpenOptions::new().write(true).open(self.path.join(cutap_wire::process::FILE)).expect("proc");
        std::os::unix::fs::FileExt::write_all_at(&page, bytes, at as u64).expect("proc");
    }
}
