//! A context: an address space of a GPU, its lanes and timelines, and what is freed after them.

use crate::base::error::{Error, Fault, Loss, Result, SmError};
use crate::base::fork;
use crate::base::wait::Backoff;
use crate::context::code_map::CodeMaps;
use crate::context::cooperative_state::CooperativeState;
use crate::cubin::is_trap;
use crate::encode::bank;
use crate::kernel_driver::chip::Chip;
use crate::kernel_driver::fault;
use crate::kernel_driver::link::Link;
use crate::memory::allocation::{Allocation, MemoryKind, Request};
use crate::memory::pool::{Owner, Pool};
use crate::memory::reserve::Windows;
use crate::memory::space::{Mode, Space};
use crate::submission::channel::Doorbell;
use crate::submission::fence::{Fence, Timeline};
use crate::submission::lane::{Generation, Lane, Lanes, LocalMemory, MOST_WAITS, Operation, Order};
use crate::submission::slots::Placement;
use std::any::Any;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak};
use std::time::Instant;

/// The control buffer: the error notifier, then a word a timeline, a cache line apart.
const CONTROL_BYTES: u64 = 0x20000;
const TIMELINES_AT: u64 = 0x1000;
const TIMELINE_BYTES: u64 = 64;

/// How a context is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How kernels of one stream are kept in order.
    pub order: Order,
    /// Who writes launch descriptors.
    pub placement: Placement,
    /// Ask for boost clocks, with the first work that lasts.
    pub boost: bool,
    /// Copies from this size on use an engine for copies alone.
    pub copy_engine_from: u64,
    /// Copies within video memory from this size on are made by a kernel.
    pub copy_kernel_from: u64,
    /// A channel that waits for a fence lets other channels run. Without it ordered launches are faster.
    pub yield_on_wait: bool,
    /// Who makes the page tables. None: RM, or the unified memory driver where RM's are refused, as in some sandboxes.
    pub mode: Option<Mode>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            order: Order::default(),
            placement: Placement::default(),
            boost: true,
            copy_engine_from: 1 << 18,
            copy_kernel_from: 1 << 20,
            yield_on_wait: true,
            mode: None,
        }
    }
}

/// The direction of a copy: each has its engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From memory of the machine to video memory.
    ToGpu = 0,
    /// From video memory to memory of the machine.
    FromGpu = 1,
    /// All else.
    Within = 2,
}

/// Everything of a context. Fields are dropped in this order.
pub(crate) struct Shared {
    pub deferred_frees: Mutex<Vec<(Vec<Fence>, Owner)>>,
    local: Mutex<LocalPool>,
    pub cooperative: Mutex<CooperativeState>,
    /// The module with the kernel that copies.
    pub copier: Mutex<Weak<dyn Any + Send + Sync>>,
    pub lanes: RwLock<Lanes>,
    timelines: RwLock<Vec<Arc<Timeline>>>,
    /// Timelines of the host that are free again.
    free_timelines: Mutex<Vec<Arc<Timeline>>>,
    pub pool: Pool,
    pub control: Allocation,
    doorbell: Doorbell,
    pub windows: Windows,
    pub space: Arc<Space>,
    /// Why mode A was refused.
    pub refusal: Option<Error>,
    pub chip: &'static Chip,
    pub options: Options,
    /// Boost clocks are to be asked for.
    pub boost: AtomicBool,
    code: AtomicU32,
    pub next_lane: AtomicU64,
    /// Host fences that are not signalled.
    pub gates: AtomicU32,
    lost: OnceLock<Loss>,
    tpcs: OnceLock<u32>,
    pub code_maps: CodeMaps,
    /// A random number, for kernels with a protected stack.
    guard: u64,
    pub born: u32,
    pub link: Arc<Link>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let timelines = self.timelines.read().unwrap_or_else(PoisonError::into_inner);
        let each = |t: &Arc<Timeline>| format!("{}: {} of {}", t.number, t.completed(), t.submitted());
        let each: Vec<_> = timelines.iter().map(each).collect();
        write!(f, "Context({:?}, timelines {})", self.link, each.join(", "))
    }
}

#[derive(Debug, Default)]
struct LocalPool {
    /// Bytes a thread.
    bytes: u32,
    memory: Option<Allocation>,
    layout: LocalMemory,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The address space with the first memory in it, and why mode A was refused.
fn space(link: &Arc<Link>, mode: Option<Mode>) -> Result<(Arc<Space>, Allocation, Option<Error>)> {
    const CONTROL: Request = Request { place: MemoryKind::System, size: CONTROL_BYTES, visible: true, unified: false };
    let create_space = |mode| {
        let space = Space::new(link, mode)?;
        Allocation::new(&space, CONTROL).map(|control| (space, control))
    };
    let with = |refusal| move |(space, control)| (space, control, refusal);
    match create_space(mode.unwrap_or(Mode::Rm)) {
        Err(rm @ (Error::Refused { .. } | Error::System { .. })) if mode.is_none() => match create_space(Mode::Uvm) {
            Ok(created) => Ok(with(Some(rm))(created)),
            Err(uvm) => Err(Error::NoMode { rm: Box::new(rm), uvm: Box::new(uvm) }),
        },
        created => created.map(with(None)),
    }
}

impl Shared {
    pub fn new(link: Arc<Link>, chip: &'static Chip, options: Options) -> Result<Self> {
        fork::watch();
        let doorbell = Doorbell::new(&link, chip.classes.usermode)?;
        let (space, control, refusal) = space(&link, options.mode)?;
        let windows = Windows::new()?;
        Ok(Self {
            deferred_frees: Mutex::default(),
            local: Mutex::default(),
            cooperative: Mutex::default(),
            copier: Mutex::new(Weak::<()>::new()),
            tpcs: OnceLock::new(),
            lanes: RwLock::default(),
            timelines: RwLock::default(),
            free_timelines: Mutex::default(),
            pool: Pool::default(),
            control,
            doorbell,
            windows,
            space,
            refusal,
            chip,
            options,
            boost: AtomicBool::new(options.boost),
            code: AtomicU32::new(1),
            next_lane: AtomicU64::new(0),
            gates: AtomicU32::new(0),
            lost: OnceLock::new(),
            code_maps: CodeMaps::default(),
            guard: RandomState::new().build_hasher().finish(),
            born: fork::generation(),
            link,
        })
    }

    /// An error if the context can do no more.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.born != fork::generation() {
            return Err(Error::Forked);
        }
        match self.loss() {
            Some(loss) => Err(Error::Lost(Box::new(loss))),
            None => Ok(()),
        }
    }

    /// How the context ended, from the notifier that the driver writes.
    #[inline]
    pub fn loss(&self) -> Option<Loss> {
        if let Some(loss) = self.lost.get() {
            return Some(loss.clone());
        }
        let host = self.control.host?;
        // Record 0: time in nanoseconds (two words), Xid, and a status above 16 bits of further information.
        // SAFETY: the control buffer has these words, and the driver may write them at any time.
        let word = |n: usize| unsafe { host.cast::<u32>().add(n).read_volatile() };
        // The driver writes the status last, so it is read first.
        if word(3) >> 16 == 0 {
            return None;
        }
        fence(Ordering::Acquire);
        let [low, high, xid] = [0, 1, 2].map(word);
        let time = u64::from(high) << 32 | u64::from(low);
        let (fault, sm) = self.fault_details(xid);
        let kernel = self.faulting_kernel(sm);
        let called = sm.and_then(|sm| self.code_maps.missing_at(sm.instruction));
        let detail = if called.is_some() { String::new() } else { self.missing_detail(xid, sm) };
        let trapped = sm.is_some_and(|sm| self.is_trap(sm));
        Some(self.lost.get_or_init(|| Loss { xid, time, fault, sm, kernel, called, trapped, detail }).clone())
    }

    /// The kernel with the instruction that an SM reports, or else the one that runs, if only one does.
    fn faulting_kernel(&self, sm: Option<SmError>) -> Option<String> {
        let at = |address| self.code_maps.kernel_at(address);
        sm.and_then(|sm| at(sm.instruction)).or_else(|| {
            let lanes = self.lanes.try_read().ok()?;
            let mut running: Vec<u64> = lanes.all().filter_map(|lane| lane.running_code()).collect();
            drop(lanes);
            running.dedup();
            if let [code] = running[..] { at(code) } else { None }
        })
    }

    /// Whether an SM stopped at a trap of the program. Its register has no error of that name, so the instruction is
    /// read. The address may be the one behind the trap.
    fn is_trap(&self, sm: SmError) -> bool {
        const INSTRUCTION: u64 = 16;
        const OF_A_TRAP: [u32; 3] = [0x09, 0x0b, 0x11];
        let at = |address| self.code_maps.instruction_at(address).is_some_and(is_trap);
        let is_behind = || OF_A_TRAP.contains(&(sm.error & 0xff)) && at(sm.instruction.wrapping_sub(INSTRUCTION));
        at(sm.instruction) || is_behind()
    }

    /// The functions of libcuda that a kernel may have called, if nothing says where it ended.
    fn missing_detail(&self, xid: u32, sm: Option<SmError>) -> String {
        const TRAP: u32 = 13;
        let missing = if xid == TRAP && sm.is_none() { self.code_maps.missing() } else { Vec::new() };
        if missing.is_empty() {
            return String::new();
        }
        format!("; loaded modules call {}, which cudest does not have: a call ends the kernel", missing.join(", "))
    }

    /// What RM knows of a fault.
    fn fault_details(&self, xid: u32) -> (Option<Fault>, Option<SmError>) {
        const MEMORY: u32 = 31;
        const SM: u32 = 13;
        let Ok(lanes) = self.lanes.try_read() else { return (None, None) };
        let channels: Vec<_> = lanes.all().map(|lane| lane.objects).collect();
        let client = &self.link.client;
        match xid {
            MEMORY => (fault::memory_fault(client, &channels), None),
            SM => {
                let sms = self.tpcs().unwrap_or(0) * 2;
                (None, fault::sm_error(client, self.link.device, sms, &channels))
            }
            _ => (None, None),
        }
    }

    /// A further timeline.
    pub fn timeline(&self) -> Result<Arc<Timeline>> {
        let mut timelines = self.timelines.write().unwrap_or_else(PoisonError::into_inner);
        let offset = TIMELINES_AT + timelines.len() as u64 * TIMELINE_BYTES;
        let host = self.control.host.filter(|_| offset + TIMELINE_BYTES <= CONTROL_BYTES);
        let host = host.ok_or(Error::Unsupported("more than 1984 timelines in a context"))?;
        let address = self.control.address + offset;
        // SAFETY: the word is inside the control buffer, aligned, and lives as long as the context.
        let timeline =
            Arc::new(unsafe { Timeline::new(timelines.len() as u32, host.add(offset as usize).cast(), address) });
        timelines.push(Arc::clone(&timeline));
        Ok(timeline)
    }

    /// A timeline that the host signals: one that is free, or a further one.
    pub fn host_timeline(&self) -> Result<Arc<Timeline>> {
        match lock(&self.free_timelines).pop() {
            Some(timeline) => Ok(timeline),
            None => self.timeline(),
        }
    }

    /// Gives back a timeline of the host whose values are all reached. Its later values are new fences.
    pub fn free_timeline(&self, timeline: Arc<Timeline>) {
        lock(&self.free_timelines).push(timeline);
    }

    fn of(&self, fence: Fence) -> Result<Arc<Timeline>> {
        let timelines = self.timelines.read().unwrap_or_else(PoisonError::into_inner);
        let timeline = timelines.get(fence.timeline as usize);
        timeline.map(Arc::clone).ok_or_else(|| Error::Range("the fence is of another context".to_owned()))
    }

    /// Whether a fence is reached.
    pub fn reached(&self, fence: Fence) -> Result<bool> {
        let reached = self.of(fence)?.reached(fence.value);
        if !reached {
            self.check()?;
        }
        Ok(reached)
    }

    /// Waits for a fence, without a limit if `until` is None.
    pub fn wait(&self, fence: Fence, until: Option<Instant>) -> Result<()> {
        self.wait_on(&*self.of(fence)?, fence.value, until)
    }

    fn wait_on(&self, timeline: &Timeline, value: u64, until: Option<Instant>) -> Result<()> {
        let mut backoff = Backoff::default();
        while !timeline.reached(value) {
            if backoff.pause() {
                self.check()?;
                if backoff.is_long() {
                    self.boost();
                }
                if until.is_some_and(|until| Instant::now() >= until) {
                    return Err(Error::Timeout);
                }
            }
        }
        Ok(())
    }

    /// Runs an operation in a lane after fences.
    #[inline]
    pub fn submit(&self, lane: &Lane, after: &[Fence], operation: &Operation<'_>) -> Result<Fence> {
        self.check()?;
        let mut waits = [(0_u64, 0_u32); MOST_WAITS];
        let mut count = 0;
        for fence in after {
            if fence.timeline == lane.timeline.number {
                continue;
            }
            let timeline = self.of(*fence)?;
            if timeline.reached(fence.value) {
                continue;
            }
            if count == MOST_WAITS {
                self.submit_raw(lane, &waits, &Operation::Nothing)?;
                count = 0;
            }
            if let Some(wait) = waits.get_mut(count) {
                *wait = (timeline.address, fence.value as u32);
                count += 1;
            }
        }
        let value = self.submit_raw(lane, waits.get(..count).unwrap_or_default(), operation)?;
        Ok(lane.timeline.fence(value))
    }

    fn submit_raw(&self, lane: &Lane, waits: &[(u64, u32)], operation: &Operation<'_>) -> Result<u64> {
        self.boost_for(&lane.timeline, operation);
        let room = |value| self.wait_on(&lane.timeline, value, None);
        lane.submit(waits, operation, &self.doorbell, &room)
    }

    /// Calls `launch` with the state that its channel must have applied, and the bytes a thread of
    /// the pool of local memory. `bytes` is what the kernel needs of it. The pool does not change
    /// until `launch` returns.
    pub fn with_generation<T>(&self, bytes: u32, launch: impl FnOnce(Generation, u32) -> Result<T>) -> Result<T> {
        let code = self.code.load(Ordering::Acquire);
        if bytes == 0 {
            return launch(Generation { code, local: None }, 0);
        }
        let mut local = lock(&self.local);
        if bytes > local.bytes {
            self.grow_local(&mut local, bytes)?;
        }
        launch(Generation { code, local: Some(local.layout) }, local.bytes)
    }

    fn grow_local(&self, local: &mut LocalPool, bytes: u32) -> Result<()> {
        // Threads of a TPC: 2 SMs of 64 warps of 32 lanes.
        const THREADS: u64 = 2 * 64 * 32;
        let tpcs = self.tpcs()?;
        let bytes_per_tpc = u64::from(bytes) * THREADS;
        let size = bytes_per_tpc * u64::from(tpcs);
        let request = Request { place: MemoryKind::Video, size, visible: false, unified: false };
        let memory = Allocation::new(&self.space, request)?;
        // Kernels that run use the old pool, and channels of a group may share this state.
        self.idle()?;
        local.bytes = bytes;
        local.layout = LocalMemory { pool: memory.address, bytes_per_tpc, tpcs };
        if let Some(old) = local.memory.replace(memory) {
            self.free_after_work(Owner::Whole(old));
        }
        Ok(())
    }

    /// Pairs of SMs of the GPU.
    pub fn tpcs(&self) -> Result<u32> {
        if let Some(tpcs) = self.tpcs.get() {
            return Ok(*tpcs);
        }
        let tpcs = self.link.tpcs()?.iter().sum();
        Ok(*self.tpcs.get_or_init(|| tpcs))
    }

    /// New code is in memory.
    pub fn code_changed(&self) {
        self.code.fetch_add(1, Ordering::AcqRel);
    }

    /// The header of bank 0 for a launch.
    pub fn header(&self, launch: &bank::Launch) -> Result<bank::Header> {
        let (shared_window, local_window) = (self.windows.shared, self.windows.local);
        let machine = bank::Machine { shared_window, local_window, sms: self.tpcs()? * 2, guard: self.guard };
        Ok(bank::Header::new(&machine, launch))
    }

    /// The last fence of each lane that is not reached. A point of the host matters only if a lane waits for it.
    pub fn pending(&self) -> Vec<Fence> {
        let lanes = self.lanes.read().unwrap_or_else(PoisonError::into_inner);
        let last = lanes.all().map(|lane| (&lane.timeline, lane.timeline.submitted()));
        last.filter(|(timeline, value)| !timeline.reached(*value))
            .map(|(timeline, value)| timeline.fence(value))
            .collect()
    }

    /// Waits for everything that was submitted.
    pub fn idle(&self) -> Result<()> {
        self.pending().into_iter().try_for_each(|fence| self.wait(fence, None))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if self.born != fork::generation() {
            // The objects are the parent's.
            self.link.closing.store(true, Ordering::Release);
            return;
        }
        let _ = self.idle();
        let lanes = self.lanes.get_mut().unwrap_or_else(PoisonError::into_inner);
        for lane in lanes.all() {
            lane.stop(&self.link);
        }
        // The client goes as a whole.
        self.link.closing.store(true, Ordering::Release);
        self.link.client.close();
    }
}
