//! A small model of the kernel driver and of a GPU: enough to make a context, and to run its channels in any order that
//! their waits allow. Each kernel does what `step` of kernels.cu does: `c[i] = c[i] * 3 + k` for n words.

use cutap_cudest::sys::{Kernel, Node};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

mod gpu;
mod uvm;

#[derive(Default)]
pub struct Model {
    pub state: Mutex<State>,
    pub stopped: AtomicBool,
    /// Classes of the GPU.
    pub classes: Vec<u32>,
    pub version: String,
    /// Opening a node fails so.
    pub refuse_open: Option<i32>,
    /// Allocating this class gives this status.
    pub refuse_class: Option<(u32, u32)>,
    /// The operating system refuses this request of the frontend, as a sandbox does.
    pub refuse_request: Option<u8>,
    /// The node of the unified memory driver is missing.
    pub no_uvm: bool,
}

#[derive(Default)]
pub struct State {
    next_fd: i32,
    open: HashMap<i32, Option<u32>>,
    ioctls: Vec<(u8, u32)>,
    memory: HashMap<u32, Memory>,
    /// By address: length, memory, offset.
    mapped: BTreeMap<u64, (u64, u32, u64)>,
    ranges: HashMap<u32, (u64, bool)>,
    parents: HashMap<u32, u32>,
    next_low: u64,
    channels: Vec<Channel>,
    random: u64,
    log: Vec<String>,
    /// Words in system memory that kernels have released and that have not arrived.
    late: VecDeque<(u64, u32)>,
    /// Workspace and barrier of each cooperative launch that ran.
    pub cooperative: Vec<(u64, u32)>,
    /// Each launch that ran: its descriptor's address and words, and the words of its constant bank 0.
    launches: Vec<Launched>,
    /// Descriptors that methods have written.
    pub inline: usize,
    uvm: uvm::Uvm,
    /// Address spaces that RM does not own.
    external: HashSet<u32>,
    /// Compute objects.
    compute: HashSet<u32>,
    /// CPU addresses of memory.
    cpu: HashMap<u32, u64>,
}

/// A launch that ran.
#[derive(Clone)]
pub struct Launched {
    pub descriptor: u64,
    pub qmd: Vec<u32>,
    pub bank_address: u64,
    pub bank: Vec<u32>,
}

struct Memory {
    fd: i32,
    host: usize,
    size: u64,
}

#[derive(Default)]
struct Channel {
    handle: u32,
    ring: u64,
    entries: u64,
    userd: (u32, u64),
    notifier: u32,
    get: u64,
    words: VecDeque<u32>,
    registers: HashMap<u32, u32>,
    /// Kernels that run: descriptors.
    running: Vec<u64>,
}

fn take<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().unwrap()
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(take(bytes, at))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(take(bytes, at))
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

impl State {
    fn below(&mut self, most: usize) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) as usize % most.max(1)
    }

    fn host(&self, address: u64) -> *mut u8 {
        self.mapped_at(address).0
    }

    /// Where the memory of a GPU address is, and the bytes from there to the end of its mapping.
    fn mapped_at(&self, address: u64) -> (*mut u8, usize) {
        let (start, (length, memory, offset)) = self.mapped.range(..=address).next_back().expect("a GPU address");
        assert!(address < start + length, "{address:#x} is not mapped");
        let at = (self.memory[memory].host as u64 + offset + address - start) as *mut u8;
        (at, (start + length - address) as usize)
    }

    fn read(&self, address: u64) -> u32 {
        // SAFETY: `host` checks the address; the context writes whole words.
        unsafe { self.host(address).cast::<u32>().read_volatile() }
    }

    fn write(&self, address: u64, value: u32) {
        // SAFETY: as above.
        unsafe { self.host(address).cast::<u32>().write_volatile(value) }
    }

    fn allocate(&mut self, model: &Model, call: &mut [u8]) -> u32 {
        let (parent, class, params) = (word(call, 4), word(call, 12), long(call, 16));
        if let Some((_, status)) = model.refuse_class.filter(|(refused, _)| *refused == class) {
            return status;
        }
        if class == 0x41 {
            put(call, 8, &0xc1d0_0001_u32.to_le_bytes());
        }
        let handle = word(call, 8);
        assert!(self.parents.insert(handle, parent).is_none(), "handle {handle:#x} twice");
        let size = word(call, 32) as usize;
        // SAFETY: the context passes a struct of this size.
        let params = if size == 0 { &[][..] } else { unsafe { std::slice::from_raw_parts(params as *const u8, size) } };
        match class {
            0x40 | 0x3e => {
                let size = long(params, 64);
                // SAFETY: a new file, shared between the context's mapping and this one.
                let (fd, host) = unsafe {
                    let fd = libc::memfd_create(c"gpu".as_ptr(), 0);
                    assert_eq!(libc::ftruncate(fd, size as i64), 0);
                    let all = libc::PROT_READ | libc::PROT_WRITE;
                    (fd, libc::mmap(std::ptr::null_mut(), size as usize, all, libc::MAP_SHARED, fd, 0))
                };
                assert_ne!(host, libc::MAP_FAILED);
                self.memory.insert(handle, Memory { fd, host: host as usize, size });
            }
            0x90f1 if word(params, 4) & 0x48 == 0x48 => drop(self.external.insert(handle)),
            // RM has no addresses in such a space.
            0x50a0 if self.external.contains(&word(params, 108)) => {
                self.parents.remove(&handle);
                return 0x1a;
            }
            0x50a0 => {
                let fixed = word(params, 8) & 0x10 != 0;
                let size = long(params, 64);
                let address = if fixed {
                    long(params, 80)
                } else {
                    self.next_low += size.next_multiple_of(2 << 20);
                    0x1_2000_0000 + self.next_low - size.next_multiple_of(2 << 20)
                };
                self.ranges.insert(handle, (address, fixed));
            }
            0xcbc0 => drop(self.compute.insert(handle)),
            0xc86f => self.channels.push(Channel {
                handle,
                ring: long(params, 8),
                entries: word(params, 16).into(),
                userd: (word(params, 32), long(params, 64)),
                notifier: word(params, 0),
                ..Channel::default()
            }),
            _ => {}
        }
        0
    }

    fn free(&mut self, handle: u32) {
        let below: Vec<u32> = self.parents.iter().filter(|(_, p)| **p == handle).map(|(h, _)| *h).collect();
        below.into_iter().for_each(|handle| self.free(handle));
        self.parents.remove(&handle);
        if let Some((address, _)) = self.ranges.remove(&handle) {
            self.mapped.remove(&address);
        }
        self.external.remove(&handle);
        self.cpu.remove(&handle);
        self.channels.iter_mut().filter(|channel| channel.handle == handle).for_each(|c| *c = Channel::default());
        if let Some(memory) = self.memory.remove(&handle) {
            // SAFETY: the mapping and the file are the model's.
            unsafe {
                libc::munmap(memory.host as *mut _, memory.size as usize);
                libc::close(memory.fd);
            }
        }
        if self.parents.is_empty() {
            self.channels.clear();
        }
    }

    fn control(&mut self, model: &Model, call: &[u8]) -> u32 {
        let (command, params, size) = (word(call, 8), long(call, 16), word(call, 24) as usize);
        // SAFETY: the context passes a struct of this size.
        let params = unsafe { std::slice::from_raw_parts_mut(params as *mut u8, size) };
        match command {
            0x0080_0292 => {
                put(params, 0, &(model.classes.len() as u32).to_le_bytes());
                for (n, class) in model.classes.iter().enumerate() {
                    put(params, 4 + 4 * n, &class.to_le_bytes());
                }
            }
            0x2080_2a0a => {
                put(params, 128, &0x1f_u64.to_le_bytes());
                (params[0], params[2]) = (1, 1);
            }
            0xa06f_0103 if !self.external.is_empty() && params[0] != 0 => {
                let channel = word(call, 4);
                // Without page tables for its context a channel cannot run.
                return if self.uvm.is_registered(channel) { 0 } else { 0x40 };
            }
            0x906f_0106 => {
                put(params, 0, &[0x70, 0, 0, 0, 0x40, 0x23, 1, 0]);
                put(params, 12, b"FAULT_PDE");
            }
            0x2080_0110 => put(params, 4, b"Model"),
            0x2080_122a => put(params, 16, &3_u32.to_le_bytes()),
            0x2080_122b => put(params, 20, &7_u32.to_le_bytes()),
            _ => {}
        }
        0
    }
}

impl Model {
    pub fn hopper() -> Self {
        let version = "580.159.04".to_owned();
        Self { classes: vec![0xc86f, 0xcbc0, 0xc8b5, 0xc661], version, ..Self::default() }
    }

    /// Runs the GPU in a thread until the guard is dropped.
    pub fn start(self) -> (Arc<Self>, Running) {
        let model = Arc::new(self);
        let gpu = Arc::clone(&model);
        let thread = std::thread::spawn(move || {
            while !gpu.stopped.load(Ordering::Acquire) {
                let mut state = gpu.state.lock().unwrap();
                if !(0..64).any(|_| !state.step()) {
                    continue;
                }
                drop(state);
                std::thread::yield_now();
            }
        });
        (Arc::clone(&model), Running { model, thread: Some(thread) })
    }

    pub fn ioctls(&self) -> Vec<(u8, u32)> {
        self.state.lock().unwrap().ioctls.clone()
    }

    /// Forks while nothing else uses the model, so that the child may use its copy.
    pub fn fork(&self) -> libc::pid_t {
        let _held = self.state.lock().unwrap();
        // SAFETY: the callers' child ends without returning to the test.
        unsafe { libc::fork() }
    }

    /// Objects and descriptors that are left.
    pub fn left(&self) -> (usize, usize) {
        let state = self.state.lock().unwrap();
        (state.parents.len(), state.open.len())
    }

    /// Channels that were made so far.
    pub fn channels(&self) -> usize {
        self.state.lock().unwrap().channels.len()
    }

    /// The launches that ran.
    pub fn launches(&self) -> Vec<Launched> {
        self.state.lock().unwrap().launches.clone()
    }

    /// The large copies within video memory.
    pub fn copies(&self) -> Vec<String> {
        let state = self.state.lock().unwrap();
        state.log.iter().filter(|line| line.starts_with("copy")).cloned().collect()
    }

    /// What the driver writes when a channel faults.
    pub fn fault(&self, xid: u32) {
        let mut state = self.state.lock().unwrap();
        let notifier = state.memory[&state.channels[0].notifier].host as *mut u32;
        // SAFETY: the first record is inside of the notifier's memory.
        unsafe {
            notifier.add(2).write_volatile(xid);
            notifier.add(3).write_volatile(0xffff << 16);
        }
        state.channels.clear();
    }
}

pub struct Running {
    model: Arc<Model>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.model.stopped.store(true, Ordering::Release);
        let ended = self.thread.take().map(std::thread::JoinHandle::join);
        assert!(matches!(ended, Some(Ok(()))) || std::thread::panicking(), "the model's GPU failed");
    }
}

impl Kernel for Model {
    fn version(&self) -> io::Result<String> {
        Ok(self.version.clone())
    }

    fn open(&self, node: Node) -> io::Result<i32> {
        if let Some(number) = self.refuse_open {
            return Err(io::Error::from_raw_os_error(number));
        }
        let mut state = self.state.lock().unwrap();
        state.next_fd += 1;
        let fd = 1000 + state.next_fd;
        if node == Node::Uvm {
            if self.no_uvm {
                return Err(io::ErrorKind::NotFound.into());
            }
            state.uvm.opened(fd);
        }
        state.open.insert(fd, None);
        Ok(fd)
    }

    fn close(&self, fd: i32) {
        let mut state = self.state.lock().unwrap();
        state.uvm.closed(fd);
        assert!(state.open.remove(&fd).is_some(), "descriptor {fd} closed twice");
    }

    unsafe fn ioctl(&self, fd: i32, request: u32, call: &mut [u8]) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        assert!(state.open.contains_key(&fd));
        if state.uvm.has(fd) {
            state.ioctls.push((0, request));
            state.uvm(fd, request, call);
            return Ok(());
        }
        assert_eq!(request >> 16 & 0x3fff, call.len() as u32, "the request has the struct's size");
        let number = request as u8;
        let what = match number {
            0x2a => word(call, 8),
            0x2b => word(call, 12),
            _ => 0,
        };
        state.ioctls.push((number, what));
        if self.refuse_request == Some(number) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        match number {
            0xc8 => {
                call[0] = 1;
                put(call, 16, &6_u32.to_le_bytes());
                put(call, 8, &0x10de_u16.to_le_bytes());
            }
            0x2b => {
                let status = state.allocate(self, call);
                put(call, 40, &status.to_le_bytes());
            }
            0x2a => {
                let status = state.control(self, call);
                put(call, 28, &status.to_le_bytes());
            }
            0x29 => state.free(word(call, 8)),
            0x4e => {
                let (memory, fd) = (word(call, 8), word(call, 48) as i32);
                state.open.insert(fd, Some(memory));
            }
            0x57 => {
                let (range, memory) = (word(call, 8), word(call, 12));
                let (address, _) = state.ranges[&range];
                let (offset, length) = (long(call, 16), long(call, 24));
                state.mapped.insert(address, (length, memory, offset));
                put(call, 48, &address.to_le_bytes());
            }
            _ => {}
        }
        Ok(())
    }

    unsafe fn map(&self, fd: i32, at: Option<NonNull<u8>>, length: usize) -> io::Result<NonNull<u8>> {
        let mut state = self.state.lock().unwrap();
        if let (Some(handle), Some(at)) = (state.open[&fd], at) {
            state.cpu.insert(handle, at.as_ptr() as u64);
        }
        let memory = state.open[&fd].and_then(|handle| state.memory.get(&handle));
        let (file, shared) = memory.map_or((-1, libc::MAP_ANONYMOUS), |memory| (memory.fd, 0));
        let (address, fixed) = at.map_or((std::ptr::null_mut(), 0), |at| (at.as_ptr(), libc::MAP_FIXED));
        let all = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: as the caller says.
        let found = unsafe { libc::mmap(address.cast(), length, all, libc::MAP_SHARED | fixed | shared, file, 0) };
        assert_ne!(found, libc::MAP_FAILED);
        Ok(NonNull::new(found.cast()).unwrap())
    }

    unsafe fn unmap(&self, at: NonNull<u8>, length: usize) {
        // SAFETY: as the caller says.
        unsafe { libc::munmap(at.as_ptr().cast(), length) };
    }
}
