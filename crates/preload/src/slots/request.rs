//! An ioctl as it was made, and what the pointers in its argument lead to.

use crate::process::copy::Pages;
use cutap_calls::kernel::{Follow, Inner, class_size, uvm_size};

/// An ioctl as it was made.
#[derive(Clone, Copy)]
pub struct Ioctl {
    /// The request.
    pub request: u32,
    /// The argument.
    pub argument: usize,
    /// Its bytes.
    pub size: usize,
    /// Whether it goes to the UVM driver, whose requests do not say a size.
    pub uvm: bool,
}

impl Ioctl {
    /// From the call's words.
    pub fn of(args: &[u64; 6], uvm: bool) -> Ioctl {
        let [_, request, argument, ..] = *args;
        let (request, argument) = (request as u32, argument as usize);
        let size = if uvm { uvm_size(request) } else { (request >> 16 & 0x3fff) as usize };
        Ioctl { request, argument, size, uvm }
    }
}

/// What a pointer leads to.
pub struct Target {
    /// Where.
    pub at: usize,
    /// Bytes.
    pub len: usize,
    /// The number that selects what it is.
    pub number: u32,
}

/// Reads a pointer of a struct at `base`, and its counts.
pub fn target(p: &Follow, base: usize, pages: Pages) -> Option<Target> {
    let number = |at: u32, bytes: u32| pages.number(base.wrapping_add(at as usize), bytes as usize);
    let at = number(p.at, 8)?;
    let mut count = u64::from(p.fixed.max(1));
    for (at, bytes) in p.counts.into_iter().filter(|(_, bytes)| *bytes != 0) {
        count = count.saturating_mul(number(at, bytes)?);
    }
    let selected = if p.inner == Inner::Nothing { 0 } else { number(p.selector, 4)? as u32 };
    // The driver takes its own size where the caller says none.
    let len = match (p.inner, count) {
        (Inner::Class, 0) => class_size(selected),
        _ => usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(p.element as usize),
    };
    (at != 0 && len != 0).then_some(Target { at: at as usize, len, number: selected })
}
