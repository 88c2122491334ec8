//! cuGetExportTable. A runtime that asks for the callback table gets its own copy of it
//! (`instances`); every other address passes unchanged. Those of 6bd5fb6c and d4082055 must:
//! they are part of a keyed check between runtime and driver. Words of tables are replaced in place where the layer
//! hidden is asked for (`hidden`), and those of 6bd5fb6c under --dump-modules.

use super::hidden::{self, NVML, Why, is_on};
use crate::loader::objects::Object;
use crate::loader::{announce, live};
use crate::process::copy::{checked, program_words};
use crate::process::{names, page, run, switch};
use crate::ring::record;
use crate::runtime::{instances, suppress};
use crate::slots::frame::Frame;
use crate::slots::interceptors::IMAGES;
use crate::slots::{create, table};
use crate::sys;
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering::*};
use cutap_calls::hidden::{SlotName, Table, Treatment, table};
use cutap_wire::record::lookup;
use cutap_wire::{PAGE, control, diagnostic};

/// That returned: its tables are of the layer hidden alone.
fn of_nvml(frame: &Frame) {
    let [pointer, uuid, ..] = frame.args;
    let [code, _] = frame.result;
    if code as u32 == 0
        && is_on()
        && let (Some([table]), Some(words)) = (program_words(pointer as usize), program_words::<2>(uuid as usize))
        && table != 0
    {
        came(frame, &uuid_of(words), table as usize, false);
    }
}

fn uuid_of(words: [u64; 2]) -> [u8; 16] {
    let mut uuid = [0u8; 16];
    for (to, byte) in uuid.iter_mut().zip(words.into_iter().flat_map(u64::to_le_bytes)) {
        *to = byte;
    }
    uuid
}

/// Words that are looked at together.
const TOGETHER: usize = 64;

/// After the call.
pub fn after(frame: &mut Frame) {
    if table::name_of(frame.slot) == NVML {
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
        suppress::disable();
        instances::profiler_came();
    }
    let mut table = 0;
    if code as u32 == 0
        && let Some([returned]) = program_words(pointer as usize)
    {
        table = returned as usize;
        // SAFETY: the driver wrote it.
        let place = unsafe { &mut *(pointer as *mut usize) };
        if uuid == cutap_calls::CALLBACK_TABLE && table != 0 {
            *place = ours(table, frame.caller);
        }
        if table != 0 && is_on() {
            came(frame, &uuid, table, profiler || uuid == cutap_calls::PROFILER_TABLE);
        }
        if uuid == cutap_calls::CUDART_TABLE && table != 0 && run::flags() & control::DUMP_MODULES != 0 {
            watch_images(table);
        }
    }
    if switch::lookups() {
        let mut text = [0u8; 36];
        write_uuid(&uuid, &mut text);
        record::lookup(lookup::GET_EXPORT_TABLE, frame.caller, 0, 0, &table::answer(table), code & 0xffff_ffff, &text);
    }
}

/// The function of `frame`'s slot has returned this table. `profiler`: to one.
fn came(frame: &Frame, uuid: &[u8; 16], at: usize, profiler: bool) {
    // The names of those that request tables are known before their calls are.
    live::at(frame.caller, announce::announce_if_made);
    let description = table(uuid);
    let why = match description.map(|t| t.treatment) {
        Some(Treatment::Runtime) => return,
        Some(Treatment::Left) => Err(Why::Check),
        // Its words are slots already, so a profiler's calls pass through them.
        _ if profiler && hidden::is_known_at(at) => return,
        _ if profiler => Err(Why::Profiler),
        _ => live::at(table::function_of(frame.slot), |owner| {
            // SAFETY: in the loader's callback: the owner is mapped.
            unsafe { wrap(owner, uuid, at, description, hidden::is_known_at(at)) }
        })
        .unwrap_or(Err(Why::NoOwner)),
    };
    match why {
        Ok(()) => hidden::remember(at),
        Err(why) if hidden::first(uuid, why) => {
            page::count(diagnostic::HIDDEN_TABLE_LEFT, 1);
            let name = SlotName::new(uuid, 0);
            names::gap(diagnostic::HIDDEN_TABLE_LEFT, name.bytes().get(..8).unwrap_or(&[]), why.text());
        }
        Err(_) => {}
    }
}

/// Exchanges the words of a table. `before`: that was done before, so another tool may have taken words since.
///
/// # Safety
/// The owner is mapped.
unsafe fn wrap(owner: &Object, uuid: &[u8; 16], at: usize, known: Option<&Table>, before: bool) -> Result<(), Why> {
    let mut first = 0usize;
    // SAFETY: a local word.
    let read = unsafe { checked(at, (&raw mut first).cast(), 8) } == 8;
    // A slot is a function too: the first word of a table without a size.
    let first = read.then(|| table::real_of(first).unwrap_or(first));
    let words = hidden::words(at, owner.span, owner.text, known, first)?;
    let mut whole = Ok(());
    each(at, &words, |_, word| {
        if word != 0 && !table::is_thunk(word) && !owner.has_code(word) {
            whole = Err(Why::Foreign);
        }
    })
    .ok_or(Why::Outside)?;
    match whole {
        Err(_) if before => return Ok(()),
        whole => whole?,
    }
    let mut writable = false;
    each(at, &words, |n, word| {
        if word == 0 || table::is_thunk(word) || whole.is_err() {
            return;
        }
        let Some(thunk) = create::for_word(at + n * 8, word, owner, SlotName::new(uuid, n as u32).bytes()) else {
            return;
        };
        if !writable {
            let (from, to) = ((at + words.start * 8) & !(PAGE - 1), (at + words.end * 8).next_multiple_of(PAGE));
            // SAFETY: adds a right to pages of the owner's data. They stay writable: another thread may be here too.
            writable = unsafe { sys::protect(from, to - from, sys::PROT_READ | sys::PROT_WRITE) };
            if !writable {
                whole = Err(Why::Protected);
            }
        }
        if writable {
            // SAFETY: an aligned word of a writable page.
            let place = unsafe { &*((at + n * 8) as *const AtomicUsize) };
            let _ = place.compare_exchange(word, thunk, AcqRel, Relaxed);
        }
    })
    .ok_or(Why::Outside)?;
    whole
}

/// Calls `f` with the number and the value of each word. `None`: not all can be read.
fn each(at: usize, words: &Range<usize>, mut f: impl FnMut(usize, usize)) -> Option<()> {
    let mut from = words.start;
    while from < words.end {
        let mut some = [0usize; TOGETHER];
        let count = (words.end - from).min(TOGETHER);
        // SAFETY: a local buffer.
        if unsafe { checked(at + from * 8, some.as_mut_ptr().cast(), count * 8) } != count * 8 {
            return None;
        }
        some.iter().take(count).enumerate().for_each(|(n, word)| f(from + n, *word));
        from += count;
    }
    Some(())
}

fn ours(table: usize, caller: usize) -> usize {
    let own_table = live::at(caller, |o| {
        if o.profiler {
            names::gap_named(diagnostic::PROFILER_TABLE, o.name());
            return None;
        }
        instances::table_for(o, table)
    });
    own_table.flatten().unwrap_or(table)
}

/// Runtimes before 12 load their fat binaries through slots of 6bd5fb6c. The table's address is part of
/// the keyed check, its words are not: they are replaced in place, once.
fn watch_images(table: usize) {
    // SAFETY: the table's first word is its size in bytes.
    let words = unsafe { (table as *const usize).read() } / 8;
    for (n, interceptor) in IMAGES.into_iter().filter(|s| s.0 < words) {
        // SAFETY: a word of the table.
        let word = unsafe { &*(table as *const AtomicUsize).add(n) };
        let real = word.load(Acquire);
        let page = &raw const *word as usize & !(PAGE - 1);
        if real == 0 || table::is_thunk(real) {
            continue;
        }
        // SAFETY: adds a right to a page of the driver's data.
        if !unsafe { sys::protect(page, PAGE, sys::PROT_READ | sys::PROT_WRITE) } {
            return page::count(diagnostic::WORD_PROTECTED, 1);
        }
        if let Some(thunk) = create::for_interceptors(real, interceptor) {
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
