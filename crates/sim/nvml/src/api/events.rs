//! Events: a program can wait for them, and they never happen.

use crate::abi::{Out, answer};
use crate::device::Device;
use crate::fault::Fault;
use cutap_machine::PerProcess;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The existing handles, and the last one that was made.
type Sets = (BTreeSet<u64>, u64);

fn sets() -> MutexGuard<'static, Sets> {
    static SETS: PerProcess<Mutex<Sets>> = PerProcess::empty();
    SETS.get(|| Mutex::new((BTreeSet::new(), 0x1000))).lock().unwrap_or_else(PoisonError::into_inner)
}

fn require_set(set: u64) -> Result<(), Fault> {
    if sets().0.contains(&set) { Ok(()) } else { Err(Fault::INVALID_ARGUMENT) }
}

pub extern "C" fn nvmlEventSetCreate(set: Out<u64>) -> u32 {
    answer(|| {
        if set.is_null() {
            return Err(Fault::INVALID_ARGUMENT);
        }
        let mut sets = sets();
        sets.1 += 0x10;
        let handle = sets.1;
        sets.0.insert(handle);
        set.put(handle)
    })
}

pub extern "C" fn nvmlEventSetFree(set: u64) -> u32 {
    answer(|| if sets().0.remove(&set) { Ok(()) } else { Err(Fault::INVALID_ARGUMENT) })
}

pub extern "C" fn nvmlDeviceRegisterEvents(device: Device, _kinds: u64, set: u64) -> u32 {
    answer(|| device.ordinal().and_then(|_| require_set(set)))
}

/// Returns TIMEOUT after the timeout.
pub extern "C" fn nvmlEventSetWait_v2(set: u64, data: Out<u64>, milliseconds: u32) -> u32 {
    answer(|| {
        require_set(set)?;
        if data.is_null() {
            return Err(Fault::INVALID_ARGUMENT);
        }
        std::thread::sleep(Duration::from_millis(milliseconds.into()));
        Err(Fault::TIMEOUT)
    })
}

pub extern "C" fn nvmlEventSetWait(set: u64, data: Out<u64>, milliseconds: u32) -> u32 {
    nvmlEventSetWait_v2(set, data, milliseconds)
}
