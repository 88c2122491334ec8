//! Processes on a device: this process, if it has a context there. Every other process has a different simulated
//! machine.

use crate::abi::{Out, answer, put_list};
use crate::device::Device;
use std::ffi::c_void;

/// The start of `Counts` in crates/driver/src/report.rs, which the simulated driver exports.
#[repr(C)]
struct Counts {
    len: u64,
    names: *const c_void,
    counts: *const c_void,
    hidden: *const c_void,
    in_use: extern "C" fn(i32) -> i64,
}

/// The bytes that this process uses on a device, if it has a context there.
pub fn in_use(ordinal: i32) -> Option<u64> {
    // SAFETY: the driver is held loaded while its symbol is used, and no other library has a symbol of this name.
    unsafe {
        let driver = libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if driver.is_null() {
            return None;
        }
        let counts = libc::dlsym(driver, c"CUTAP_SIM_COUNTS".as_ptr()).cast::<Counts>();
        let bytes = if counts.is_null() { -1 } else { ((*counts).in_use)(ordinal) };
        libc::dlclose(driver);
        u64::try_from(bytes).ok()
    }
}

/// nvmlProcessInfo_v1_t
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Old {
    pid: u32,
    memory: u64,
}

/// nvmlProcessInfo_t, without an instance of a divided GPU.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Process {
    pid: u32,
    memory: u64,
    instances: [u32; 2],
}

fn list<T: Copy>(device: Device, count: Out<u32>, array: Out<T>, of: impl Fn(u32, u64) -> T) -> u32 {
    answer(|| {
        let here = in_use(device.ordinal()?).map(|memory| of(std::process::id(), memory));
        put_list(array, count, here.as_slice())
    })
}

pub extern "C" fn nvmlDeviceGetComputeRunningProcesses_v3(d: Device, count: Out<u32>, array: Out<Process>) -> u32 {
    list(d, count, array, |pid, memory| Process { pid, memory, instances: [u32::MAX; 2] })
}

pub extern "C" fn nvmlDeviceGetComputeRunningProcesses_v2(d: Device, count: Out<u32>, array: Out<Process>) -> u32 {
    nvmlDeviceGetComputeRunningProcesses_v3(d, count, array)
}

pub extern "C" fn nvmlDeviceGetComputeRunningProcesses(d: Device, count: Out<u32>, array: Out<Old>) -> u32 {
    list(d, count, array, |pid, memory| Old { pid, memory })
}

/// No process draws or shares the device through MPS.
fn no_process(device: Device, count: Out<u32>) -> u32 {
    answer(|| device.ordinal().and_then(|_| put_list(count, count, &[])))
}

pub extern "C" fn nvmlDeviceGetGraphicsRunningProcesses(d: Device, count: Out<u32>) -> u32 {
    no_process(d, count)
}

pub extern "C" fn nvmlDeviceGetGraphicsRunningProcesses_v2(d: Device, count: Out<u32>) -> u32 {
    no_process(d, count)
}

pub extern "C" fn nvmlDeviceGetGraphicsRunningProcesses_v3(d: Device, count: Out<u32>) -> u32 {
    no_process(d, count)
}

pub extern "C" fn nvmlDeviceGetMPSComputeRunningProcesses(d: Device, count: Out<u32>) -> u32 {
    no_process(d, count)
}

pub extern "C" fn nvmlDeviceGetMPSComputeRunningProcesses_v2(d: Device, count: Out<u32>) -> u32 {
    no_process(d, count)
}

pub extern "C" fn nvmlDeviceGetMPSComputeRunningProcesses_v3(d: Device, count: Out<u32>) -> u32 {
    no_process(d, count)
}
