//! The requests to the kernel driver until the first result, each with its time.

use crate::{Answer, Setup, check};
use cutap_cudest::sys::{Kernel, Linux, Node};
use cutap_cudest::{Gpu, Options};
use std::io;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// The kernel of this machine, with a clock.
#[derive(Default)]
struct Timed {
    calls: Mutex<Vec<(String, f64)>>,
}

impl Timed {
    fn time<T>(&self, name: String, call: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = call();
        self.calls.lock().unwrap().push((name, start.elapsed().as_secs_f64() * 1e6));
        result
    }
}

impl Kernel for Timed {
    fn version(&self) -> io::Result<String> {
        self.time("version".into(), || Linux.version())
    }

    fn open(&self, node: Node) -> io::Result<i32> {
        self.time("open".into(), || Linux.open(node))
    }

    fn close(&self, fd: i32) {
        Linux.close(fd);
    }

    unsafe fn ioctl(&self, fd: i32, request: u32, call: &mut [u8]) -> io::Result<()> {
        let word = |at: usize| call.get(at..at + 4).map_or(0, |word| u32::from_le_bytes(word.try_into().unwrap()));
        let name = match request as u8 {
            0x2a => format!("control {:#x}", word(8)),
            0x2b => format!("class {:#x}", word(12)),
            number => format!("{number:#x}"),
        };
        // SAFETY: as the caller says.
        self.time(name, || unsafe { Linux.ioctl(fd, request, call) })
    }

    unsafe fn map(&self, fd: i32, at: Option<NonNull<u8>>, length: usize) -> io::Result<NonNull<u8>> {
        // SAFETY: as the caller says.
        self.time("mmap".into(), || unsafe { Linux.map(fd, at, length) })
    }

    unsafe fn unmap(&self, at: NonNull<u8>, length: usize) {
        // SAFETY: as the caller says.
        unsafe { Linux.unmap(at, length) };
    }
}

pub fn requests(cubin: &[u8], options: Options) -> Answer {
    let kernel = Arc::new(Timed::default());
    let start = Instant::now();
    let context = Gpu::with_kernel(kernel.clone(), 0).context_with(options)?;
    let module = context.load(cubin)?;
    let stream = context.stream()?;
    let s = Setup { context, module, stream };
    let ready = start.elapsed().as_secs_f64() * 1e3;
    check::matmul(&s)?;
    let calls = kernel.calls.lock().unwrap().clone();
    let all: f64 = calls.iter().map(|(_, micros)| micros / 1e3).sum();
    let each: Vec<String> = calls.iter().map(|(name, micros)| format!("{name} {micros:.0}")).collect();
    Ok(format!("ready in {ready:.1} ms, {all:.1} ms of it in {} requests, us: {}", calls.len(), each.join(", ")))
}
