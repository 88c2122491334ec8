//! The address space of one GPU: a context of cudest, which all contexts of the program on this GPU share.

use super::fault;
use super::lane::{GpuCode, GpuLane, GpuStamp};
use super::piece::GpuPiece;
use super::shared::{Shared, own};
use cutap_cudest::{Facts, Gpu, Memory, Mode, Options};
use cutap_driver::abi::{Answer, Fault};
use cutap_driver::engine::limited;
use cutap_driver::engine::{Code, Fence, Lane, Piece, Place, Space, Stamp, refused};
use cutap_machine::{print_to_stderr, variable};
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub struct GpuSpace {
    pub(super) shared: Arc<Shared>,
    memory: Mutex<BTreeMap<u64, Memory>>,
}

/// Who makes the page tables, where `CUTAP_CUDEST_MODE` says it. Otherwise cudest chooses.
fn wanted_mode() -> Option<Mode> {
    match variable(c"CUTAP_CUDEST_MODE")?.as_str() {
        "A" => Some(Mode::Rm),
        "B" => Some(Mode::Uvm),
        other => {
            print_to_stderr(&format!("cutap-cudest: CUTAP_CUDEST_MODE={other} is neither A nor B; it is ignored"));
            None
        }
    }
}

impl GpuSpace {
    pub fn open(device: i32, index: usize, facts: &Facts) -> Answer<Self> {
        let options = Options { mode: wanted_mode(), ..Options::default() };
        let context = Gpu::new(index).with_facts(facts).context_with(options).map_err(|why| {
            print_to_stderr(&format!("cutap-cudest: GPU {device} cannot be used: {why}"));
            fault::of(&why, "a context")
        })?;
        Ok(Self { shared: Arc::new(Shared::new(device, context)), memory: Mutex::default() })
    }

    pub fn check(&self) -> Answer {
        self.shared.check()
    }

    fn memory(&self) -> MutexGuard<'_, BTreeMap<u64, Memory>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, memory: cutap_cudest::Result<Memory>) -> Answer<u64> {
        let memory = memory.map_err(|why| self.shared.fault(&why, "an allocation"))?;
        let address = memory.address();
        self.memory().insert(address, memory);
        Ok(address)
    }
}

impl Space for GpuSpace {
    fn allocate(&self, place: Place, size: u64) -> Answer<u64> {
        let context = &self.shared.context;
        match place {
            Place::Device => self.keep(context.video(size)),
            // Memory that moves between CPU and GPU does not exist here.
            Place::Managed | Place::Host => self.keep(context.pinned(size)),
        }
    }

    fn release(&self, address: u64, _size: u64) {
        // Variables belong to their code, and are not in this table. The memory is freed outside of the lock.
        let memory = self.memory().remove(&address);
        drop(memory);
    }

    fn register(&self, address: u64, size: u64) -> Answer {
        let start = NonNull::new(address as *mut u8).ok_or(Fault::INVALID_VALUE)?;
        // SAFETY: a program that unmaps registered memory before it unregisters it breaks the rules of the API.
        let memory = unsafe { self.shared.context.register(start, size) };
        let memory = memory.map_err(|why| self.shared.fault(&why, "registration of memory"))?;
        if memory.address() != address {
            refused::count("registration of memory", "the GPU has other memory at this address", None);
            return Err(Fault::NOT_SUPPORTED);
        }
        self.memory().insert(address, memory);
        Ok(())
    }

    fn unregister(&self, address: u64) {
        let memory = self.memory().remove(&address);
        drop(memory);
    }

    fn piece(&self, size: u64, _for_processes: bool) -> Answer<Arc<dyn Piece>> {
        let backing = self.shared.context.backing(size).map_err(|why| self.shared.fault(&why, "an allocation"))?;
        Ok(Arc::new(GpuPiece { shared: Arc::clone(&self.shared), backing }))
    }

    fn import(&self, _descriptor: i32) -> Answer<(Arc<dyn Piece>, u64)> {
        refused::on_gpus(limited::MEM_IMPORT_FROM_SHAREABLE_HANDLE)?;
        Err(Fault::NOT_SUPPORTED)
    }

    fn settle(&self) -> Answer {
        self.shared.context.synchronize().map_err(|why| self.shared.fault(&why, "a wait"))
    }

    fn free_memory(&self) -> Option<u64> {
        self.shared.context.memory_usage().ok().map(|(_, free)| free)
    }

    fn load(&self, code: &[u8]) -> Answer<Arc<dyn Code>> {
        let module = self.shared.context.load(code).map_err(|why| self.shared.fault(&why, "code"))?;
        Ok(Arc::new(GpuCode::new(module)))
    }

    fn lane(&self) -> Answer<Arc<dyn Lane>> {
        let stream = self.shared.context.stream().map_err(|why| self.shared.fault(&why, "a stream"))?;
        Ok(Arc::new(GpuLane::new(Arc::clone(&self.shared), stream)))
    }

    fn stamp(&self) -> Answer<Arc<dyn Stamp>> {
        let event = self.shared.context.event().map_err(|why| self.shared.fault(&why, "an event"))?;
        Ok(Arc::new(GpuStamp(event, Arc::clone(&self.shared))))
    }

    fn reached(&self, fence: Fence) -> Answer<bool> {
        self.shared.check()?;
        self.shared.context.reached(own(fence)).map_err(|why| self.shared.fault(&why, "a query"))
    }

    fn wait(&self, fence: Fence) -> Answer {
        self.shared.wait(fence)
    }
}
