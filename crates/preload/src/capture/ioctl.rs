//! What is kept of a call of the layer `syscall` beside its words. That is the file of its descriptor, errno, and the
//! bytes of an ioctl's argument and of what its pointers lead to, before and after. They go straight into the ring, in
//! as many records as it takes. Where pointers stand and how much they lead to is data (`cutap_calls::kernel`); nothing
//! here knows what a number means.

use super::answers;
use super::file_of::{PATH, file_of};
use crate::process::copy::Pages;
use crate::process::page;
use crate::ring::record;
use crate::ring::thread_state::ThreadState;
use crate::slots::frame::Frame;
use crate::slots::request::{Ioctl, target};
use crate::slots::{extension, table};
use crate::sys;
use cutap_calls::kernel::{Owner, pointers};
use cutap_wire::diagnostic;
use cutap_wire::memory::{MOST, NewPiece, piece_kind};

/// Bytes that are kept of one call, before it and after it.
const TOTAL: usize = 256 << 10;
/// How deep pointers are followed: an escape in XFER_CMD, its parameters, what they lead to.
const DEPTH: u32 = 3;

/// The interceptor, on the way in, behind recording's. False: the call is answered.
pub fn before(frame: &mut Frame) -> bool {
    extension::extension(|of| (of.before_request)(frame));
    let name = table::name_of(frame.slot);
    let mut path = [0; PATH];
    let fd = descriptor(name, &frame.args);
    let file = fd.map_or(&[][..], |fd| file_of(fd, &mut path));
    let uvm = file.windows(10).any(|w| w == b"nvidia-uvm");
    frame.word = uvm.into();
    let ioctl = (name == b"ioctl").then(|| Ioctl::of(&frame.args, uvm));
    if let Some(thread_state) = record::of(frame.recorded) {
        let mut request = KeptRequest::new(thread_state, frame, piece_kind::BEFORE);
        if let Some(fd) = fd.filter(|_| !file.is_empty()) {
            request.put(piece_kind::FILE, fd as u64, file);
        }
        if let Some(ioctl) = &ioctl {
            request.ioctl(ioctl);
        }
    }
    let answered = ioctl.and_then(|ioctl| answers::answer(&ioctl));
    let Some((result, status)) = answered else { return true };
    frame.result = [result as u64, 0];
    if let Some(thread_state) = record::of(frame.recorded) {
        KeptRequest::new(thread_state, frame, piece_kind::ANSWERED).put(piece_kind::ANSWERED, status as u64, &[]);
    }
    false
}

/// The interceptor, on the way out, before recording's.
pub fn after(frame: &mut Frame) {
    let name = table::name_of(frame.slot);
    let ioctl = (name == b"ioctl").then(|| Ioctl::of(&frame.args, frame.word != 0));
    extension::extension(|of| (of.after_request)(frame, ioctl.as_ref()));
    let Some(thread_state) = record::of(frame.recorded) else { return };
    let [result, _] = frame.result;
    let mut request = KeptRequest::new(thread_state, frame, piece_kind::AFTER);
    if let Some(ioctl) = &ioctl {
        request.ioctl(ioctl);
    }
    // Functions that return an address fail with -1, too; getenv leaves errno alone.
    let failed = if name.starts_with(b"fopen") { result == 0 } else { result as i32 == -1 };
    if failed
        && !name.ends_with(b"getenv")
        && let Some(errno) = sys::libc::errno_location()
    {
        // SAFETY: libc's own variable of this thread.
        request.put(piece_kind::ERRNO, unsafe { *errno() } as u64, &[]);
    }
}

/// The descriptor that a call is about.
fn descriptor(name: &[u8], args: &[u64; 6]) -> Option<i32> {
    let [first, _, _, _, fifth, _] = *args;
    let fd = match name {
        b"ioctl" | b"close" | b"dup" | b"dup2" | b"dup3" => first,
        b"mmap" | b"mmap64" => fifth,
        _ => return None,
    };
    Some(fd as i32).filter(|fd| *fd >= 0)
}

/// What is being kept.
struct KeptRequest<'a> {
    thread_state: &'a mut ThreadState,
    at: usize,
    number: u32,
    piece_kind: u8,
    budget: usize,
    pages: Pages,
}

impl KeptRequest<'_> {
    fn new<'a>(thread_state: &'a mut ThreadState, frame: &Frame, piece_kind: u8) -> KeptRequest<'a> {
        let at = frame.stack as usize;
        let pages = Pages::new(at, &mut thread_state.stack);
        KeptRequest { thread_state, at, number: frame.number, piece_kind, budget: TOTAL, pages }
    }

    /// One piece whose bytes are here.
    fn put(&mut self, kind: u8, address: u64, bytes: &[u8]) {
        let piece = NewPiece { kind, address, room: bytes.len(), full_length: bytes.len() };
        record::memory(self.thread_state, self.at, self.number, &piece, |to| {
            // SAFETY: as many bytes as the record has room for.
            unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
            bytes.len()
        });
    }

    /// The program's memory, in pieces.
    fn memory(&mut self, address: usize, len: usize) {
        let len = if len > self.budget {
            page::count(diagnostic::MEMORY_CUT, 1);
            self.budget
        } else {
            len
        };
        self.budget -= len;
        let (pages, mut copied) = (self.pages, 0);
        while copied < len {
            let (from, part) = (address.wrapping_add(copied), (len - copied).min(MOST));
            let piece = NewPiece { kind: self.piece_kind, address: from as u64, room: part, full_length: part };
            // SAFETY: as many bytes as the record has room for.
            let read = record::memory(self.thread_state, self.at, self.number, &piece, |to| unsafe {
                pages.copy(from, to, part)
            });
            copied += part;
            if read < part {
                return;
            }
        }
    }

    fn ioctl(&mut self, ioctl: &Ioctl) {
        if ioctl.size == 0 || ioctl.argument == 0 {
            return;
        }
        self.memory(ioctl.argument, ioctl.size);
        if !ioctl.uvm {
            self.follow(Owner::Escape, ioctl.request & 0xff, ioctl.argument, ioctl.size, DEPTH);
        }
    }

    /// What the pointers of a struct at `base` lead to.
    fn follow(&mut self, owner: Owner, number: u32, base: usize, size: usize, depth: u32) {
        let Some(depth) = depth.checked_sub(1) else { return };
        for p in pointers(owner, number, size) {
            let Some(target) = target(p, base, self.pages) else { continue };
            self.memory(target.at, target.len);
            if let Some(owner) = p.inner.owner() {
                self.follow(owner, target.number, target.at, target.len, depth);
            }
        }
    }
}
