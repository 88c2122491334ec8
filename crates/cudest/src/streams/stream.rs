//! Streams: operations in order, on a lane of the context. Copies of some size go to a copy engine and back in order.

use crate::base::error::{Error, Result};
use crate::context::context_memory::{Kind, Memory};
use crate::context::shared::{Direction, Shared};
use crate::context::staging::Staging;
use crate::encode::methods::Lines;
use crate::streams::event::Event;
use crate::streams::module::{Kernel, LaunchAttributes, Shape};
use crate::submission::fence::Fence;
use crate::submission::lane::{Lane, Launch, Operation};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

/// A line of a copy has at most this many bytes, or a fill this many values.
const LONGEST_LINE: u64 = 1 << 30;
/// Lines of one transfer.
const MOST_LINES: u64 = 1 << 16;

/// Work in order. Dropping it waits for nothing: the context waits.
///
/// ```no_run
/// # fn main() -> cutap_cudest::Result<()> {
/// let context = cutap_cudest::Gpu::new(0).context()?;
/// let (first, second) = (context.stream()?, context.stream()?);
/// let memory = context.video(4096)?;
/// // SAFETY: the second fill waits for the first.
/// unsafe {
///     let filled = first.fill(memory.address(), 1, 4, 1024)?;
///     second.wait_for(filled);
///     second.fill(memory.address(), 2, 4, 1024)?;
/// }
/// second.synchronize()?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Stream {
    pub(crate) shared: Arc<Shared>,
    tail: Mutex<Tail>,
    pub(crate) staging: Mutex<Staging>,
    /// The kernel that copies within video memory, once it was used.
    pub(crate) copier: OnceLock<Kernel>,
}

/// Where the next operation goes, and what it comes after.
#[derive(Debug)]
struct Tail {
    lane: Arc<Lane>,
    last: Option<Fence>,
    waits: Vec<Fence>,
}

/// A copy of rectangles in layers. Addresses are of the first byte; pitches and heights count bytes and lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rectangle {
    /// Destination and source.
    pub to: u64,
    /// Source.
    pub from: u64,
    /// Bytes of a line.
    pub width: u64,
    /// Lines of a layer.
    pub height: u64,
    /// Layers.
    pub depth: u64,
    /// Bytes from line to line, of destination and source.
    pub pitch: (u64, u64),
    /// Bytes from layer to layer, of destination and source.
    pub layer: (u64, u64),
}

/// A fill of lines in layers. Pitches count bytes, from the beginning of a line or layer to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fill {
    /// The first byte.
    pub to: u64,
    /// The value.
    pub value: u32,
    /// Bytes of the value: 1, 2 or 4.
    pub width: u32,
    /// Values of a line.
    pub count: u64,
    /// Lines of a layer.
    pub height: u64,
    /// Layers.
    pub depth: u64,
    /// From line to line.
    pub pitch: u64,
    /// From layer to layer.
    pub layer: u64,
}

impl Stream {
    pub(crate) fn new(shared: &Arc<Shared>) -> Result<Self> {
        shared.check()?;
        let lane = shared.lane()?;
        Ok(Self {
            shared: Arc::clone(shared),
            tail: Mutex::new(Tail { lane, last: None, waits: Vec::new() }),
            staging: Mutex::default(),
            copier: OnceLock::new(),
        })
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Submits to a lane, or to the stream's, after the stream's last operation and the fences that it waits for.
    #[inline]
    fn submit(&self, tail: &mut Tail, lane: Option<&Lane>, operation: &Operation<'_>) -> Result<Fence> {
        let Tail { lane: own, last, waits } = tail;
        let fence = if waits.is_empty() {
            self.shared.submit(lane.unwrap_or(own), last.as_slice(), operation)?
        } else {
            if lane.is_none()
                && let Some(apart) = self.shared.lane_apart(own, waits)?
            {
                *own = apart;
            }
            waits.extend(*last);
            let fence = self.shared.submit(lane.unwrap_or(own), waits, operation)?;
            waits.clear();
            fence
        };
        *last = Some(fence);
        Ok(fence)
    }

    /// Launches a kernel. `parameters` are the bytes of all parameters, at their offsets.
    ///
    /// # Errors
    /// The shape or the parameters do not fit the kernel, or the context has ended.
    ///
    /// # Safety
    /// The kernel accesses only memory that is mapped and large enough until the returned fence is
    /// reached, and no other work, of CPU or GPU, conflicts with it. Addresses in `parameters` are
    /// valid for the kernel. A kernel that breaks this ends the context, or overwrites its memory.
    pub unsafe fn launch(&self, kernel: &Kernel, shape: &Shape, parameters: &[u8]) -> Result<Fence> {
        // SAFETY: the caller's promise.
        unsafe { self.launch_with(kernel, shape, &LaunchAttributes::default(), parameters) }
    }

    /// Launches a kernel whose blocks wait for each other (`grid.sync()` of cooperative groups): all run together. Such
    /// launches of a context run one after the other.
    ///
    /// # Errors
    /// As [`launch`](Stream::launch), and the grid does not fit on the GPU.
    ///
    /// # Safety
    /// As [`launch`](Stream::launch).
    pub unsafe fn launch_cooperative(&self, kernel: &Kernel, shape: &Shape, parameters: &[u8]) -> Result<Fence> {
        let attributes = LaunchAttributes { cooperative: true, ..LaunchAttributes::default() };
        // SAFETY: the caller's promise.
        unsafe { self.launch_with(kernel, shape, &attributes, parameters) }
    }

    /// Launches a kernel with attributes: in clusters of blocks, or as a cooperative grid.
    ///
    /// # Errors
    /// As [`launch`](Stream::launch), and clusters that do not fit the grid or the kernel.
    ///
    /// # Safety
    /// As [`launch`](Stream::launch).
    pub unsafe fn launch_with(
        &self,
        kernel: &Kernel,
        shape: &Shape,
        attributes: &LaunchAttributes,
        parameters: &[u8],
    ) -> Result<Fence> {
        self.check_kernel(kernel)?;
        let mut launch = kernel.launch(shape, attributes, parameters)?;
        if !attributes.cooperative {
            return self.run(kernel, launch);
        }
        let (mut state, workspace) = self.shared.cooperative()?;
        kernel.cooperate(shape, &mut launch, workspace)?;
        self.tail().waits.extend(state.last);
        let fence = self.run(kernel, launch)?;
        state.last = Some(fence);
        Ok(fence)
    }

    fn check_kernel(&self, kernel: &Kernel) -> Result<()> {
        if Arc::ptr_eq(kernel.shared(), &self.shared) {
            return Ok(());
        }
        Err(Error::Range("the kernel is of another context".to_owned()))
    }

    fn run(&self, kernel: &Kernel, mut launch: Launch<'_>) -> Result<Fence> {
        self.shared.with_generation(kernel.local(), |generation, local| {
            launch.needs = generation;
            if local != 0 {
                launch.qmd.set_local(local);
            }
            self.submit(&mut self.tail(), None, &Operation::Launch(&launch))
        })
    }

    /// Copies bytes between addresses of this context.
    ///
    /// # Errors
    /// The context has ended.
    ///
    /// # Safety
    /// Both ranges are mapped until the fence is reached, and no other work conflicts.
    pub unsafe fn copy(&self, to: u64, from: u64, bytes: u64) -> Result<Fence> {
        let rectangle = Rectangle { to, from, width: bytes, height: 1, depth: 1, ..Rectangle::default() };
        // SAFETY: the caller's promise, for one line.
        unsafe { self.copy_rectangle(&rectangle, Direction::Within) }
    }

    /// Copies rectangles in layers.
    ///
    /// # Errors
    /// A pitch or height is larger than a copy engine takes, or the context has ended.
    ///
    /// # Safety
    /// As [`copy`](Stream::copy), for each line.
    pub unsafe fn copy_3d(&self, rectangle: &Rectangle) -> Result<Fence> {
        // SAFETY: the caller's promise.
        unsafe { self.copy_rectangle(rectangle, Direction::Within) }
    }

    /// Copies rectangles in layers, on the engine for a direction. So copies to and from the GPU overlap.
    ///
    /// # Errors
    /// As [`copy_3d`](Stream::copy_3d).
    ///
    /// # Safety
    /// As [`copy`](Stream::copy), for each line. The direction decides the engine, not what is copied.
    pub unsafe fn copy_rectangle(&self, copy: &Rectangle, direction: Direction) -> Result<Fence> {
        let Rectangle { to, from, width, height, depth, pitch, layer } = *copy;
        let word = |value: u64| {
            u32::try_from(value).map_err(|_| Error::Range(format!("a copy with a pitch or height of {value}")))
        };
        let size = width.saturating_mul(height).saturating_mul(depth);
        let mut tail = self.tail();
        if size == 0 {
            return self.submit(&mut tail, None, &Operation::Nothing);
        }
        // All streams share the lanes of copy engines. One that waits for the host would stop the others there.
        let is_gated = self.shared.gates.load(Ordering::Acquire) != 0;
        let copy_lane;
        let lane = if size >= self.shared.options.copy_engine_from && !is_gated {
            copy_lane = self.shared.copy_lane(direction)?;
            Some(&*copy_lane)
        } else {
            None
        };
        let mut last = None;
        // Lines of a copy that is longer than one transfer go by columns.
        for z in 0..depth {
            let (to, from) = (to + z * layer.0, from + z * layer.1);
            let mut x = 0;
            while x < width {
                let length = (width - x).min(LONGEST_LINE);
                let lines = Lines {
                    length: length as u32,
                    count: word(height)?,
                    to_pitch: word(pitch.0)?,
                    from_pitch: word(pitch.1)?,
                };
                let operation = Operation::Copy { to: to + x, from: from + x, lines };
                last = Some(self.submit(&mut tail, lane, &operation)?);
                x += length;
            }
        }
        last.ok_or_else(|| Error::Range("an empty copy".to_owned()))
    }

    /// Fills `count` values of `width` bytes (1, 2 or 4) with `value`.
    ///
    /// # Errors
    /// The width is another one, or the context has ended.
    ///
    /// # Safety
    /// The range is mapped until the fence is reached, and no other work conflicts.
    pub unsafe fn fill(&self, to: u64, value: u32, width: u32, count: u64) -> Result<Fence> {
        // SAFETY: the caller's promise, for one line.
        unsafe { self.fill_3d(&Fill { to, value, width, count, height: 1, depth: 1, ..Fill::default() }) }
    }

    /// Fills lines in layers.
    ///
    /// # Errors
    /// The width is not 1, 2 or 4, a number is too large, or the context has ended.
    ///
    /// # Safety
    /// As [`fill`](Stream::fill), for each line.
    pub unsafe fn fill_3d(&self, fill: &Fill) -> Result<Fence> {
        let Fill { to, value, width, count, height, depth, pitch, layer } = *fill;
        if !matches!(width, 1 | 2 | 4) {
            return Err(Error::Range(format!("a fill with values of {width} bytes: 1, 2 or 4 are possible")));
        }
        let to_pitch = u32::try_from(pitch).map_err(|_| Error::Range(format!("a fill with a pitch of {pitch}")))?;
        let mut tail = self.tail();
        let mut last = None;
        let empty = count == 0 || height == 0;
        for z in (0..depth).filter(|_| !empty) {
            let (mut x, mut y) = (0, 0);
            while x < count {
                let (length, lines) = ((count - x).min(LONGEST_LINE), (height - y).min(MOST_LINES));
                let to = to + z * layer + y * pitch + x * u64::from(width);
                let lines = Lines { length: length as u32, count: lines as u32, to_pitch, from_pitch: 0 };
                last = Some(self.submit(&mut tail, None, &Operation::Fill { to, value, width, lines })?);
                y += u64::from(lines.count);
                if y == height {
                    (x, y) = (x + length, 0);
                }
            }
        }
        last.map_or_else(|| self.submit(&mut tail, None, &Operation::Nothing), Ok)
    }

    /// Copies between memories, on the engine for their direction.
    ///
    /// # Errors
    /// A range is outside of its memory, or the context has ended.
    ///
    /// # Safety
    /// No other work conflicts with the ranges, and both memories live until the fence is reached.
    pub unsafe fn copy_memory(
        &self,
        to: &Memory,
        to_offset: u64,
        from: &Memory,
        from_offset: u64,
        bytes: u64,
    ) -> Result<Fence> {
        let (to_address, from_address) = (to.check(to_offset, bytes)?, from.check(from_offset, bytes)?);
        let direction = match (to.kind(), from.kind()) {
            (Kind::Video, Kind::Pinned | Kind::Registered) => Direction::ToGpu,
            (Kind::Pinned | Kind::Registered, Kind::Video) => Direction::FromGpu,
            _ => Direction::Within,
        };
        if (to.kind(), from.kind()) == (Kind::Video, Kind::Video)
            && let Some(fence) = self.copy_by_kernel(to_address, from_address, bytes)?
        {
            return Ok(fence);
        }
        // SAFETY: the ranges are inside of their memories; the rest is the caller's promise.
        unsafe { self.copy_rectangle(&line(to_address, from_address, bytes as usize), direction) }
    }

    /// The next operations come after a fence, of any stream of the context.
    pub fn wait_for(&self, fence: Fence) {
        self.tail().waits.push(fence);
    }

    /// Records an event: it is reached, and has its time, when all work until here has ended.
    ///
    /// # Errors
    /// The context has ended.
    pub fn record(&self, event: &Event) -> Result<Fence> {
        event.record(|at| self.submit(&mut self.tail(), None, &Operation::Stamp { at }))
    }

    /// A fence for all work until here.
    ///
    /// # Errors
    /// The context has ended.
    pub fn fence(&self) -> Result<Fence> {
        let mut tail = self.tail();
        match tail.last {
            Some(last) if tail.waits.is_empty() => Ok(last),
            _ => self.submit(&mut tail, None, &Operation::Nothing),
        }
    }

    /// Whether all work until here has ended.
    ///
    /// # Errors
    /// The context has ended.
    pub fn is_idle(&self) -> Result<bool> {
        let fence = self.fence()?;
        self.shared.reached(fence)
    }

    /// Waits until all work has ended.
    ///
    /// # Errors
    /// The context has ended by a fault.
    pub fn synchronize(&self) -> Result<()> {
        let fence = self.fence()?;
        self.shared.wait(fence, None)
    }

    /// Waits until all work has ended, or until a point in time.
    ///
    /// # Errors
    /// [`Error::Timeout`], or the context has ended.
    pub fn synchronize_until(&self, until: Instant) -> Result<()> {
        let fence = self.fence()?;
        self.shared.wait(fence, Some(until))
    }
}

pub(crate) fn line(to: u64, from: u64, bytes: usize) -> Rectangle {
    Rectangle { to, from, width: bytes as u64, height: 1, depth: 1, ..Rectangle::default() }
}
