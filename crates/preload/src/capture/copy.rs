//! Reading the program's memory where nothing has proved it readable. Before a page is touched the kernel
//! is asked whether it can be read, once for each page and call; the page that the call's stack begins
//! in needs no question. Never a fault: what cannot be read ends the copy. (Somebody who unmaps the page
//! between question and copy takes it from under the function that is called, too.)

use crate::sys;

const PAGE: usize = 4096;
/// Pages remembered in one call.
const PAGES: usize = 8;

/// Pages that were found readable in this call.
pub struct Pages {
    known: [usize; PAGES],
    next: usize,
}

impl Pages {
    /// `stack` is where the call's stack arguments begin.
    pub fn new(stack: usize) -> Pages {
        Pages { known: [stack & !(PAGE - 1), 0, 0, 0, 0, 0, 0, 0], next: 1 }
    }

    fn readable(&mut self, at: usize) -> bool {
        let page = at & !(PAGE - 1);
        if self.known.contains(&page) {
            return page != 0;
        }
        if !sys::readable(page) {
            return false;
        }
        if let Some(place) = self.known.get_mut(self.next % PAGES) {
            *place = page;
        }
        self.next += 1;
        true
    }

    /// Copies `len` bytes from `from` as far as they can be read; how many could.
    ///
    /// # Safety
    /// `to` is writable for `len` bytes.
    pub unsafe fn copy(&mut self, from: usize, to: *mut u8, len: usize) -> usize {
        let mut done = 0;
        while done < len {
            let at = from.wrapping_add(done);
            if !self.readable(at) {
                break;
            }
            let part = (len - done).min(PAGE - at % PAGE);
            // SAFETY: readable to the end of its page; `to` is the caller's promise.
            unsafe { words(at as *const u8, to.add(done), part) };
            done += part;
        }
        done
    }
}

/// Copies memory that the program may be writing: by volatile reads, eight bytes at a time.
///
/// # Safety
/// `from` is readable and `to` writable for `len` bytes.
pub unsafe fn words(from: *const u8, to: *mut u8, len: usize) {
    let whole = len / 8 * 8;
    // SAFETY: the caller's promise.
    unsafe {
        for n in (0..whole).step_by(8) {
            let word = from.add(n).cast::<[u8; 8]>().read_volatile();
            to.add(n).cast::<[u8; 8]>().write(word);
        }
        for n in whole..len {
            to.add(n).write(from.add(n).read_volatile());
        }
    }
}
