//! A stream of the program on the GPU: a stream of cudest.

use super::shared::{Shared, own};
use cutap_cudest::{Event, Fill, Kernel, LaunchAttributes, Module, Rectangle, Shape, Stream};
use cutap_driver::abi::{Answer, Fault};
use cutap_driver::engine::{Code, Fence, Lane, Op, Stamp};
use cutap_driver::engine::{KernelLaunch, Side};
use cutap_driver::host::rows::{self, Extent, Rows};
use std::any::Any;
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::{Arc, PoisonError, RwLock};

pub struct GpuLane {
    shared: Arc<Shared>,
    stream: Stream,
}

/// Code in the memory of the GPU, with the kernels that were asked for.
pub struct GpuCode {
    module: Module,
    kernels: RwLock<HashMap<CString, NamedKernel>>,
}

/// A kernel, with its name as the list of launches keeps it.
#[derive(Clone)]
struct NamedKernel {
    kernel: Kernel,
    name: Arc<str>,
}

/// A time stamp of the GPU.
pub struct GpuStamp(pub Event, pub Arc<Shared>);

impl GpuCode {
    pub fn new(module: Module) -> Self {
        Self { module, kernels: RwLock::default() }
    }

    fn kernel(&self, name: &CStr) -> cutap_cudest::Result<NamedKernel> {
        if let Some(kernel) = self.kernels.read().unwrap_or_else(PoisonError::into_inner).get(name) {
            return Ok(kernel.clone());
        }
        let text = name.to_string_lossy();
        let kernel = NamedKernel { kernel: self.module.kernel(&text)?, name: text.into() };
        self.kernels.write().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), kernel.clone());
        Ok(kernel)
    }
}

impl Code for GpuCode {
    fn variable(&self, name: &str) -> Answer<(u64, u64)> {
        self.module.variable(name).map_err(|_| Fault::NOT_FOUND)
    }
}

impl Stamp for GpuStamp {
    fn nanoseconds(&self) -> Answer<u64> {
        self.0.time().map_err(|why| self.1.fault(&why, "the time of an event"))
    }
}

impl GpuLane {
    pub fn new(shared: Arc<Shared>, stream: Stream) -> Self {
        Self { shared, stream }
    }

    fn launch(&self, launch: &KernelLaunch) -> cutap_cudest::Result<cutap_cudest::Fence> {
        let code: &dyn Any = &*launch.code;
        let code = code.downcast_ref::<GpuCode>().ok_or(cutap_cudest::Error::Unsupported("code of another engine"))?;
        let NamedKernel { kernel, name } = code.kernel(&launch.kernel)?;
        let size = kernel.entry().parameters_size;
        let side = |sides: [u32; 3]| (sides[0], sides[1], sides[2]);
        let shape = Shape { grid: side(launch.grid), block: side(launch.block), shared: launch.shared };
        let cluster = launch.cluster.map(side);
        let attributes = LaunchAttributes { cluster, cooperative: launch.cooperative };
        // A program may give fewer bytes than the kernel takes.
        let padded: Vec<u8>;
        let parameters = match launch.parameters.get(..size) {
            Some(all) => all,
            None => {
                padded = launch.parameters.iter().copied().chain(std::iter::repeat(0)).take(size).collect();
                &padded[..]
            }
        };
        // SAFETY: the program answers for what its kernel accesses.
        let fence = unsafe { self.stream.launch_with(&kernel, &shape, &attributes, parameters) }?;
        self.shared.launches.add(fence, name);
        Ok(fence)
    }

    /// Copies rows. Memory that the GPU does not know goes through pinned memory, and the call waits for it.
    fn copy(&self, to: Side, from: Side, extent: Extent) -> cutap_cudest::Result<cutap_cudest::Fence> {
        let Extent { width, height, depth } = extent;
        // A pitch is of no meaning for one line, and may be larger than the engine takes.
        let pitch = |rows: Rows| if height > 1 { rows.pitch } else { width };
        let plane = |rows: Rows| if depth > 1 { rows.plane } else { 0 };
        let copy = Rectangle {
            to: to.rows.start,
            from: from.rows.start,
            width,
            height,
            depth,
            pitch: (pitch(to.rows), pitch(from.rows)),
            layer: (plane(to.rows), plane(from.rows)),
        };
        let bytes = |rows: Rows| ((depth - 1) * plane(rows) + (height - 1) * pitch(rows) + width) as usize;
        // SAFETY: the rule that made the operation has checked ranges of the driver's memory. The program answers for
        // its own memory, and for other work on the same bytes.
        unsafe {
            match (to.is_pageable, from.is_pageable) {
                (false, false) => self.stream.copy_3d(&copy),
                (false, true) => {
                    let program = std::slice::from_raw_parts(copy.from as *const u8, bytes(from.rows));
                    self.stream.upload_3d(&Rectangle { from: 0, ..copy }, program)?;
                    self.stream.fence()
                }
                (true, false) => {
                    let program = std::slice::from_raw_parts_mut(copy.to as *mut u8, bytes(to.rows));
                    self.stream.download_3d(&Rectangle { to: 0, ..copy }, program)?;
                    self.stream.fence()
                }
                (true, true) => {
                    self.stream.synchronize()?;
                    rows::copy(to.rows, from.rows, extent);
                    self.stream.fence()
                }
            }
        }
    }

    fn run(&self, op: &Op) -> cutap_cudest::Result<cutap_cudest::Fence> {
        match *op {
            Op::Launch(ref launch) => self.launch(launch),
            Op::Copy { to, from, extent } => self.copy(to, from, extent),
            Op::Fill { to, extent, element, value } => {
                let (pitch, layer) = (to.pitch, to.plane);
                let Extent { width, height, depth } = extent;
                let pitch = if height > 1 { pitch } else { width * u64::from(element) };
                let fill = Fill { to: to.start, value, width: element, count: width, height, depth, pitch, layer };
                // SAFETY: the rule that made the operation has checked the range.
                unsafe { self.stream.fill_3d(&fill) }
            }
            Op::Write(word, value) => {
                let (to, words) = word.parts();
                let part = |n: u64| (value >> (32 * n)) as u32;
                // SAFETY: the word is in memory that the driver knows.
                unsafe {
                    // The upper half first: who waits for the whole waits for its lower half.
                    (1..words).rev().try_for_each(|n| self.stream.fill(to + 4 * n, part(n), 4, 1).map(drop))?;
                    self.stream.fill(to, part(0), 4, 1)
                }
            }
            Op::Stamp(ref stamp) => {
                let stamp: &dyn Any = &**stamp;
                match stamp.downcast_ref::<GpuStamp>() {
                    Some(GpuStamp(event, _)) => self.stream.record(event),
                    None => self.stream.fence(),
                }
            }
            Op::Nothing => self.stream.fence(),
            Op::Accepted => Err(cutap_cudest::Error::Unsupported("a launch without code")),
        }
    }
}

impl Lane for GpuLane {
    fn submit(&self, after: &[Fence], op: Op) -> Answer<Option<Fence>> {
        self.shared.check()?;
        for fence in after {
            match fence.device == self.shared.device {
                true => self.stream.wait_for(own(*fence)),
                // A word of one GPU is no word of another.
                false => cutap_driver::engine::wait(&[*fence])?,
            }
        }
        match self.run(&op) {
            Ok(fence) => Ok(Some(self.shared.fence(fence))),
            Err(why) => Err(match &op {
                Op::Launch(launch) => self.shared.fault(&why, &launch.kernel.to_string_lossy()),
                _ => self.shared.fault(&why, "a copy, a set or an event"),
            }),
        }
    }
}
