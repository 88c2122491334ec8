//! Reading the program's memory where nothing has proved it readable: the kernel copies, and says how
//! far it came. One system call for many pieces. Never a fault, never a signal.

use crate::sys;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use cutap_wire::count;

/// A piece of memory as the kernel takes it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Piece {
    /// Where.
    pub at: usize,
    /// How many bytes.
    pub len: usize,
}

const PAGE: usize = 4096;
/// The kernel will not copy for us (a seccomp filter): nothing unproved is read any more.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// Copies `len` bytes from `from` as far as they can be read; how many could. `to` has room for them.
///
/// # Safety
/// `to` is writable for `len` bytes.
pub unsafe fn checked(from: usize, to: *mut u8, len: usize) -> usize {
    // A piece that crosses into an unmapped page is not copied at all, so it is cut where pages meet.
    let mut pieces = [Piece { at: 0, len: 0 }; 4];
    let mut count = 0;
    let mut done = 0;
    for piece in &mut pieces {
        if done == len {
            break;
        }
        let at = from.wrapping_add(done);
        *piece = Piece { at, len: (len - done).min(PAGE - at % PAGE) };
        done += piece.len;
        count += 1;
    }
    // SAFETY: the caller's promise.
    unsafe { gather(pieces.get(..count).unwrap_or(&[]), to, done) }
}

/// Copies all pieces one behind the other, up to the first that cannot be read; how many bytes that are.
///
/// # Safety
/// `to` is writable for `len` bytes, which is no less than the pieces hold.
pub unsafe fn gather(pieces: &[Piece], to: *mut u8, len: usize) -> usize {
    if pieces.is_empty() || REFUSED.load(Relaxed) {
        return 0;
    }
    const EPERM: isize = -1;
    const ENOSYS: isize = -38;
    let local = Piece { at: to as usize, len };
    // SAFETY: the kernel checks what is read; what is written is the caller's promise.
    match unsafe { sys::read_process(&raw const local as usize, pieces.as_ptr() as usize, pieces.len()) } {
        EPERM | ENOSYS => {
            if !REFUSED.swap(true, Relaxed) {
                crate::start::count(count::INPUTS_REFUSED, 1);
            }
            0
        }
        n => usize::try_from(n).unwrap_or(0),
    }
}
