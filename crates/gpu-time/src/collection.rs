//! The course of a collection: start, a flush each second, switches from outside, the end. It ends early when the
//! program begins to profile, because CUPTI has one receiver of records.

use crate::cupti::{self, Cupti};
use crate::find::{self, NotFound};
use crate::{clock, delivery, device_buffers, other_injection, preload, thread, turns};
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use cutap_calls::generated::gpu_time::{flush, kind, result, thread_id};
use cutap_calls::gpu_time::{driver_functions, is_known};
use cutap_wire::rows::{Row, RowContent, RowPlace, SIMULATED, State, reason, wanted};

/// How far the collection is.
mod stage {
    pub const NOT_STARTED: u32 = 0;
    pub const ON: u32 = 1;
    /// Switched off from outside.
    pub const OFF: u32 = 2;
    /// It will not begin, or has ended.
    pub const ENDED: u32 = 3;
}

static STAGE: AtomicU32 = AtomicU32::new(stage::NOT_STARTED);
/// The process that started the collection. A forked child has neither the thread nor rows.
static PROCESS: AtomicU32 = AtomicU32::new(0);
static VERSION: AtomicU32 = AtomicU32::new(0);
static DROPPED: AtomicU64 = AtomicU64::new(0);
/// Which ids of threads CUPTI's records had before.
static THREAD_IDS_BEFORE: AtomicU32 = AtomicU32::new(0);

fn is_own_process() -> bool {
    // SAFETY: a plain call.
    PROCESS.load(Ordering::Acquire) == unsafe { libc::getpid() } as u32
}

/// Starts the collection. Only the first call of a process has an effect.
pub fn start() {
    static STARTED: AtomicBool = AtomicBool::new(false);
    if STARTED.swap(true, Ordering::AcqRel) || !preload::find() {
        return;
    }
    // SAFETY: a plain call.
    PROCESS.store(unsafe { libc::getpid() } as u32, Ordering::Release);
    // Before ours: it may be a profiler, which has CUPTI then.
    other_injection::load();
    if let Err(reason) = begin() {
        STAGE.store(stage::ENDED, Ordering::Release);
        give_state(reason);
    }
}

/// The error is a reason of [`reason`].
fn begin() -> Result<(), u32> {
    if preload::wanted_state(Some(step_aside)) == wanted::BY_PROGRAM {
        return Err(reason::TAKEN);
    }
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
    // SAFETY: `start` comes here once.
    unsafe { cupti::publish(functions) };
    let cupti = cupti::published().ok_or(reason::NO_FUNCTIONS)?;
    turns::with(|| first_turn(cupti)).unwrap_or(Err(reason::REFUSED))?;
    // SAFETY: a function without arguments, in a library that is never unloaded.
    unsafe { libc::atexit(at_exit) };
    if thread::start(run) { Ok(()) } else { Err(reason::NO_THREAD) }
}

fn first_turn(cupti: &Cupti) -> Result<(), u32> {
    let state = preload::wanted_state(None);
    if state == wanted::BY_PROGRAM {
        return Err(reason::TAKEN);
    }
    accepted(cupti.register(delivery::on_request, delivery::on_complete))?;
    THREAD_IDS_BEFORE.store(cupti.thread_ids().unwrap_or(thread_id::DEFAULT), Ordering::Release);
    cupti.use_thread_ids(thread_id::SYSTEM);
    device_buffers::limit(cupti);
    clock::give_bracket(cupti);
    if state == wanted::NO {
        move_to(stage::OFF, reason::SWITCHED_OFF);
        return Ok(());
    }
    enable(cupti).inspect_err(|_| restore(cupti))?;
    move_to(stage::ON, reason::NONE);
    Ok(())
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

const KINDS: [u32; 3] = [kind::KERNEL, kind::COPY, kind::SET];

fn version() -> u32 {
    VERSION.load(Ordering::Acquire)
}

/// Enables all kinds. Where CUPTI cannot choose driver functions (before 12.6), all of them have records.
fn enable(cupti: &Cupti) -> Result<(), u32> {
    for kind in KINDS {
        accepted(cupti.enable(kind))?;
    }
    let chosen = driver_functions(version()).filter(|function| cupti.choose_driver_call(function.id, true)).count();
    if chosen > 0 { Ok(()) } else { accepted(cupti.enable(kind::DRIVER_CALL)) }
}

/// Disables what `enable` has enabled.
fn disable(cupti: &Cupti) {
    KINDS.into_iter().chain([kind::DRIVER_CALL]).for_each(|kind| cupti.disable(kind));
    for function in driver_functions(version()) {
        cupti.choose_driver_call(function.id, false);
    }
}

/// All is as it was before the collection, but for the functions for buffers.
fn restore(cupti: &Cupti) {
    disable(cupti);
    cupti.use_thread_ids(THREAD_IDS_BEFORE.load(Ordering::Acquire));
    device_buffers::restore(cupti);
}

fn move_to(stage: u32, reason: u32) {
    STAGE.store(stage, Ordering::Release);
    give_state(reason);
}

fn give_state(reason: u32) {
    let (dropped, unknown) = (DROPPED.load(Ordering::Relaxed), delivery::unknown());
    let state = State { version: version(), reason, dropped, unknown };
    let device = if find::is_simulated() { SIMULATED } else { 0 };
    let place = RowPlace { device, ..RowPlace::default() };
    preload::give(&Row { place, content: RowContent::State(state) });
}

/// The thread of this library.
extern "C" fn run(_: *mut c_void) -> *mut c_void {
    while STAGE.load(Ordering::Acquire) != stage::ENDED {
        thread::sleep_one_second();
        turns::with(each_second);
    }
    core::ptr::null_mut()
}

fn each_second() {
    let Some(cupti) = cupti::published() else { return };
    match (STAGE.load(Ordering::Acquire), preload::wanted_state(None)) {
        (stage::ON, wanted::NO) => {
            disable(cupti);
            ask_for_rows(cupti, 0);
            move_to(stage::OFF, reason::SWITCHED_OFF);
        }
        (stage::OFF, wanted::YES) => match enable(cupti) {
            Ok(()) => move_to(stage::ON, reason::NONE),
            Err(reason) => {
                restore(cupti);
                move_to(stage::ENDED, reason);
            }
        },
        (stage::ON, _) => ask_for_rows(cupti, 0),
        // Work that ran when the switch was turned.
        (stage::OFF, _) if delivery::is_outstanding() => ask_for_rows(cupti, 0),
        _ => {}
    }
}

/// Asks for records and reads the clock. A state row follows when more records are missing than before.
fn ask_for_rows(cupti: &Cupti, flag: u32) {
    let unknown_before = delivery::unknown();
    cupti.flush(flag);
    clock::give_bracket(cupti);
    let dropped = cupti.dropped();
    DROPPED.fetch_add(dropped, Ordering::Relaxed);
    if (dropped > 0 || delivery::unknown() != unknown_before) && STAGE.load(Ordering::Acquire) == stage::ON {
        give_state(reason::NONE);
    }
}

/// A forced flush hands out records of kernels that still run, so it is only right at the end.
extern "C" fn at_exit() {
    if is_own_process() {
        turns::with(|| {
            if let (stage::ON | stage::OFF, Some(cupti)) = (STAGE.load(Ordering::Acquire), cupti::published()) {
                ask_for_rows(cupti, flush::FORCED);
            }
        });
    }
}

/// The program is about to profile: all is as before the start when this returns. `needs_own_subscriber`: the call of
/// the program is one that CUPTI refuses where its global family was used.
unsafe extern "C" fn step_aside(needs_own_subscriber: u32) {
    if STAGE.load(Ordering::Acquire) == stage::ENDED || !is_own_process() {
        return;
    }
    // SAFETY: the program's thread has a place for errno.
    let errno = unsafe { *libc::__errno_location() };
    turns::with(|| {
        if let (stage @ (stage::ON | stage::OFF), Some(cupti)) = (STAGE.load(Ordering::Acquire), cupti::published()) {
            end_early(cupti, stage, needs_own_subscriber != 0);
        }
    });
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

fn end_early(cupti: &Cupti, stage: u32, needs_own_subscriber: bool) {
    if stage == stage::ON {
        disable(cupti);
    }
    ask_for_rows(cupti, 0);
    // CUPTI would hand the buffers of cutap to the program's functions, which must not free them.
    if delivery::is_outstanding() {
        ask_for_rows(cupti, flush::FORCED);
    }
    restore(cupti);
    if needs_own_subscriber {
        cupti.finalize();
    }
    move_to(stage::ENDED, reason::TAKEN_LATER);
}
