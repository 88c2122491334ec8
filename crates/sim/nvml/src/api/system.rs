//! Start and end, versions, names of results.

use crate::abi::{Out, answer, answer_always, put_text};
use crate::clock_faults;
use crate::fault::{Answer, Fault};
use crate::lifecycle;
use cutap_machine::config;
use std::ffi::{CStr, c_char};

pub extern "C" fn nvmlInit() -> u32 {
    answer_always(|| clock_faults::start().map(|()| lifecycle::start()))
}

pub extern "C" fn nvmlInit_v2() -> u32 {
    nvmlInit()
}

pub extern "C" fn nvmlInitWithFlags(_flags: u32) -> u32 {
    nvmlInit()
}

pub extern "C" fn nvmlShutdown() -> u32 {
    answer_always(lifecycle::end)
}

/// A driver version for each CUDA version. The newest one also serves later CUDA versions.
const DRIVERS: [(u32, &str); 8] = [
    (11_040, "470.256.02"),
    (11_070, "515.105.01"),
    (11_080, "520.61.05"),
    (12_020, "535.261.03"),
    (12_040, "550.163.01"),
    (12_050, "555.58.02"),
    (12_080, "570.172.08"),
    (13_000, "580.159.04"),
];

fn driver() -> &'static str {
    DRIVERS.iter().rev().find(|(cuda, _)| *cuda <= config().driver).unwrap_or(&DRIVERS[0]).1
}

pub extern "C" fn nvmlSystemGetDriverVersion(text: Out<u8>, size: u32) -> u32 {
    answer(|| put_text(text, size, driver().as_bytes()))
}

/// Works before nvmlInit.
pub extern "C" fn nvmlSystemGetNVMLVersion(text: Out<u8>, size: u32) -> u32 {
    let version = format!("{}.{}", config().driver / 1000, driver());
    answer_always(|| put_text(text, size, version.as_bytes()))
}

pub extern "C" fn nvmlDeviceGetGspFirmwareVersion(device: crate::device::Device, text: Out<u8>) -> u32 {
    answer(|| device.ordinal().and_then(|_| put_text(text, u32::MAX, driver().as_bytes())))
}

pub extern "C" fn nvmlSystemGetCudaDriverVersion(version: Out<i32>) -> u32 {
    answer(|| version.put(config().driver as i32))
}

pub extern "C" fn nvmlSystemGetCudaDriverVersion_v2(version: Out<i32>) -> u32 {
    nvmlSystemGetCudaDriverVersion(version)
}

pub extern "C" fn nvmlSystemGetProcessName(pid: u32, text: Out<u8>, size: u32) -> u32 {
    answer(|| {
        let path = std::fs::read_link(format!("/proc/{pid}/exe")).map_err(|_| Fault::NOT_FOUND)?;
        let path = path.to_string_lossy();
        let room = (size as usize).saturating_sub(1).min(path.len());
        put_text(text, size, &path.as_bytes()[..room])
    })
}

fn none(count: Out<u32>) -> Answer {
    count.put(0)
}

pub extern "C" fn nvmlUnitGetCount(count: Out<u32>) -> u32 {
    answer(|| none(count))
}

pub extern "C" fn nvmlGetExcludedDeviceCount(count: Out<u32>) -> u32 {
    answer(|| none(count))
}

/// The texts of the real library.
static RESULTS: [&CStr; 31] = [
    c"Success",
    c"Uninitialized",
    c"Invalid Argument",
    c"Not Supported",
    c"Insufficient Permissions",
    c"Already Initialized",
    c"Not Found",
    c"Insufficient Size",
    c"Insufficient External Power",
    c"Driver Not Loaded",
    c"Timeout",
    c"Interrupt Request Issue",
    c"NVML Shared Library Not Found",
    c"Function Not Found",
    c"Corrupted infoROM",
    c"GPU is lost",
    c"GPU requires reset",
    c"GPU access blocked by the operating system",
    c"Driver/library version mismatch",
    c"In use by another client",
    c"Insufficient Memory",
    c"No data",
    c"vGPU ECC not supported",
    c"Insufficient Resources",
    c"Invalid Frequency",
    c"Argument version mismatch",
    c"Requested functionality has been deprecated",
    c"System is not in ready state",
    c"No supported GPUs were found",
    c"Resource not in correct state to perform requested operation",
    c"Reset type is not supported for given device",
];

pub extern "C" fn nvmlErrorString(result: u32) -> *const c_char {
    RESULTS.get(result as usize).copied().unwrap_or(c"Unknown Error").as_ptr()
}
