//! A lane: one channel, its memory, and its timeline. It runs operations in order, each after given fences, and gives a
//! fence for each. A ring slot is used again only after the operation in it has ended.
//! A kernel of more than four seconds ends with Xid 109 when another process wants the GPU. Preemption between
//! instructions (control `0x20801210`) did not help. libcuda also installs a trap handler, which is missing here.

use crate::base::error::Result;
use crate::encode::bank::{HEADER, Header, Place};
use crate::encode::methods::{Lines, Methods, Release, Versions, ring_entry};
use crate::encode::qmd::Qmd;
use crate::kernel_driver::chip::Classes;
use crate::kernel_driver::fault::ChannelObjects;
use crate::kernel_driver::link::Link;
use crate::memory::space::Space;
use crate::submission::channel::{Channel, Doorbell, Group, store_fence};
use crate::submission::fence::Timeline;
use crate::submission::slots::{LARGE_BANKS, Placement, SLOTS, Slots};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// Other timelines that one operation waits for.
pub(crate) const MOST_WAITS: usize = 8;

/// The size of constant bank 0 is a multiple of this, as libcuda has it.
const BANK_UNIT: usize = 256;

/// The engine that an operation ends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Engine {
    Host,
    Compute,
    Copy,
}

/// A launch, checked.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    /// With shape and shared memory set.
    pub qmd: Qmd,
    pub header: Header,
    /// The address of its first instruction.
    pub code: u64,
    pub parameters: &'a [u8],
    pub parameters_at: usize,
    /// Generation of the local memory and of the code that it needs.
    pub needs: Generation,
}

/// One operation.
#[derive(Debug)]
pub(crate) enum Operation<'a> {
    Launch(&'a Launch<'a>),
    Copy {
        to: u64,
        from: u64,
        lines: Lines,
    },
    Fill {
        to: u64,
        value: u32,
        width: u32,
        lines: Lines,
    },
    /// Writes the time to `at + 8`.
    Stamp {
        at: u64,
    },
    Nothing,
}

/// State of the context that channels must have applied before a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Generation {
    /// Counts modules that were loaded.
    pub code: u32,
    /// None for a kernel without local memory.
    pub local: Option<LocalMemory>,
}

/// The pool of local memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LocalMemory {
    pub pool: u64,
    pub bytes_per_tpc: u64,
    pub tpcs: u32,
}

/// How kernels of one lane are kept in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The host engine waits for the fence of the operation before. Other lanes continue.
    #[default]
    Acquire,
    /// The compute engine waits until it is idle.
    Idle,
}

#[derive(Debug)]
struct State {
    channel: Channel,
    /// Of the operation that is being submitted.
    methods: Methods,
    /// Whether the copy class is bound.
    copies: bool,
    last: Engine,
    applied: Generation,
    /// The operation that uses each large bank.
    large: [u64; LARGE_BANKS],
    next_large: usize,
}

/// A channel with its timeline.
#[derive(Debug)]
pub(crate) struct Lane {
    pub timeline: Arc<Timeline>,
    /// The channel and its compute object.
    pub objects: ChannelObjects,
    state: Mutex<State>,
    slots: Slots,
    /// The code of the launch in each slot, for the report of a fault. 0: no launch.
    code: Box<[AtomicU64]>,
    classes: Classes,
    versions: Versions,
    windows: (u64, u64),
    copies_only: bool,
    order: Order,
    yields: bool,
    link: Arc<Link>,
}

/// What a lane is made of.
pub(crate) struct Parts<'a> {
    pub space: &'a Arc<Space>,
    pub group: Group,
    pub classes: Classes,
    pub versions: Versions,
    pub notifier: u32,
    pub timeline: Arc<Timeline>,
    /// Windows of shared and local memory.
    pub windows: (u64, u64),
    pub copies_only: bool,
    pub order: Order,
    pub placement: Placement,
    pub yields: bool,
}

impl Lane {
    pub fn new(parts: Parts<'_>) -> Result<Self> {
        let Parts { space, group, classes, versions, notifier, timeline, windows, .. } = parts;
        let Parts { copies_only, order, placement, yields, .. } = parts;
        let slots = Slots::new(space, if copies_only { Placement::Mapped } else { placement })?;
        let channel = Channel::new(space, group, classes, slots.ring(), notifier, copies_only)?;
        let objects = (channel.handle, channel.compute);
        let state = State {
            channel,
            methods: Methods::new(),
            copies: false,
            last: Engine::Host,
            applied: Generation::default(),
            large: [0; LARGE_BANKS],
            next_large: 0,
        };
        Ok(Self {
            timeline,
            objects,
            state: Mutex::new(state),
            slots,
            code: (0..SLOTS).map(|_| AtomicU64::new(0)).collect(),
            classes,
            versions,
            windows,
            copies_only,
            order,
            yields,
            link: Arc::clone(&space.link),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic while locked leaves at most a slot without an entry.
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The code of the first launch that has not ended.
    pub fn running_code(&self) -> Option<u64> {
        let (completed, submitted) = (self.timeline.completed(), self.timeline.submitted());
        let of = |value: u64| self.code.get((value % SLOTS) as usize).map_or(0, |code| code.load(Ordering::Relaxed));
        (completed + 1..=submitted).map(of).find(|code| *code != 0)
    }

    pub fn stop(&self, link: &Link) {
        self.lock().channel.stop(link);
    }

    /// Runs an operation after all earlier ones of this lane and after `waits`: address and payload of other timelines,
    /// at most [`MOST_WAITS`]. `room` is called with a value of this lane's timeline and returns when it is reached.
    /// The value of the operation.
    pub fn submit(
        &self,
        waits: &[(u64, u32)],
        operation: &Operation<'_>,
        doorbell: &Doorbell,
        room: &dyn Fn(u64) -> Result<()>,
    ) -> Result<u64> {
        let mut state = self.lock();
        let state = &mut *state;
        let value = self.timeline.submitted() + 1;
        // A kernel writes its near word after the timeline, and its descriptor is read until then.
        // The operation after it has ended later.
        if value >= SLOTS && !self.timeline.reached(value + 1 - SLOTS) {
            room(value + 1 - SLOTS)?;
        }
        let release = Release { address: self.timeline.address, payload: value as u32 };
        state.methods.clear();
        if value == 1 && !self.copies_only {
            state.methods.set_up_compute(self.classes.compute, self.versions, self.windows.0, self.windows.1);
        }
        // Before all waits: nothing uses the slot, and kernels before this one may still run.
        if let Operation::Launch(launch) = operation {
            self.write_launch(state, launch, value, release, room)?;
        }
        if let Some(code) = self.code.get((value % SLOTS) as usize) {
            let launched = if let Operation::Launch(launch) = operation { launch.code } else { 0 };
            code.store(launched, Ordering::Relaxed);
        }
        let methods = &mut state.methods;
        for (address, payload) in waits {
            methods.acquire(*address, *payload, self.yields);
        }
        let engine = match operation {
            Operation::Launch(_) => Engine::Compute,
            Operation::Copy { .. } | Operation::Fill { .. } => Engine::Copy,
            Operation::Stamp { .. } | Operation::Nothing => Engine::Host,
        };
        if engine == Engine::Copy && !state.copies {
            if !self.copies_only {
                state.channel.add_copy_object(&self.link, self.classes.copy)?;
            }
            methods.set_up_copy(self.classes.copy);
            state.copies = true;
        }
        let in_order = engine == Engine::Copy && state.last == Engine::Copy;
        if !in_order && !self.timeline.reached(value - 1) {
            if self.order == Order::Idle && engine == Engine::Compute && state.last == Engine::Compute {
                methods.wait_for_idle();
            } else {
                // Between kernels the word in video memory is nearer. It may be there before the timeline in system
                // memory: another engine that released the timeline then would be overwritten, and the lane stop.
                let near = state.last == Engine::Compute && engine == Engine::Compute;
                let address = if near { self.slots.near() } else { self.timeline.address };
                // The channel has nothing else to do, and what it waits for runs already: it does not give way.
                methods.acquire(address, (value - 1) as u32, false);
            }
        }
        match operation {
            Operation::Launch(launch) => {
                if let Some(local) = launch.needs.local.filter(|_| state.applied.local != launch.needs.local) {
                    methods.wait_for_idle();
                    methods.set_local_memory(local.pool, local.bytes_per_tpc, local.tpcs);
                    state.applied.local = Some(local);
                }
                if state.applied.code != launch.needs.code {
                    methods.invalidate_shader_caches();
                    state.applied.code = launch.needs.code;
                }
                methods.launch(self.slots.descriptor(value), self.slots.is_inline());
            }
            Operation::Copy { to, from, lines } => methods.copy(*to, *from, *lines, Some(release)),
            Operation::Fill { to, value, width, lines } => methods.fill(*to, *value, *width, *lines, Some(release)),
            Operation::Stamp { at } => {
                methods.stamp(Release { address: *at, payload: value as u32 });
                methods.release(release);
            }
            Operation::Nothing => methods.release(release),
        }
        let words = methods.words();
        let at = self.slots.write_methods(value, words);
        store_fence();
        self.timeline.advance(value);
        state.last = engine;
        state.channel.submit(ring_entry(at, words.len()), doorbell);
        Ok(value)
    }

    /// Constants and descriptor of a launch. What carries them is the lane's placement.
    fn write_launch(
        &self,
        state: &mut State,
        launch: &Launch<'_>,
        value: u64,
        release: Release,
        room: &dyn Fn(u64) -> Result<()>,
    ) -> Result<()> {
        let length = launch.parameters_at + launch.parameters.len();
        let large = if Slots::needs_large_bank(length)? {
            let bank = state.next_large % LARGE_BANKS;
            state.next_large += 1;
            if let Some(user) = state.large.get_mut(bank) {
                if !self.timeline.reached(*user) {
                    room(*user)?;
                }
                *user = value;
            }
            Some(bank)
        } else {
            None
        };
        let address = self.slots.bank(value, large);
        let mut header = launch.header.clone();
        header.set_place(&Place {
            grid_id: u64::from(self.timeline.number) << 32 | value & 0xffff_ffff,
            descriptor: self.slots.descriptor(value),
            bank: address,
            parameters_at: launch.parameters_at as u64,
            parameters_size: launch.parameters.len() as u64,
        });
        let header = header.bytes().get(..launch.parameters_at.min(HEADER)).unwrap_or_default();
        self.slots.write_bank(&mut state.methods, value, large, header, launch.parameters);
        let mut qmd = launch.qmd.clone();
        qmd.set_bank(0, address, length.next_multiple_of(BANK_UNIT));
        // The timeline is first: an operation after the near word may release it, and it must not go back.
        qmd.set_release(0, release.address, release.payload);
        qmd.set_release(1, self.slots.near(), release.payload);
        self.slots.write_descriptor(&mut state.methods, value, &qmd);
        Ok(())
    }
}

/// The lanes that were made so far.
#[derive(Default)]
pub(crate) struct Lanes {
    pub group: Option<Group>,
    /// Those of streams in turn.
    pub compute: Vec<Arc<Lane>>,
    /// Each of one stream.
    pub own: Vec<Arc<Lane>>,
    pub copy: [Option<Arc<Lane>>; 3],
}

impl Lanes {
    pub fn all(&self) -> impl Iterator<Item = &Arc<Lane>> {
        self.compute.iter().chain(&self.own).chain(self.copy.iter().flatten())
    }
}
