//! `--deny` and `--fail`: ioctls that are answered here and never reach the kernel. Which ones stands in `RUN/kernel`,
//! written by the front: four numbers of four bytes for each.

use crate::process::copy::{PAGE, Pages, checked};
use crate::process::fork;
use crate::process::path::{Path, Shared};
use crate::slots::request::{Ioctl, target};
use crate::sys;
use core::cell::UnsafeCell;
use cutap_calls::kernel::{Owner, pointers, status_at};
use cutap_wire::control::KERNEL_ANSWERS;
use cutap_wire::control::kernel_answer::{self, MOST};

const EFAULT: i32 = 14;
const EINVAL: i32 = 22;

type Rows = ([[u32; 4]; MOST], usize);
static ROWS: Shared<Rows> = Shared(UnsafeCell::new(([[0; 4]; MOST], 0)));

/// Reads them, once.
pub fn start() {
    let mut path = Path::run();
    path.push(b"/").push(KERNEL_ANSWERS.as_bytes());
    let mut bytes = [0u8; MOST * 16];
    let read = sys::with(path.bytes(), &[sys::Open::Read], |file| file.read(&mut bytes)).unwrap_or(0).min(bytes.len());
    // SAFETY: see `Shared`.
    let (rows, len) = unsafe { &mut *ROWS.0.get() };
    for (row, bytes) in rows.iter_mut().zip(bytes.get(..read).unwrap_or(&[]).chunks_exact(16)) {
        for (to, from) in row.iter_mut().zip(bytes.chunks_exact(4)) {
            *to = from.iter().rev().fold(0, |n, b| n << 8 | u32::from(*b));
        }
        *len += 1;
    }
}

/// The result and the status of an ioctl that is answered; the struct and errno are as the kernel would leave them.
pub fn answer(ioctl: &Ioctl) -> Option<(i32, u32)> {
    // SAFETY: see `Shared`.
    let (rows, len) = unsafe { &*ROWS.0.get() };
    let rows = rows.get(..*len).filter(|rows| !rows.is_empty())?;
    let row_of = |owner: u32, number: u32| rows.iter().find(|[o, n, ..]| *o == owner && *n == number);
    let (mut at, mut size, mut number) = (ioctl.argument, ioctl.size, ioctl.request);
    let row = if ioctl.uvm {
        row_of(kernel_answer::UVM, number)?
    } else {
        number &= 0xff;
        let mut row = row_of(kernel_answer::ESCAPE, number);
        // An escape inside of another, then its control or class.
        for _ in 0..2 {
            let Some(p) = pointers(Owner::Escape, number, size).find(|p| p.inner.owner().is_some()) else { break };
            let mut selected = 0u32;
            // SAFETY: four bytes of ours.
            if unsafe { checked(at.wrapping_add(p.selector as usize), (&raw mut selected).cast(), 4) } != 4 {
                return None;
            }
            match p.inner.owner() {
                Some(Owner::Escape) => {
                    let inside = target(p, at, Pages::none())?;
                    (at, size, number) = (inside.at, inside.len, inside.number & 0xff);
                    row = row.or_else(|| row_of(kernel_answer::ESCAPE, number));
                }
                Some(Owner::Control) => {
                    row = row.or_else(|| row_of(kernel_answer::CONTROL, selected));
                    break;
                }
                _ => {
                    row = row.or_else(|| row_of(kernel_answer::CLASS, selected));
                    break;
                }
            }
        }
        row?
    };
    let [_, _, action, status] = *row;
    if action == kernel_answer::DENY {
        return Some(failed(EINVAL, status));
    }
    let place = at.wrapping_add(status_at(number, size)?);
    // The kernel copies all of an argument first.
    if !is_there(at, size) {
        return Some(failed(EFAULT, status));
    }
    // SAFETY: the argument of a request that the kernel would write to.
    match unsafe { sys::write_process(fork::pid(), place, &status.to_ne_bytes()) } {
        Some(true) => {}
        // As the kernel answers where an argument cannot be written to.
        Some(false) => return Some(failed(EFAULT, status)),
        // A sandbox forbids the call. What can be read can be written to nearly always.
        None if !sys::readable(place) || !sys::readable(place.wrapping_add(3)) => return Some(failed(EFAULT, status)),
        // SAFETY: as above.
        None => unsafe { (place as *mut u32).write_unaligned(status) },
    }
    Some((0, status))
}

/// Whether all pages of an argument can be read.
fn is_there(at: usize, size: usize) -> bool {
    let Some(last) = size.checked_sub(1).map(|last| at.wrapping_add(last)) else { return true };
    let mut byte = 0u8;
    (at..last).step_by(PAGE).chain([last]).all(|at| {
        // SAFETY: the local byte.
        unsafe { checked(at, &raw mut byte, 1) == 1 }
    })
}

/// The result of a request that failed, with its error in place.
fn failed(error: i32, status: u32) -> (i32, u32) {
    if let Some(errno) = sys::libc::errno_location() {
        // SAFETY: libc's own variable of this thread.
        unsafe { *errno() = error };
    }
    (-1, status)
}
