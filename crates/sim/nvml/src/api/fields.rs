//! Values by number, several in one call.

use crate::abi::{Out, answer};
use crate::device::Device;
use crate::fault::Fault;
use crate::generated::FIELDS;
use std::time::{SystemTime, UNIX_EPOCH};

/// nvmlFieldValue_t
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Value {
    field: u32,
    scope: u32,
    time: i64,
    latency: i64,
    kind: u32,
    result: u32,
    value: u64,
}

/// Each value has a separate result: INVALID_ARGUMENT for an unknown number.
pub extern "C" fn nvmlDeviceGetFieldValues(device: Device, count: i32, values: Out<Value>) -> u32 {
    answer(|| {
        device.ordinal()?;
        let count = usize::try_from(count).ok().filter(|count| *count > 0).ok_or(Fault::INVALID_ARGUMENT)?;
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_micros() as i64);
        for at in 0..count {
            let request = values.get_at(at)?;
            let row = FIELDS.binary_search_by_key(&request.field, |row| row.0).map(|at| FIELDS[at]);
            let (_, result, kind, value) = row.unwrap_or((request.field, Fault::INVALID_ARGUMENT.0, 0, 0));
            values.put_at(at, Value { time, latency: 0, kind, result, value, ..request })?;
        }
        Ok(())
    })
}
