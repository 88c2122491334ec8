//! Buffers of the program: they are requested, filled with whole records, and handed back.

use crate::collection::collection;
use crate::records;
use crate::settings::settings;
use cutap_calls::generated::gpu_time::result;
use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Outputs: the buffer, its bytes, and the most records that it may have (0: any number).
pub type Request = extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
/// Arguments: context, stream, buffer, its bytes, bytes of the records in it.
pub type Complete = extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);

static REQUEST: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
static COMPLETE: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// There is one pair of callbacks: the last one counts.
pub fn register(request: Request, complete: Complete) {
    REQUEST.store(request as *mut c_void, Ordering::Release);
    COMPLETE.store(complete as *mut c_void, Ordering::Release);
}

/// There are no callbacks any more.
pub fn forget() {
    REQUEST.store(std::ptr::null_mut(), Ordering::Release);
    COMPLETE.store(std::ptr::null_mut(), Ordering::Release);
}

fn callbacks() -> Option<(Request, Complete)> {
    let (request, complete) = (REQUEST.load(Ordering::Acquire), COMPLETE.load(Ordering::Acquire));
    if request.is_null() || complete.is_null() {
        return None;
    }
    // SAFETY: only `register` writes these words, and it writes functions of these types.
    unsafe {
        let request = std::mem::transmute::<*mut c_void, Request>(request);
        Some((request, std::mem::transmute::<*mut c_void, Complete>(complete)))
    }
}

/// Hands out the records that are complete. No lock is held while the program's functions run.
pub fn flush(forced: bool) -> u32 {
    let Some((request, complete)) = callbacks() else { return result::INVALID_PARAMETER };
    let mut records = collection().take(forced);
    while !records.is_empty() {
        let (mut buffer, mut size, mut most) = (std::ptr::null_mut::<u8>(), 0, 0);
        request(&mut buffer, &mut size, &mut most);
        let mut valid = 0;
        let mut count = 0;
        while let Some(record) = records.front()
            && !buffer.is_null()
            && record.len() <= size - valid
            && (most == 0 || count < most)
        {
            // SAFETY: the program gave so many bytes, and the record fits behind the last one.
            unsafe { std::ptr::copy_nonoverlapping(record.as_ptr(), buffer.add(valid), record.len()) };
            valid += record.len();
            count += 1;
            records.pop_front();
        }
        if !buffer.is_null() {
            complete(std::ptr::null_mut(), 0, buffer, size, valid);
        }
        if count == 0 {
            collection().dropped += records.len() as u64;
            break;
        }
    }
    0
}

/// The record behind another one, or the first one.
///
/// # Safety
/// `buffer` has `valid` bytes of records, and `record` is NULL or one of them.
pub unsafe fn next(buffer: *mut u8, valid: usize, record: *mut u8) -> Result<*mut u8, u32> {
    let offset = if record.is_null() {
        0
    } else {
        // SAFETY: as promised, a record, which begins with its kind.
        let kind = unsafe { record.cast::<u32>().read_unaligned() };
        let size = records::size(settings().version, kind).ok_or(result::INVALID_KIND)?;
        (record as usize).wrapping_sub(buffer as usize).saturating_add(size)
    };
    if offset >= valid { Err(result::MAX_LIMIT_REACHED) } else { Ok(buffer.wrapping_add(offset)) }
}
