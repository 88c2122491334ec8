//! What a runtime instance reports about itself: its version and names at its first call, a function's name and what is
//! known of it at the first call of that. It asks the instance's own tables and writes names; it never records a call.

use super::callback_record::{CallbackRecord, block_words, is_launch};
use super::instances::{self, Function, Instance, ListedName};
use crate::capture::call_stack;
use crate::loader::objects::{self, NAME, Object};
use crate::process::{armed, clock, names, page};
use crate::python;
use crate::ring::record;
use crate::slots::create::counts_chatter;
use crate::slots::{plan, rows, table};
use crate::sys;
use core::sync::atomic::Ordering::*;
use cutap_calls::Layer;
use cutap_wire::names::{Name, kind};

/// As a slot: nobody wants the function.
pub const UNWANTED: u32 = u32::MAX;

/// The name of the function that a record reports.
pub fn name_of<'a>(i: &Instance, id: u32, r: &CallbackRecord) -> &'a [u8] {
    let list = i.list.load(Acquire);
    // SAFETY: the instance's own table and string constants.
    unsafe {
        let listed = if !list.is_null() && id < i.listed.load(Relaxed) {
            (*list.add(id as usize)).name
        } else {
            core::ptr::null()
        };
        match sys::text(r.name, 256) {
            [] => sys::text(listed, 256),
            name => name,
        }
    }
}

/// Calls `f` with the name of the object that an instance lives in.
pub fn with_library<R>(i: &Instance, f: impl FnOnce(&[u8]) -> R) -> R {
    let object = i.object.load(Relaxed);
    let mut name = [0u8; NAME];
    let mut len = 0;
    objects::with(|s| {
        let object_name = s.objects().iter().find(|o| o.id == object).map_or(&[][..], Object::name);
        // The loader has no name for the program.
        let object_name = if object_name.is_empty() { page::file_name() } else { object_name };
        name.iter_mut().zip(object_name).for_each(|(to, from)| *to = *from);
        len = object_name.len().min(NAME);
    });
    f(name.get(..len).unwrap_or(&[]))
}

/// The number of a function that an instance reports for the first time, or [`UNWANTED`].
pub fn name(i: &Instance, f: &Function, n: u32, id: u32, r: &CallbackRecord) -> u32 {
    let text = name_of(i, id, r);
    f.usual.store(false, Relaxed);
    f.counts_here.store(false, Relaxed);
    if !with_library(i, |library| armed::is_selected_now(Layer::RUNTIME.number(), library, text)) {
        i.forget(id as usize);
        return UNWANTED;
    }
    let remembered = rows::find(text, true, i.version.load(Relaxed) / 1000);
    f.row.store(remembered, Relaxed);
    f.stack.store(
        with_library(i, |library| call_stack::captures_stack_of(Layer::RUNTIME.number(), library, text)),
        Relaxed,
    );
    let keeps_python = with_library(i, |library| python::keeps_frames_of(Layer::RUNTIME.number(), library, text));
    f.python.store(keeps_python, Relaxed);
    // An unknown function has as many words as `block_words` says.
    f.plan.store(if remembered == 0 { 0 } else { plan::of_row(remembered) }, Relaxed);
    // SAFETY: the runtime's string constant.
    let launch = is_launch(unsafe { sys::text(r.name, 64) });
    f.launch.store(launch, Relaxed);
    let words = plan::words(f.plan.load(Relaxed)).is_some();
    let chatter = counts_chatter(text) && !f.stack.load(Relaxed) && !keeps_python;
    f.chatter.store(chatter, Relaxed);
    // A shared runtime's function may have a slot, which counts.
    f.counts_here.store(chatter && i.linked.load(Relaxed), Relaxed);
    f.usual.store(words && !chatter && !keeps_python && i.linked.load(Relaxed) && clock::is_timestamp(), Relaxed);
    table::runtime_slot(n, id, block_words(remembered) as u8, text)
}

/// An instance tells its version and its names at its first call.
#[cold]
pub fn introduce(i: &Instance, n: u32, r: &CallbackRecord) {
    if i.introduced.compare_exchange(0, 1, AcqRel, Acquire).is_err() {
        return;
    }
    let mut version = 0u32;
    if let Some(get_export_table) = r.export_table {
        // The question goes through the driver's cuGetExportTable, which is a slot of ours; what a
        // signal handler calls meanwhile is the program's, so it waits.
        let signals = sys::block_signals();
        let mut thread_state = record::ready();
        if let Some(thread_state) = &mut thread_state {
            thread_state.inside = true;
        }
        // SAFETY: the instance's own cudaGetExportTable and the tables that it documents by its code.
        unsafe {
            let mut table: *const usize = core::ptr::null();
            if get_export_table(&mut table, &cutap_calls::RUNTIME_VERSION_TABLE) == 0 && !table.is_null() {
                core::mem::transmute::<usize, unsafe extern "C" fn(*mut u32) -> u32>(table.add(1).read())(&mut version);
            }
            let (mut count, mut list): (u32, *mut ListedName) = (0, core::ptr::null_mut());
            if get_export_table(&mut table, &cutap_calls::RUNTIME_NAMES_TABLE) == 0 && !table.is_null() {
                core::mem::transmute::<usize, unsafe extern "C" fn(*mut u32, *mut *mut ListedName) -> u32>(
                    table.add(1).read(),
                )(&mut count, &mut list);
            }
            i.listed.store(count, Relaxed);
            i.list.store(list, Release);
        }
        if let Some(thread_state) = &mut thread_state {
            thread_state.inside = false;
        }
        sys::restore_signals(signals);
    }
    i.version.store(version, Relaxed);
    let object = i.object.load(Relaxed);
    names::write(&Name {
        kind: kind::INSTANCE,
        ticks: 0,
        a: n.into(),
        b: object.into(),
        c: version.into(),
        s: &[],
        t: &[],
    });
    instances::started(i);
    i.introduced.store(2, Release);
}
