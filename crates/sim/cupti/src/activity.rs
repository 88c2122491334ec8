//! The exports of the activity API.

use crate::buffers::{self, Complete, Request};
use crate::collection::{collection, listen, now};
use crate::settings::settings;
use crate::subscribers::use_global_family;
use cutap_calls::generated::gpu_time::{flush, kind, result, thread_id};
use std::ffi::{CStr, c_char, c_void};

const SUCCESS: u32 = 0;

/// Writes an output. INVALID_PARAMETER for NULL.
fn put<T>(out: *mut T, value: T) -> u32 {
    if out.is_null() {
        return result::INVALID_PARAMETER;
    }
    // SAFETY: not NULL, and by the prototype there is room for one value.
    unsafe { out.write(value) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuptiGetVersion(version: *mut u32) -> u32 {
    put(version, settings().version.number)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuptiGetTimestamp(timestamp: *mut u64) -> u32 {
    put(timestamp, now())
}

#[unsafe(no_mangle)]
pub extern "C" fn cuptiActivityRegisterCallbacks(request: Option<Request>, complete: Option<Complete>) -> u32 {
    let (Some(request), Some(complete)) = (request, complete) else { return result::INVALID_PARAMETER };
    use_global_family();
    buffers::register(request, complete);
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuptiActivityEnable(of: u32) -> u32 {
    if !matches!(of, kind::KERNEL | kind::COPY | kind::SET | kind::DRIVER_CALL) {
        return result::INVALID_KIND;
    }
    if settings().faults.refuse {
        return result::INSUFFICIENT_PRIVILEGES;
    }
    use_global_family();
    collection().kinds.insert(of);
    listen();
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuptiActivityDisable(of: u32) -> u32 {
    collection().kinds.remove(&of);
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuptiActivityEnableDriverApi(function: u32, enable: u8) -> u32 {
    if !settings().version.driver_filter {
        return result::NOT_SUPPORTED;
    }
    if settings().faults.refuse {
        return result::INSUFFICIENT_PRIVILEGES;
    }
    if enable == 0 {
        collection().functions.remove(&function);
    } else {
        collection().functions.insert(function);
        listen();
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuptiActivityFlushAll(flag: u32) -> u32 {
    buffers::flush(flag & flush::FORCED != 0)
}

/// Records are handed out by flushes alone, so a period has no effect.
#[unsafe(no_mangle)]
pub extern "C" fn cuptiActivityFlushPeriod(_milliseconds: u32) -> u32 {
    SUCCESS
}

/// # Safety
/// By the prototype `buffer` has `valid` bytes of records, and `record` leads to NULL or to one of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiActivityGetNextRecord(buffer: *mut u8, valid: usize, record: *mut *mut u8) -> u32 {
    if buffer.is_null() || record.is_null() {
        return result::INVALID_PARAMETER;
    }
    // SAFETY: as promised.
    match unsafe { buffers::next(buffer, valid, record.read()) } {
        Ok(next) => put(record, next),
        Err(result) => result,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuptiActivityGetNumDroppedRecords(_context: *mut c_void, _stream: u32, dropped: *mut usize) -> u32 {
    let count = std::mem::take(&mut collection().dropped);
    put(dropped, count as usize)
}

/// # Safety
/// By the prototype `size` leads to the bytes at `value`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiActivitySetAttribute(attribute: u32, size: *mut usize, value: *mut u8) -> u32 {
    if size.is_null() || value.is_null() {
        return result::INVALID_PARAMETER;
    }
    // SAFETY: as promised.
    let bytes = unsafe { std::slice::from_raw_parts(value, size.read()) };
    collection().attributes.insert(attribute, bytes.to_vec());
    SUCCESS
}

/// An attribute that was never set is 0.
///
/// # Safety
/// By the prototype `size` leads to the bytes at `value`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiActivityGetAttribute(attribute: u32, size: *mut usize, value: *mut u8) -> u32 {
    if size.is_null() || value.is_null() {
        return result::INVALID_PARAMETER;
    }
    // SAFETY: as promised.
    let bytes = unsafe { std::slice::from_raw_parts_mut(value, size.read()) };
    let collection = collection();
    let stored = collection.attributes.get(&attribute).map_or(&[][..], Vec::as_slice);
    bytes.fill(0);
    bytes.iter_mut().zip(stored).for_each(|(to, byte)| *to = *byte);
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuptiSetThreadIdType(of: u32) -> u32 {
    if of > thread_id::SYSTEM {
        return result::INVALID_PARAMETER;
    }
    collection().thread_ids = of;
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuptiGetThreadIdType(of: *mut u32) -> u32 {
    put(of, collection().thread_ids)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuptiGetResultString(of: u32, text: *mut *const c_char) -> u32 {
    let result_text: &CStr = match of {
        SUCCESS => c"CUPTI_SUCCESS",
        result::INVALID_PARAMETER => c"CUPTI_ERROR_INVALID_PARAMETER",
        result::MAX_LIMIT_REACHED => c"CUPTI_ERROR_MAX_LIMIT_REACHED",
        result::INVALID_KIND => c"CUPTI_ERROR_INVALID_KIND",
        result::NOT_SUPPORTED => c"CUPTI_ERROR_NOT_SUPPORTED",
        result::INSUFFICIENT_PRIVILEGES => c"CUPTI_ERROR_INSUFFICIENT_PRIVILEGES",
        result::UNKNOWN => c"CUPTI_ERROR_UNKNOWN",
        _ => return result::INVALID_PARAMETER,
    };
    put(text, result_text.as_ptr())
}
