//! Parameters of nodes, in the layout of the driver's structures: one structure for each kind, and CUgraphNodeParams
//! for any kind.

use crate::abi::{Answer, Fault, In, Out};
use crate::api::launch::{self, Config};
use crate::api::stream_memory::{self, Batched};
use crate::driver::device::device;
use crate::driver::{code, current, destroy, graph};
use crate::state::{Copy3D, Data, DriverState, Function, Handle, HostFunction, Launch, Set, Task, lookup_mut};
use std::ffi::c_void;
use std::sync::Arc;

/// CUDA_KERNEL_NODE_PARAMS before 12.0. The later structure starts with it.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Kernel {
    pub function: Handle,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
    pub parameters: u64,
    pub extra: u64,
}

/// CUDA_KERNEL_NODE_PARAMS_v2. It may have a kernel of a library instead of a function.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Kernel2 {
    pub kernel: Kernel,
    pub library_kernel: Handle,
    pub context: Handle,
}

impl Kernel2 {
    pub fn task(&self, state: &DriverState) -> Answer<Task> {
        let Kernel { function, grid, block, shared, parameters, extra } = self.kernel;
        let as_kernel = function == Handle::NULL;
        let function = if as_kernel { self.library_kernel } else { function };
        let kernel = state.code.functions.get(&function).filter(|f| f.is_kernel() == as_kernel);
        let kernel = kernel.ok_or(Fault::INVALID_HANDLE)?;
        let config = Config { grid, block, shared, stream: Handle::NULL, attributes: 0, count: 0 };
        launch::check(kernel, &config, parameters, extra)?;
        let arguments = launch::arguments(kernel, parameters, extra)?;
        let launch = Launch { function, grid, block, shared, arguments, ..Launch::default() };
        Ok(Task::Kernel(Box::new(launch)))
    }
}

impl Kernel2 {
    /// The parameters that the driver reports for a node: always a function, and also the kernel of a library if the
    /// program passed one.
    pub fn of(state: &mut DriverState, launch: &Launch) -> Answer<Kernel2> {
        let parameters = launch.arguments.as_ref().map_or(0, |a| a.pointers.as_ptr() as u64);
        let Launch { function, grid, block, shared, .. } = *launch;
        let is_kernel = state.code.functions.get(&function).is_some_and(Function::is_kernel);
        let library_kernel = if is_kernel { function } else { Handle::NULL };
        let function = if is_kernel { code::function_of(state, function)? } else { function };
        let kernel = Kernel { function, grid, block, shared, parameters, extra: 0 };
        Ok(Kernel2 { kernel, library_kernel, context: current::get() })
    }
}

/// CUDA_HOST_NODE_PARAMS
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Host {
    pub function: Option<HostFunction>,
    pub data: *mut c_void,
}

impl Host {
    pub fn task(&self) -> Answer<Task> {
        Ok(Task::Host(self.function.ok_or(Fault::INVALID_VALUE)?, Data(self.data)))
    }
}

/// CUDA_BATCH_MEM_OP_NODE_PARAMS
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Batch {
    pub context: Handle,
    pub count: u32,
    pub list: In<Batched>,
    pub flags: u32,
}

impl Batch {
    pub fn task(&self, state: &DriverState) -> Answer<Task> {
        Ok(Task::Values(stream_memory::batch(state, self.count, self.list)?))
    }
}

/// CUDA_MEM_ALLOC_NODE_PARAMS: CUmemPoolProps, access, size, and the address, which is an output.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Memory {
    kind: u32,
    handles: u32,
    place: u32,
    id: i32,
    rest: [u64; 9],
    access: u64,
    count: u64,
    size: u64,
    pub address: u64,
}

impl Memory {
    pub fn of(device: i32, address: u64, size: u64) -> Self {
        Memory { kind: 1, place: 1, id: device, address, size, ..Memory::default() }
    }

    pub fn task(&mut self, state: &mut DriverState) -> Answer<Task> {
        if self.kind != 1 || self.handles != 0 || self.place != 1 || self.size == 0 {
            return Err(Fault::INVALID_VALUE);
        }
        let context = current::require(state)?;
        let task = destroy::for_graph(state, device(self.id)?, context, self.size)?;
        if let Task::Allocate(address, _) = task {
            self.address = address;
        }
        Ok(task)
    }
}

/// The task of a child graph node. INVALID_VALUE for a graph in itself.
pub fn child(state: &mut DriverState, home: Handle, child: Handle) -> Answer<Task> {
    state.graph.lookup_graph(child)?;
    if home == child { Err(Fault::INVALID_VALUE) } else { graph::owned_copy(state, child) }
}

/// CUDA_CONDITIONAL_NODE_PARAMS: handle, kind (if, while, switch), number of bodies, and the output array of bodies.
#[repr(C)]
#[derive(Clone, Copy)]
struct Conditional {
    handle: u64,
    kind: u32,
    size: u32,
    bodies: u64,
    context: Handle,
}

/// Offsets of the part that depends on the kind, and of the word that must be zero.
const PART: u64 = 16;
const RESERVED: u64 = 248;

/// The task of a CUgraphNodeParams at an address. Outputs of the structure are written there.
pub fn any(state: &mut DriverState, home: Handle, address: u64) -> Answer<Task> {
    let kind = In::<u32>::at(address).get()?;
    if In::<u64>::at(address + RESERVED).get()? != 0 {
        return Err(Fault::INVALID_VALUE);
    }
    fn part<T: Copy>(address: u64) -> Answer<T> {
        In::<T>::at(address + PART).get()
    }
    match kind {
        0 => part::<Kernel2>(address)?.task(state),
        1 => Ok(Task::Copy(Box::new(In::<Copy3D>::at(address + PART + 16).get()?))),
        2 => Ok(Task::Set(part::<Set>(address)?)),
        3 => part::<Host>(address)?.task(),
        4 => child(state, home, part(address)?),
        5 => Ok(Task::Empty),
        6 => Ok(Task::Wait(part(address)?)),
        7 => Ok(Task::Record(part(address)?)),
        10 => {
            let mut memory: Memory = part(address)?;
            let task = memory.task(state)?;
            Out::<Memory>::at(address + PART).put(memory)?;
            Ok(task)
        }
        11 => {
            let freed = part(address)?;
            if home != Handle::NULL {
                destroy::may_free(state, home, freed)?;
            }
            Ok(Task::Free(freed))
        }
        12 => part::<Batch>(address)?.task(state),
        13 => conditional(state, address),
        _ => Err(Fault::INVALID_VALUE),
    }
}

fn conditional(state: &mut DriverState, address: u64) -> Answer<Task> {
    let mut params: Conditional = In::at(address + PART).get()?;
    if params.kind > 2 || params.size == 0 || params.size > 1024 {
        return Err(Fault::INVALID_VALUE);
    }
    let bodies: Vec<Handle> = (0..params.size).map(|_| graph::create(state)).collect();
    for body in &bodies {
        lookup_mut(&mut state.graph.graphs, *body)?.owned = true;
    }
    let bodies: Arc<[Handle]> = bodies.into();
    params.bodies = bodies.as_ptr() as u64;
    Out::<Conditional>::at(address + PART).put(params)?;
    Ok(Task::Conditional(bodies))
}

/// Writes the parameters of a task into a CUgraphNodeParams at an address.
pub fn write_params(state: &mut DriverState, task: &Task, address: u64) -> Answer {
    Out::<[u64; 32]>::at(address).put([0; 32])?;
    Out::<u32>::at(address).put(task.kind())?;
    let part = address + PART;
    match task {
        Task::Kernel(launch) => Out::<Kernel2>::at(part).put(Kernel2::of(state, launch)?),
        Task::Copy(copy) => Out::<Copy3D>::at(part + 16).put(**copy),
        Task::Set(set) => Out::<Set>::at(part).put(*set),
        Task::Host(function, data) => Out::<Host>::at(part).put(Host { function: Some(*function), data: data.0 }),
        Task::Child(graph, _) => Out::<Handle>::at(part).put(*graph),
        Task::Wait(event) | Task::Record(event) => Out::<Handle>::at(part).put(*event),
        Task::Allocate(address, size) => {
            let device = state.memory.allocations.get(address).map_or(0, |a| a.device);
            Out::<Memory>::at(part).put(Memory::of(device, *address, *size))
        }
        Task::Free(address) => Out::<u64>::at(part).put(*address),
        Task::Empty | Task::Values(_) | Task::Conditional(..) => Ok(()),
    }
}
