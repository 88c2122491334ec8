//! Paths in the run directory, and the run directory's own. A path is put together on the stack.

use super::page;
use core::cell::UnsafeCell;

/// Longest path of a run directory; longer ones are refused outside, and here end in OFF.
const RUN_PATH: usize = 512;

pub struct Shared<T>(pub UnsafeCell<T>);
// SAFETY: written once while `run::STATE` is STARTING, by the one thread that made it so; read after.
unsafe impl<T> Sync for Shared<T> {}
static RUN: Shared<([u8; RUN_PATH], usize)> = Shared(UnsafeCell::new(([0; RUN_PATH], 0)));

/// The run directory's path, without a zero.
pub fn run() -> &'static [u8] {
    // SAFETY: see `Shared`.
    let (bytes, len) = unsafe { &*RUN.0.get() };
    bytes.get(..*len).unwrap_or(&[])
}

/// A path being put together on the stack, always ended by a zero.
#[derive(Clone)]
pub struct Path {
    bytes: [u8; RUN_PATH + 128],
    len: usize,
}

impl Path {
    /// Nothing yet.
    pub const fn empty() -> Path {
        Path { bytes: [0; RUN_PATH + 128], len: 0 }
    }
    /// The run directory.
    pub fn run() -> Path {
        let mut p = Path::empty();
        p.push(run());
        p
    }
    /// This process's folder.
    pub fn process() -> Path {
        let mut p = Path::run();
        p.push(b"/").push(page::folder());
        p
    }
    /// Adds bytes; what does not fit is cut off, and the file is then not found.
    pub fn push(&mut self, bytes: &[u8]) -> &mut Path {
        for &b in bytes {
            if let Some(to) = self.bytes.get_mut(self.len)
                && self.len + 1 < RUN_PATH + 128
            {
                *to = b;
                self.len += 1;
            }
        }
        self
    }
    /// Adds a decimal number.
    pub fn number(&mut self, n: u64) -> &mut Path {
        let mut digits = [0u8; 20];
        let mut n = n;
        let mut from = digits.len();
        for (i, d) in digits.iter_mut().enumerate().rev() {
            *d = b'0' + (n % 10) as u8;
            n /= 10;
            from = i;
            if n == 0 {
                break;
            }
        }
        self.push(digits.get(from..).unwrap_or(&[]))
    }
    /// The path with its zero.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..=self.len).unwrap_or(b"\0")
    }
}

/// Takes over the path of the run directory, once. False: it is empty or too long.
pub(super) fn set_run(path: &[u8]) -> bool {
    if path.is_empty() || path.len() >= RUN_PATH {
        return false;
    }
    // SAFETY: see `Shared`.
    let run = unsafe { &mut *RUN.0.get() };
    for (to, from) in run.0.iter_mut().zip(path) {
        *to = *from;
    }
    run.1 = path.len();
    true
}
