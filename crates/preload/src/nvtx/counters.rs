//! The counter extension: each sample is a mark `counter NAME` with the value as its payload.

use super::domains;
use super::payloads::{self, Payload};
use super::ranges::{self, Attributes};
use super::text::Text;
use super::tool::{ExtensionFunctions, id_or_ours, next_id};
use crate::process::{fork, page};
use core::mem::transmute;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::*};
use cutap_calls::generated::nvtx::{counter_batch, counters, payload_type};
use cutap_wire::diagnostic;

/// Slots with functions of cutap.
const SLOTS: usize = 6;
/// Counters whose names are remembered.
const MOST: usize = 256;

static FUNCTIONS_OF_TOOL: ExtensionFunctions<SLOTS> = ExtensionFunctions::new();

/// A counter that was registered.
struct Entry {
    /// 0: none yet.
    id: AtomicU64,
    domain: AtomicU32,
    schema: AtomicU64,
    /// Its name in the names file; 0: none.
    name: AtomicUsize,
    name_bytes: AtomicU32,
}

static ENTRIES: [Entry; MOST] = [const {
    Entry {
        id: AtomicU64::new(0),
        domain: AtomicU32::new(0),
        schema: AtomicU64::new(0),
        name: AtomicUsize::new(0),
        name_bytes: AtomicU32::new(0),
    }
}; MOST];
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// The functions of the slots, and those that another tool has there.
pub fn functions() -> ([(u32, usize); SLOTS], &'static ExtensionFunctions<SLOTS>) {
    let all = [
        (counters::REGISTER, register as *const () as usize),
        (counters::SAMPLE_INT64, sample_int64 as *const () as usize),
        (counters::SAMPLE_FLOAT64, sample_float64 as *const () as usize),
        (counters::SAMPLE, sample as *const () as usize),
        (counters::SAMPLE_NO_VALUE, sample_no_value as *const () as usize),
        (counters::BATCH_SUBMIT, batch_submit as *const () as usize),
    ];
    (all, &FUNCTIONS_OF_TOOL)
}

/// The mark's name, and the schema of a sample.
fn counter(domain: usize, id: u64) -> (&'static [u8], u64) {
    let number = domains::number_of(domain);
    let is_it = |of: &&Entry| of.id.load(Acquire) == id && of.domain.load(Relaxed) == number;
    match ENTRIES.iter().find(is_it).filter(|_| id != 0) {
        Some(of) => (domains::kept_text(of.name.load(Relaxed), of.name_bytes.load(Relaxed)), of.schema.load(Relaxed)),
        None => (b"counter", 0),
    }
}

fn record(domain: usize, id: u64, payload: u64, payload_type: u32) {
    let with = Attributes { payload, payload_type, ..Attributes::default() };
    ranges::moment(domains::number_of(domain), counter(domain, id).0, &with, None);
}

extern "C" fn register(domain: usize, at: usize) -> u64 {
    fork::check();
    let attributes = payloads::counter(at);
    let answer = FUNCTIONS_OF_TOOL.answer(counters::REGISTER, [domain, at, 0, 0]);
    let id = id_or_ours(answer, || if attributes.id != 0 { attributes.id } else { next_id() });
    let entry = ENTRIES.get(NEXT.fetch_add(1, Relaxed).min(MOST));
    if entry.is_none() {
        page::count(diagnostic::RANGE_NAME_LOST, 1);
    }
    if let Some(of) = entry {
        let name = Text::ascii(attributes.name).after_label(b"counter ");
        of.name_bytes.store(name.bytes().len() as u32, Relaxed);
        of.name.store(domains::keep_text(name.bytes()).map_or(0, |at| at as usize), Relaxed);
        of.domain.store(domains::number_of(domain), Relaxed);
        of.schema.store(attributes.schema, Relaxed);
        of.id.store(if id != 0 { id } else { attributes.id }, Release);
    }
    id
}

extern "C" fn sample_int64(domain: usize, id: u64, value: i64) {
    record(domain, id, value as u64, payload_type::SIGNED_64);
    FUNCTIONS_OF_TOOL.answer(counters::SAMPLE_INT64, [domain, id as usize, value as usize, 0]);
}

extern "C" fn sample_float64(domain: usize, id: u64, value: f64) {
    record(domain, id, value.to_bits(), payload_type::DOUBLE);
    type Function = extern "C" fn(usize, u64, f64);
    if let Some(function) = FUNCTIONS_OF_TOOL.of(counters::SAMPLE_FLOAT64) {
        // SAFETY: the tool's function of this slot.
        unsafe { transmute::<usize, Function>(function)(domain, id, value) };
    }
}

extern "C" fn sample(domain: usize, id: u64, at: usize, bytes: usize) {
    fork::check();
    let (name, schema) = counter(domain, id);
    ranges::sample(domains::number_of(domain), name, &Payload::of(schema, bytes as u64, at as u64));
    FUNCTIONS_OF_TOOL.answer(counters::SAMPLE, [domain, id as usize, at, bytes]);
}

/// `reason`: NVTX_COUNTER_SAMPLE_*.
extern "C" fn sample_no_value(domain: usize, id: u64, reason: u8) {
    let name = Text::of(counter(domain, id).0).after_label(b"no value of ");
    let with = Attributes { payload: reason.into(), payload_type: payload_type::UNSIGNED_64, ..Attributes::default() };
    ranges::moment(domains::number_of(domain), name.bytes(), &with, None);
    FUNCTIONS_OF_TOOL.answer(counters::SAMPLE_NO_VALUE, [domain, id as usize, reason.into(), 0]);
}

/// Samples of other times, by clocks of the program: how many bytes there are is recorded.
extern "C" fn batch_submit(domain: usize, at: usize) {
    fork::check();
    let [id, bytes] =
        payloads::words_at::<{ counter_batch::BYTES as usize }, 2>(at, [counter_batch::ID, counter_batch::SIZE]);
    let name = Text::of(counter(domain, id).0).after_label(b"batch of ");
    let with = Attributes { payload: bytes, payload_type: payload_type::UNSIGNED_64, ..Attributes::default() };
    ranges::moment(domains::number_of(domain), name.bytes(), &with, None);
    FUNCTIONS_OF_TOOL.answer(counters::BATCH_SUBMIT, [domain, at, 0, 0]);
}
