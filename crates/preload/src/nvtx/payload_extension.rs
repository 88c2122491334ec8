//! Extensions: a copy of NVTX gives slots, which get our functions. Another tool is asked first. Its functions are kept
//! and called, and the program gets their results. Here are those of payloads. Other extensions than these and the
//! counters are another tool's alone.

use super::attach::{EXTENSION, answer_of_tool};
use super::functions::next_range;
use super::ranges::{self, Attributes};
use super::tool::{self, ExtensionFunctions, KeepsFunctions, id_or_ours, level_or_ours, next_id};
use super::{counters, domains, payloads};
use crate::process::fork;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering::*};
use cutap_calls::generated::nvtx::{counters as of_counters, extension, payload_type};

/// nvtxExtModuleInfo_t.
#[repr(C)]
pub struct Extension {
    nvtx_version: u16,
    bytes: u16,
    module: u16,
    compatibility: u16,
    segment_count: usize,
    segments: *const Segment,
}

/// nvtxExtModuleSegment_t.
#[repr(C)]
struct Segment {
    number: usize,
    slot_count: usize,
    slots: *mut usize,
}

/// Slots with functions of cutap.
const SLOTS: usize = 8;
/// What ranges and marks are called that have a payload and no name.
const NAME: &[u8] = b"payload";

static FUNCTIONS_OF_TOOL: ExtensionFunctions<SLOTS> = ExtensionFunctions::new();
/// Another tool knows extensions, and wants none of this one.
static IS_REFUSED: AtomicBool = AtomicBool::new(false);

fn ours() -> [(u32, usize); SLOTS] {
    [
        (extension::SCHEMA_REGISTER, schema_register as *const () as usize),
        (extension::ENUM_REGISTER, enum_register as *const () as usize),
        (extension::MARK, mark as *const () as usize),
        (extension::PUSH, push as *const () as usize),
        (extension::POP, pop as *const () as usize),
        (extension::START, start as *const () as usize),
        (extension::END, end as *const () as usize),
        (extension::IS_ENABLED, is_enabled as *const () as usize),
    ]
}

/// Fills the slots of a copy's extension. 1: they are in use.
///
/// # Safety
/// `module` is what a copy of NVTX gives, which looks for an injection now.
pub unsafe fn attach(module: *const Extension) -> c_int {
    fork::check();
    // SAFETY: the caller's promise.
    let answer = unsafe { answer_of_tool(module.cast::<c_void>(), EXTENSION) };
    let has_tool = answer.unwrap_or(0);
    if has_tool != 0 {
        tool::attach();
    }
    // SAFETY: the copy's description, which has at least these fields.
    let Some(of) = (unsafe { module.as_ref() }).filter(|of| usize::from(of.bytes) >= size_of::<Extension>()) else {
        return has_tool;
    };
    // SAFETY: there is a segment.
    let segment = unsafe { of.segments.as_ref() }.filter(|_| of.segment_count > 0);
    let is = |module, version| u32::from(of.module) == module && u32::from(of.compatibility >> 8) == version;
    match segment {
        Some(segment) if is(extension::PAYLOAD_MODULE, extension::PAYLOAD_VERSION) => {
            IS_REFUSED.store(answer == Some(0), Relaxed);
            fill(segment, has_tool != 0, &ours(), &FUNCTIONS_OF_TOOL);
        }
        Some(segment) if is(of_counters::MODULE, of_counters::VERSION) => {
            let (ours, of_tool) = counters::functions();
            fill(segment, has_tool != 0, &ours, of_tool);
        }
        _ => return answer.unwrap_or_else(|| c_int::from(tool::is_attached())),
    }
    1
}

/// Puts our functions into slots.
fn fill(segment: &Segment, has_tool: bool, ours: &[(u32, usize)], of_tool: &dyn KeepsFunctions) {
    for (number, function) in ours {
        if *number as usize >= segment.slot_count || segment.slots.is_null() {
            continue;
        }
        // SAFETY: there are so many slots.
        let slot = unsafe { &mut *segment.slots.add(*number as usize) };
        // Without a tool a slot has a mark of NVTX, which is no function.
        if has_tool && *slot > 1 && !of_tool.keep(*number, *slot) {
            continue;
        }
        *slot = *function;
    }
}

/// What another tool answers.
fn answer(number: u32, arguments: [usize; 4]) -> Option<usize> {
    FUNCTIONS_OF_TOOL.answer(number, arguments)
}

/// The id that the program gets: its own, that of another tool, or a new one.
fn id(number: u32, arguments: [usize; 2], own: u64) -> u64 {
    let [domain, at] = arguments;
    id_or_ours(answer(number, [domain, at, 0, 0]), || if own != 0 { own } else { next_id() })
}

/// The id of what is written: payloads may have the program's own one although another tool answered that there is
/// none.
fn written_id(id: u64, own: u64) -> u64 {
    if id == 0 { own } else { id }
}

extern "C" fn schema_register(domain: usize, at: usize) -> u64 {
    fork::check();
    let own = payloads::id_of_schema(at);
    let id = id(extension::SCHEMA_REGISTER, [domain, at], own);
    payloads::write_schema(domains::object_of(domains::number_of(domain)), written_id(id, own), at);
    id
}

extern "C" fn enum_register(domain: usize, at: usize) -> u64 {
    fork::check();
    let own = payloads::id_of_enumeration(at);
    let id = id(extension::ENUM_REGISTER, [domain, at], own);
    payloads::write_enumeration(domains::object_of(domains::number_of(domain)), written_id(id, own), at);
    id
}

fn attributes(at: usize, count: usize) -> Attributes {
    let (payload, payload_type) = (at as u64, payload_type::EXTENDED);
    Attributes {
        payload,
        payload_type,
        payload_count: u32::try_from(count).unwrap_or(u32::MAX),
        ..Attributes::default()
    }
}

extern "C" fn mark(domain: usize, at: usize, count: usize) {
    ranges::moment(domains::number_of(domain), NAME, &attributes(at, count), None);
    answer(extension::MARK, [domain, at, count, 0]);
}

extern "C" fn push(domain: usize, at: usize, count: usize) -> c_int {
    let level = ranges::push(domains::number_of(domain), NAME, &attributes(at, count));
    level_or_ours(answer(extension::PUSH, [domain, at, count, 0]), level)
}

/// The payload of the end is another tool's alone.
extern "C" fn pop(domain: usize, at: usize, count: usize) -> c_int {
    let level = ranges::pop(domains::number_of(domain));
    level_or_ours(answer(extension::POP, [domain, at, count, 0]), level)
}

extern "C" fn start(domain: usize, at: usize, count: usize) -> u64 {
    let id = id_or_ours(answer(extension::START, [domain, at, count, 0]), next_range);
    ranges::moment(domains::number_of(domain), NAME, &attributes(at, count), Some(id));
    id
}

extern "C" fn end(domain: usize, id: u64, at: usize, count: usize) {
    ranges::end(domains::number_of(domain), id);
    answer(extension::END, [domain, id as usize, at, count]);
}

extern "C" fn is_enabled(domain: usize) -> u8 {
    let answer = answer(extension::IS_ENABLED, [domain, 0, 0, 0]).map(|is_enabled| is_enabled as u8);
    answer.unwrap_or(u8::from(!IS_REFUSED.load(Relaxed)))
}
