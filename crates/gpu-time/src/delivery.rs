//! Buffers for CUPTI, and the records that come back in them.

use crate::names::NameTable;
use crate::{buffers, cupti, preload, records};
use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use cutap_wire::rows::RowContent;

static NAMES: NameTable = NameTable::new();
static UNKNOWN: AtomicU64 = AtomicU64::new(0);
/// Buffers that CUPTI has.
static OUTSTANDING: AtomicI64 = AtomicI64::new(0);

/// Records of kinds that were not asked for.
pub fn unknown() -> u64 {
    UNKNOWN.load(Ordering::Relaxed)
}

/// Whether CUPTI has buffers of this library.
pub fn is_outstanding() -> bool {
    OUTSTANDING.load(Ordering::Acquire) > 0
}

pub extern "C" fn on_request(buffer: *mut *mut u8, size: *mut usize, most_records: *mut usize) {
    let memory = buffers::take();
    OUTSTANDING.fetch_add(i64::from(!memory.is_null()), Ordering::AcqRel);
    // SAFETY: CUPTI gives three places for outputs. Without memory it gets no buffer and drops records.
    unsafe {
        buffer.write(memory);
        size.write(if memory.is_null() { 0 } else { buffers::BYTES });
        most_records.write(0);
    }
}

pub extern "C" fn on_complete(_context: *mut c_void, _stream: u32, buffer: *mut u8, _size: usize, valid: usize) {
    if buffer.is_null() {
        return;
    }
    let valid = valid.min(buffers::BYTES);
    if let Some(cupti) = cupti::published() {
        let mut record = core::ptr::null_mut();
        // SAFETY: CUPTI delivered this buffer with so many bytes of records.
        while let Some(next) = unsafe { cupti.next(buffer, valid, record) } {
            record = next;
            let offset = (record as usize).wrapping_sub(buffer as usize);
            // SAFETY: the buffer has `valid` bytes, and the record is inside it.
            let bytes = unsafe { core::slice::from_raw_parts(record, valid.saturating_sub(offset)) };
            match records::row(bytes, name_id) {
                // Where all driver calls have records, those that submit nothing are of no use.
                Some(row) if matches!(row.content, RowContent::DriverCall { function, .. } if !submits(function)) => {}
                Some(row) => preload::give(&row),
                None => drop(UNKNOWN.fetch_add(1, Ordering::Relaxed)),
            }
        }
    }
    OUTSTANDING.fetch_sub(1, Ordering::AcqRel);
    // SAFETY: it came from `take`, and CUPTI gave it back.
    unsafe { buffers::give_back(buffer) };
}

/// Whether the driver function with this callback id submits work.
fn submits(function: u32) -> bool {
    use cutap_calls::generated::gpu_time::DRIVER_FUNCTIONS;
    DRIVER_FUNCTIONS.binary_search_by_key(&function, |of| of.id).is_ok()
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

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_calls::generated::gpu_time::function;

    #[test]
    fn functions_that_submit() {
        assert!(submits(function::cuLaunchKernel) && submits(function::cuGraphLaunch) && !submits(1));
    }
}
