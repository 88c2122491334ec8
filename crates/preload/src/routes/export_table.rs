//! cuGetExportTable. A runtime that asks for the callback table gets its own copy of it
//! (`instances`); everything else passes as it is, and the addresses of 6bd5fb6c and d4082055 must:
//! they are part of a keyed check between runtime and driver.

use super::instances;
use crate::loader::live;
use crate::slots::thunks_x86_64::Frame;
use crate::start;
use crate::thread::record;
use cutap_wire::{count, record::lookup};

/// After the call.
pub fn after(frame: &mut Frame) {
    let [pointer, uuid, ..] = frame.args;
    let [code, _] = frame.result;
    if pointer == 0 || uuid == 0 {
        return;
    }
    // SAFETY: the driver read sixteen bytes there.
    let uuid = unsafe { (uuid as *const [u8; 16]).read() };
    let mut table = 0;
    if code as u32 == 0 {
        // SAFETY: the driver wrote it.
        let place = unsafe { &mut *(pointer as *mut usize) };
        table = *place;
        if uuid == cutap_calls::CALLBACK_TABLE && table != 0 {
            *place = ours(table, frame.caller);
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
            start::gap_named(count::PROFILER_TABLE, o.name());
            instances::profiler_came();
            return None;
        }
        instances::table_for(o, table)
    });
    given.flatten().unwrap_or(table)
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
