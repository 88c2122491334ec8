//! cuGetExportTable. A runtime that asks for the callback table gets its own copy of it
//! (`instances`); everything else passes as it is, and the addresses of 6bd5fb6c and d4082055 must:
//! they are part of a keyed check between runtime and driver. Words of tables are replaced in place where the layer
//! hidden is asked for (`hidden`), and those of 6bd5fb6c under --dump-modules.

use super::{hidden, instances};
use crate::capture::copy::program_words;
use crate::loader::live;
use crate::slots::thunks_x86_64::Frame;
use crate::slots::{self, hooks};
use crate::thread::record;
use crate::{start, sys};
use core::sync::atomic::{AtomicUsize, Ordering::*};
use cutap_calls::hidden::SlotName;
use cutap_calls::{Role, function_with};
use cutap_wire::{PAGE, control, diagnostic, record::lookup};

/// The function of NVML that returns its export tables.
pub const NVML: &[u8] = function_with(Role::NvmlExportTable).as_bytes();

/// That returned: its tables are of the layer hidden alone.
fn of_nvml(frame: &Frame) {
    let [pointer, uuid, ..] = frame.args;
    let [code, _] = frame.result;
    if code as u32 == 0
        && hidden::is_on()
        && let (Some([table]), Some(words)) = (program_words(pointer as usize), program_words::<2>(uuid as usize))
        && table != 0
    {
        hidden::came(frame, &uuid_of(words), table as usize, false);
    }
}

fn uuid_of(words: [u64; 2]) -> [u8; 16] {
    let mut uuid = [0u8; 16];
    for (to, byte) in uuid.iter_mut().zip(words.into_iter().flat_map(u64::to_le_bytes)) {
        *to = byte;
    }
    uuid
}

/// After the call.
pub fn after(frame: &mut Frame) {
    if slots::name_of(frame.slot) == NVML {
        return of_nvml(frame);
    }
    let [pointer, uuid, ..] = frame.args;
    let [code, _] = frame.result;
    // A driver that refused the call may have read and written nothing, and so has one whose call a hook answered.
    let Some(words) = program_words::<2>(uuid as usize).filter(|_| pointer != 0) else { return };
    let uuid = uuid_of(words);
    // CUPTI switches the driver's flags by its own table; copies of it are linked into other profilers.
    let profiler = live::at(frame.caller, |o| o.profiler) == Some(true);
    if profiler || uuid == cutap_calls::PROFILER_TABLE {
        instances::profiler_came();
    }
    let mut table = 0;
    if code as u32 == 0
        && let Some([given]) = program_words(pointer as usize)
    {
        table = given as usize;
        // SAFETY: the driver wrote it.
        let place = unsafe { &mut *(pointer as *mut usize) };
        if uuid == cutap_calls::CALLBACK_TABLE && table != 0 {
            *place = ours(table, frame.caller);
        }
        if table != 0 && hidden::is_on() {
            hidden::came(frame, &uuid, table, profiler || uuid == cutap_calls::PROFILER_TABLE);
        }
        if uuid == cutap_calls::CUDART_TABLE && table != 0 && start::flags() & control::DUMP_MODULES != 0 {
            watch_images(table);
        }
    }
    if start::lookups() {
        let mut text = [0u8; 36];
        write_uuid(&uuid, &mut text);
        record::lookup(lookup::GET_EXPORT_TABLE, frame.caller, 0, 0, table, code & 0xffff_ffff, &text);
    }
}

fn ours(table: usize, caller: usize) -> usize {
    let given = live::at(caller, |o| {
        if o.profiler {
            start::gap_named(diagnostic::PROFILER_TABLE, o.name());
            return None;
        }
        instances::table_for(o, table)
    });
    given.flatten().unwrap_or(table)
}

/// Slots that take an image, and the hook that finds it among the arguments.
const IMAGES: [(usize, u32); 3] = [(1, hooks::IMAGE), (6, hooks::IMAGE), (8, hooks::IMAGE_FIRST)];

/// That hook of a slot that is recorded too.
pub fn keeps_image(name: &[u8]) -> u32 {
    if start::flags() & control::DUMP_MODULES == 0 {
        return 0;
    }
    let is = |n: usize| SlotName::new(&cutap_calls::CUDART_TABLE, n as u32).bytes() == name;
    IMAGES.into_iter().find(|(n, _)| is(*n)).map_or(0, |(_, hook)| hook)
}

/// Runtimes before 12 load their fat binaries through slots of 6bd5fb6c. The table's address is part of
/// the keyed check, its words are not: they are replaced in place, once.
fn watch_images(table: usize) {
    // SAFETY: the table's first word is its size in bytes.
    let words = unsafe { (table as *const usize).read() } / 8;
    for (n, hook) in IMAGES.into_iter().filter(|s| s.0 < words) {
        // SAFETY: a word of the table.
        let word = unsafe { &*(table as *const AtomicUsize).add(n) };
        let real = word.load(Acquire);
        let page = &raw const *word as usize & !(PAGE - 1);
        if real == 0 || slots::is_thunk(real) {
            continue;
        }
        // SAFETY: adds a right to a page of the driver's data.
        if !unsafe { sys::protect(page, PAGE, sys::PROT_READ | sys::PROT_WRITE) } {
            return start::count(diagnostic::WORD_PROTECTED, 1);
        }
        if let Some(thunk) = slots::for_hooks(real, hook) {
            let _ = word.compare_exchange(real, thunk, AcqRel, Relaxed);
        }
    }
}

fn write_uuid(uuid: &[u8; 16], text: &mut [u8; 36]) {
    let mut to = text.iter_mut();
    for (n, byte) in uuid.iter().enumerate() {
        if matches!(n, 4 | 6 | 8 | 10)
            && let Some(c) = to.next()
        {
            *c = b'-';
        }
        for digit in [byte >> 4, byte & 15] {
            if let Some(c) = to.next() {
                *c = if digit < 10 { b'0' + digit } else { b'a' + digit - 10 };
            }
        }
    }
}
