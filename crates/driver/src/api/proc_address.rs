//! cuGetProcAddress and cuGetExportTable. The answers and codes for a name, a version and flags are those of the real
//! drivers 535 to 555. For an unknown name the first form returns NOT_FOUND and does not write the output. The second
//! form returns success with NULL, and the reason in the optional status.

use crate::abi::{Answer, Fault, In, Out, Text, answer_always};
use crate::export::{Function, address};
use crate::generated::PROCS;
use crate::tables;
use cutap_machine::config;
use std::ffi::c_void;

/// Requests the per-thread forms.
const THREAD: u64 = 2;
const FOUND: u32 = 0;
const NO_SUCH_NAME: u32 = 1;
const VERSION_TOO_OLD: u32 = 2;

fn find(name: Text, version: u32, flags: u64) -> Answer<Result<Function, u32>> {
    let name = name.get()?.to_bytes();
    if flags > 3 {
        return Err(Fault::INVALID_VALUE);
    }
    let first = PROCS.partition_point(|p| p.base.as_bytes() < name);
    let all = PROCS[first..].iter().take_while(|p| p.base.as_bytes() == name).filter(|p| p.since <= config().driver);
    let newest = |thread| all.clone().filter(|p| p.thread == thread && p.since <= version).last();
    let has = |thread| all.clone().any(|p| p.thread == thread);
    let thread = flags & THREAD != 0 && has(true);
    Ok(match newest(thread) {
        Some(proc) => Ok(proc.function),
        None if has(thread) => Err(VERSION_TOO_OLD),
        None => Err(NO_SUCH_NAME),
    })
}

pub extern "C" fn cuGetProcAddress(name: Text, function_out: Out<*const c_void>, version: u32, flags: u64) -> u32 {
    answer_always(|| {
        function_out.check()?;
        match find(name, version, flags)? {
            Ok(function) => function_out.put(address(function)),
            Err(_) => Err(Fault::NOT_FOUND),
        }
    })
}

pub extern "C" fn cuGetProcAddress_v2(
    name: Text,
    function_out: Out<*const c_void>,
    version: u32,
    flags: u64,
    status: Out<u32>,
) -> u32 {
    answer_always(|| {
        function_out.check()?;
        let (function, reason) = match find(name, version, flags)? {
            Ok(function) => (address(function), FOUND),
            Err(reason) => (std::ptr::null(), reason),
        };
        status.put_if_wanted(reason);
        function_out.put(function)
    })
}

pub extern "C" fn cuGetExportTable(table: Out<*const c_void>, uuid: In<[u8; 16]>) -> u32 {
    answer_always(|| {
        let uuid = uuid.get()?;
        match tables::find(&uuid) {
            Some(address) => table.put(address),
            None => table.put(std::ptr::null()).and(Err(Fault::INVALID_VALUE)),
        }
    })
}
