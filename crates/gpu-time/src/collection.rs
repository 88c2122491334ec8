//! The course of a collection: start, delivery of records, a flush each second, the end.

use crate::cupti::Cupti;
use crate::find::{self, NotFound};
use crate::names::NameTable;
use crate::{buffers, clock, other_injection, preload, records, thread};
use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use cutap_calls::generated::gpu_time::{flush, kind, result, thread_id};
use cutap_calls::gpu_time::{driver_functions, is_known};
use cutap_wire::rows::{Row, RowContent, RowPlace, SIMULATED, State, reason};

/// CUPTI's functions, once they were found.
struct Published {
    cupti: UnsafeCell<Option<Cupti>>,
    is_ready: AtomicBool,
}

// SAFETY: the cell is written once, by `publish`, before `is_ready`. After that it is only read.
unsafe impl Sync for Published {}

static CUPTI: Published = Published { cupti: UnsafeCell::new(None), is_ready: AtomicBool::new(false) };
static NAMES: NameTable = NameTable::new();
/// The process that started the collection. A forked child has neither the thread nor rows.
static PROCESS: AtomicU32 = AtomicU32::new(0);
static VERSION: AtomicU32 = AtomicU32::new(0);
static DROPPED: AtomicU64 = AtomicU64::new(0);
static UNKNOWN: AtomicU64 = AtomicU64::new(0);

fn cupti() -> Option<&'static Cupti> {
    if !CUPTI.is_ready.load(Ordering::Acquire) {
        return None;
    }
    // SAFETY: it was written before `is_ready`, and is never written again.
    unsafe { (*CUPTI.cupti.get()).as_ref() }
}

/// Starts the collection. Only the first call of a process has an effect.
pub fn start() {
    static STARTED: AtomicBool = AtomicBool::new(false);
    if STARTED.swap(true, Ordering::AcqRel) || !preload::find() {
        return;
    }
    // SAFETY: a plain call.
    PROCESS.store(unsafe { libc::getpid() } as u32, Ordering::Release);
    give_state(begin().err().unwrap_or(reason::NONE));
    other_injection::load();
}

/// The error is a reason of [`reason`].
fn begin() -> Result<(), u32> {
    let library = find::load().map_err(|not_found| match not_found {
        NotFound::Missing => reason::NO_CUPTI,
        NotFound::NotLoaded => reason::NOT_LOADED,
    })?;
    // SAFETY: a handle that is never closed.
    let functions = unsafe { Cupti::of(library) }.ok_or(reason::NO_FUNCTIONS)?;
    let version = functions.version().ok_or(reason::NO_FUNCTIONS)?;
    VERSION.store(version, Ordering::Release);
    if !is_known(version) {
        return Err(reason::UNKNOWN_VERSION);
    }
    // SAFETY: `start` comes here once, and nothing reads the cell before `is_ready`.
    unsafe { *CUPTI.cupti.get() = Some(functions) };
    CUPTI.is_ready.store(true, Ordering::Release);
    let cupti = cupti().ok_or(reason::NO_FUNCTIONS)?;
    accepted(cupti.register(on_request, on_complete))?;
    cupti.use_thread_ids(thread_id::SYSTEM);
    for kind in [kind::KERNEL, kind::COPY, kind::SET] {
        accepted(cupti.enable(kind))?;
    }
    for function in driver_functions(version) {
        cupti.enable_driver_call(function.id);
    }
    clock::give_bracket(cupti);
    // SAFETY: a function without arguments, in a library that is never unloaded.
    unsafe { libc::atexit(at_exit) };
    if thread::start(run) { Ok(()) } else { Err(reason::NO_THREAD) }
}

/// Whether CUPTI did it, or the reason why not.
fn accepted(answer: u32) -> Result<(), u32> {
    match answer {
        0 => Ok(()),
        result::INSUFFICIENT_PRIVILEGES | result::VIRTUALIZED_INSUFFICIENT_PRIVILEGES => Err(reason::NOT_PERMITTED),
        result::NOT_COMPATIBLE | result::MULTIPLE_SUBSCRIBERS => Err(reason::TAKEN),
        _ => Err(reason::REFUSED),
    }
}

fn give_state(reason: u32) {
    let (version, dropped) = (VERSION.load(Ordering::Acquire), DROPPED.load(Ordering::Relaxed));
    let state = State { version, reason, dropped, unknown: UNKNOWN.load(Ordering::Relaxed) };
    let device = if find::is_simulated() { SIMULATED } else { 0 };
    let place = RowPlace { device, ..RowPlace::default() };
    preload::give(&Row { place, content: RowContent::State(state) });
}

/// The thread of this library.
extern "C" fn run(_: *mut c_void) -> *mut c_void {
    loop {
        thread::sleep_one_second();
        turn(0);
    }
}

/// Asks for records and reads the clock. A state row follows when more records are missing than before.
fn turn(flag: u32) {
    let Some(cupti) = cupti() else { return };
    let unknown_before = UNKNOWN.load(Ordering::Relaxed);
    cupti.flush(flag);
    clock::give_bracket(cupti);
    let dropped = cupti.dropped();
    DROPPED.fetch_add(dropped, Ordering::Relaxed);
    if dropped > 0 || UNKNOWN.load(Ordering::Relaxed) != unknown_before {
        give_state(reason::NONE);
    }
}

/// A forced flush hands out records of kernels that still run, so it is only right at the end.
extern "C" fn at_exit() {
    // SAFETY: a plain call.
    if PROCESS.load(Ordering::Acquire) == unsafe { libc::getpid() } as u32 {
        turn(flush::FORCED);
    }
}

extern "C" fn on_request(buffer: *mut *mut u8, size: *mut usize, most_records: *mut usize) {
    let memory = buffers::take();
    // SAFETY: CUPTI gives three places for outputs. Without memory it gets no buffer and drops records.
    unsafe {
        buffer.write(memory);
        size.write(if memory.is_null() { 0 } else { buffers::BYTES });
        most_records.write(0);
    }
}

extern "C" fn on_complete(_context: *mut c_void, _stream: u32, buffer: *mut u8, _size: usize, valid: usize) {
    if buffer.is_null() {
        return;
    }
    let valid = valid.min(buffers::BYTES);
    if let Some(cupti) = cupti() {
        let mut record = core::ptr::null_mut();
        // SAFETY: CUPTI delivered this buffer with so many bytes of records.
        while let Some(next) = unsafe { cupti.next(buffer, valid, record) } {
            record = next;
            let offset = (record as usize).wrapping_sub(buffer as usize);
            // SAFETY: the buffer has `valid` bytes, and the record is inside it.
            let bytes = unsafe { core::slice::from_raw_parts(record, valid.saturating_sub(offset)) };
            match records::row(bytes, name_id) {
                Some(row) => preload::give(&row),
                None => drop(UNKNOWN.fetch_add(1, Ordering::Relaxed)),
            }
        }
    }
    // SAFETY: it came from `take`, and CUPTI gave it back.
    unsafe { buffers::give_back(buffer) };
}

/// The id of the name at an address of a record; 0 if there is none.
fn name_id(address: u64) -> u32 {
    if address == 0 {
        return 0;
    }
    // SAFETY: CUPTI's records have the address of a C string, which lives while the record is read.
    let name = unsafe { CStr::from_ptr(address as *const c_char) };
    NAMES.id(name.to_bytes(), preload::give_name)
}
