//! The simulated machine: memory of a device is host memory in a window of addresses for each device, far from where
//! programs and libraries are mapped. Pages appear on first use. Each operation completes immediately, on
//! the caller's thread.

use super::pieces;
use cutap_driver::abi::{Answer, Fault};
use cutap_driver::engine::{Code, Fence, FloorPlan, Lane, Machine, Op, Piece, Place, Space, Stamp};
use cutap_driver::host::pages::{self, PAGE, READ_WRITE, Refused};
use cutap_driver::host::rows;
use cutap_machine::{NAME, PerProcess, config};
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const WINDOW: u64 = 0x2000_0000_0000;
const WINDOW_SIZE: u64 = 0x100_0000_0000;
/// The most devices.
const MOST: usize = 8;

pub struct Simulated {
    uuids: Vec<[u8; 16]>,
    spaces: [Window; MOST],
}

impl Simulated {
    pub fn from_settings() -> Self {
        let uuids = (0..config().devices).map(cutap_machine::uuid).collect();
        Self { uuids, spaces: std::array::from_fn(|device| Window { start: WINDOW + device as u64 * WINDOW_SIZE }) }
    }
}

impl Machine for Simulated {
    fn uuids(&self) -> &[[u8; 16]] {
        &self.uuids
    }

    fn name(&self, _device: i32) -> &CStr {
        NAME
    }

    fn pci(&self, device: i32) -> [i32; 3] {
        cutap_machine::pci(device)
    }

    fn attribute(&self, device: i32, id: u32) -> Option<i32> {
        cutap_machine::attribute(device, id)
    }

    fn floor_plan(&self, _device: i32) -> FloorPlan<'_> {
        FloorPlan { groups: &cutap_machine::GROUPS, places: &cutap_machine::PLACES }
    }

    fn memory(&self, _device: i32) -> u64 {
        config().memory
    }

    fn runs_kernels(&self) -> bool {
        false
    }

    fn at_once(&self) -> Option<&dyn Lane> {
        Some(&AtOnce)
    }

    fn space(&self, device: i32) -> Answer<&dyn Space> {
        let space = self.spaces.get(device as usize).ok_or(Fault::INVALID_DEVICE)?;
        Ok(space)
    }

    fn compile(&self, _text: &[u8]) -> Answer<Option<Vec<u8>>> {
        Ok(None)
    }

    fn check(&self) -> Answer {
        Ok(())
    }
}

/// The addresses of a device.
struct Window {
    start: u64,
}

/// What is mapped in the windows: size in whole pages, by address. And where the next search for free addresses
/// begins, by window.
#[derive(Default)]
struct Mapped {
    sizes: BTreeMap<u64, u64>,
    hints: BTreeMap<u64, u64>,
}

/// A forked child has its own, like the driver's state.
static MAPPED: PerProcess<Mutex<Mapped>> = PerProcess::empty();

fn mapped() -> MutexGuard<'static, Mapped> {
    MAPPED.get(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

impl Window {
    fn map(&self, size: u64) -> Answer<u64> {
        let mut mapped = mapped();
        let hint = mapped.hints.get(&self.start).copied().unwrap_or(0);
        let mut at = hint.max(self.start + 0x200_0000);
        while at + size <= self.start + WINDOW_SIZE {
            match mapped.sizes.range(..at + size).next_back() {
                Some((previous, previous_size)) if previous + previous_size > at => at = previous + previous_size,
                _ => match pages::map(at, size, READ_WRITE) {
                    Ok(address) => {
                        mapped.sizes.insert(address, size);
                        // A small allocation fills the gap that it is in. A large one may have skipped smaller gaps.
                        if size <= PAGE {
                            let hint = mapped.hints.entry(self.start).or_default();
                            *hint = (*hint).max(at + size);
                        }
                        return Ok(address);
                    }
                    Err(Refused::Occupied) => at += 0x20_0000,
                    Err(Refused::NoRoom) => break,
                },
            }
        }
        Err(Fault::OUT_OF_MEMORY)
    }
}

impl Space for Window {
    fn allocate(&self, place: Place, size: u64) -> Answer<u64> {
        let size = size.next_multiple_of(PAGE);
        match place {
            Place::Device | Place::Managed => self.map(size),
            Place::Host => pages::map(0, size, READ_WRITE).map_err(|_| Fault::OUT_OF_MEMORY),
        }
    }

    fn release(&self, address: u64, size: u64) {
        if (self.start..self.start + WINDOW_SIZE).contains(&address) {
            let mut mapped = mapped();
            mapped.sizes.remove(&address);
            let hint = mapped.hints.entry(self.start).or_default();
            *hint = (*hint).min(address);
        }
        // SAFETY: `allocate` mapped these pages for an allocation that the driver has forgotten.
        unsafe { pages::unmap(address, size.next_multiple_of(PAGE)) };
    }

    fn register(&self, _address: u64, _size: u64) -> Answer {
        Ok(())
    }

    fn unregister(&self, _address: u64) {}

    fn piece(&self, size: u64, for_processes: bool) -> Answer<Arc<dyn Piece>> {
        pieces::create(size, for_processes)
    }

    fn import(&self, descriptor: i32) -> Answer<(Arc<dyn Piece>, u64)> {
        pieces::import(descriptor)
    }

    fn settle(&self) -> Answer {
        Ok(())
    }

    fn free_memory(&self) -> Option<u64> {
        None
    }

    fn load(&self, _code: &[u8]) -> Answer<Arc<dyn Code>> {
        Err(Fault::NOT_SUPPORTED)
    }

    fn lane(&self) -> Answer<Arc<dyn Lane>> {
        Ok(Arc::new(AtOnce))
    }

    fn stamp(&self) -> Answer<Arc<dyn Stamp>> {
        Ok(Arc::new(Clock(AtomicU64::new(0))))
    }

    fn reached(&self, _fence: Fence) -> Answer<bool> {
        Ok(true)
    }

    fn wait(&self, _fence: Fence) -> Answer {
        Ok(())
    }
}

/// A lane whose operations complete before `submit` returns.
struct AtOnce;

impl Lane for AtOnce {
    fn submit(&self, _after: &[Fence], op: Op) -> Answer<Option<Fence>> {
        match op {
            // SAFETY: the rule that made the operation has checked both ranges.
            Op::Copy { to, from, extent } => unsafe { rows::copy(to.rows, from.rows, extent) },
            // SAFETY: as above, and the rows are aligned to the element.
            Op::Fill { to, extent, element, value } => unsafe { rows::set(to, extent, element, value) },
            Op::Write(word, value) => word.store(value),
            Op::Stamp(stamp) => {
                let stamp: &dyn std::any::Any = &*stamp;
                if let Some(clock) = stamp.downcast_ref::<Clock>() {
                    clock.0.store(now(), Ordering::Release);
                }
            }
            Op::Accepted | Op::Launch(_) | Op::Nothing => {}
        }
        Ok(None)
    }
}

/// A time of the process's clock.
struct Clock(AtomicU64);

impl Stamp for Clock {
    fn nanoseconds(&self) -> Answer<u64> {
        Ok(self.0.load(Ordering::Acquire))
    }
}

fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a plain call that fills the structure.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
