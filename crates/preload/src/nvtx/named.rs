//! Names of categories, devices, contexts, streams and events. Each is recorded as a mark, with the number or the
//! handle as its payload: a handle may be named again, and the mark stands where that happened.

use super::domains;
use super::ranges::{self, Attributes};
use super::text::Text;
use super::tool::{self, Row, answer};
use core::mem::transmute;
use cutap_calls::generated::nvtx::{core as of_core, core2, cuda, cudart, module, payload_type};

/// What is named.
const CATEGORY: u32 = 0;
const DEVICE: u32 = 1;
const CONTEXT: u32 = 2;
const STREAM: u32 = 3;
const EVENT: u32 = 4;

/// The functions that name something.
pub fn all() -> [Row; 18] {
    [
        row::<{ module::CORE }, { of_core::NAME_CATEGORY_ASCII }, CATEGORY, false>(),
        row::<{ module::CORE }, { of_core::NAME_CATEGORY_WIDE }, CATEGORY, true>(),
        (module::CORE2, core2::NAME_CATEGORY_ASCII, domain_category::<false> as *const () as usize),
        (module::CORE2, core2::NAME_CATEGORY_WIDE, domain_category::<true> as *const () as usize),
        row::<{ module::CUDA }, { cuda::NAME_DEVICE_ASCII }, DEVICE, false>(),
        row::<{ module::CUDA }, { cuda::NAME_DEVICE_WIDE }, DEVICE, true>(),
        row::<{ module::CUDA }, { cuda::NAME_CONTEXT_ASCII }, CONTEXT, false>(),
        row::<{ module::CUDA }, { cuda::NAME_CONTEXT_WIDE }, CONTEXT, true>(),
        row::<{ module::CUDA }, { cuda::NAME_STREAM_ASCII }, STREAM, false>(),
        row::<{ module::CUDA }, { cuda::NAME_STREAM_WIDE }, STREAM, true>(),
        row::<{ module::CUDA }, { cuda::NAME_EVENT_ASCII }, EVENT, false>(),
        row::<{ module::CUDA }, { cuda::NAME_EVENT_WIDE }, EVENT, true>(),
        row::<{ module::CUDART }, { cudart::NAME_DEVICE_ASCII }, DEVICE, false>(),
        row::<{ module::CUDART }, { cudart::NAME_DEVICE_WIDE }, DEVICE, true>(),
        row::<{ module::CUDART }, { cudart::NAME_STREAM_ASCII }, STREAM, false>(),
        row::<{ module::CUDART }, { cudart::NAME_STREAM_WIDE }, STREAM, true>(),
        row::<{ module::CUDART }, { cudart::NAME_EVENT_ASCII }, EVENT, false>(),
        row::<{ module::CUDART }, { cudart::NAME_EVENT_WIDE }, EVENT, true>(),
    ]
}

fn row<const MODULE: u32, const NUMBER: u32, const OF: u32, const WIDE: bool>() -> Row {
    (MODULE, NUMBER, name::<MODULE, NUMBER, OF, WIDE> as *const () as usize)
}

extern "C" fn name<const MODULE: u32, const NUMBER: u32, const OF: u32, const WIDE: bool>(handle: usize, at: usize) {
    record(domains::DEFAULT, OF, handle, WIDE, at);
    answer(MODULE, NUMBER, [handle, at]);
}

extern "C" fn domain_category<const WIDE: bool>(domain: usize, category: u32, at: usize) {
    record(domains::number_of(domain), CATEGORY, category as usize, WIDE, at);
    let number = if WIDE { core2::NAME_CATEGORY_WIDE } else { core2::NAME_CATEGORY_ASCII };
    if let Some(function) = tool::function(module::CORE2, number) {
        // SAFETY: the tool's function of this number takes these arguments, which the program gave.
        unsafe { transmute::<usize, extern "C" fn(usize, u32, usize)>(function)(domain, category, at) };
    }
}

fn record(domain: u32, of: u32, handle: usize, is_wide: bool, at: usize) {
    // Numbers of categories and devices have four bytes; what is above them in a register is undefined.
    let (words, handle): (&[u8], u64) = match of {
        CATEGORY => (b"name of a category: ", handle as u32 as u64),
        DEVICE => (b"name of a device: ", handle as u32 as u64),
        CONTEXT => (b"name of a context: ", handle as u64),
        STREAM => (b"name of a stream: ", handle as u64),
        _ => (b"name of an event: ", handle as u64),
    };
    let text = if is_wide { Text::wide(at) } else { Text::ascii(at) };
    let with = Attributes { payload: handle, payload_type: payload_type::UNSIGNED_64, ..Attributes::default() };
    ranges::moment(domain, text.after_label(words).bytes(), &with, None);
}
