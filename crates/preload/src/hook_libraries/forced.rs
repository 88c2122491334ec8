//! Answering a call that a runtime reports: from its callback straight back to the caller of the API
//! function, whose registers the unwind tables tell. What a call site's frame looks like never changes,
//! so it is read once.

use crate::loader::live;
use crate::loader::unwind::{Layout, Why, layout};
use crate::runtime::instances::Function;
use crate::sys::arch::{Registers, shadow_stack};
use crate::sys::program_headers::PT_LOAD;
use core::sync::atomic::Ordering::*;

const PT_GNU_EH_FRAME: u32 = 0x6474_e550;

/// Why a runtime's call cannot be answered, as a text that ends with a zero.
pub fn why(reason: Why) -> &'static [u8] {
    match reason {
        Why::NoTables => {
            b"it cannot be answered, and its arguments not changed: the program has no unwind tables (.eh_frame_hdr)\0"
        }
        Why::Unusual => {
            b"it cannot be answered, and its arguments not changed: its unwind tables are not understood, or there is a shadow stack\0"
        }
    }
}

/// The layout of the frame that a callback returns to.
pub fn find(function: &Function, site: usize) -> Result<Layout, Why> {
    if shadow_stack() {
        return Err(Why::Unusual);
    }
    if function.site.load(Acquire) == site {
        return Ok(Layout::unpack(function.layout.load(Relaxed)));
    }
    let layout = read(site)?;
    // The first site is remembered: a function has one.
    if function.layout.compare_exchange(0, layout.pack(), AcqRel, Relaxed).is_ok() {
        function.site.store(site, Release);
    }
    Ok(layout)
}

fn read(site: usize) -> Result<Layout, Why> {
    let tables = live::find(|info| {
        if !info.contains(site) {
            return None;
        }
        // SAFETY: phdr and phnum come from the loader.
        let headers = unsafe { core::slice::from_raw_parts(info.phdr, usize::from(info.phnum)) };
        let place = |h: &crate::sys::program_headers::Phdr| info.addr.wrapping_add(h.vaddr as usize);
        let header = headers.iter().find(|h| h.kind == PT_GNU_EH_FRAME).map(place);
        // The segment that holds the header holds the tables too.
        let inside = |at: usize| {
            let segment =
                headers.iter().find(|h| h.kind == PT_LOAD && at.wrapping_sub(place(h)) < h.filesz as usize)?;
            Some((at, (place(segment), place(segment) + segment.filesz as usize)))
        };
        Some(header.and_then(inside))
    });
    let (header, span) = tables.flatten().ok_or(Why::NoTables)?;
    // SAFETY: the object is running, so it stays mapped.
    unsafe { layout(header, span, site) }
}

/// What the registers were when the API function was called, from what they are in it.
pub fn caller(l: Layout, now: &Registers) -> Option<Registers> {
    let base = if l.by_frame_pointer { now.frame_pointer() } else { now.stack };
    let begin = base.wrapping_add(l.cfa as usize);
    if begin <= now.stack || begin - now.stack > 1 << 20 || begin % 8 != 0 {
        return None;
    }
    let word = |below: usize| {
        // SAFETY: inside the frames between the callback and the caller, on this stack.
        unsafe { ((begin - below) as *const u64).read() }
    };
    let mut callee_saved = now.callee_saved;
    for (to, &saved) in callee_saved.iter_mut().zip(&l.saved) {
        if saved != 0 {
            *to = word(usize::from(saved) * 8);
        }
    }
    Some(Registers { callee_saved, stack: begin, next: word(8) as usize })
}
