//! Devices by number, uuid, PCI address and serial number, and these properties of a device.

use crate::abi::{Out, Text, answer, put_text};
use crate::device::{Device, all, bus_text, serial, uuid_text};
use crate::fault::{Answer, Fault};
use cutap_machine::{NAME, config, pci};

pub extern "C" fn nvmlDeviceGetCount_v2(count: Out<u32>) -> u32 {
    answer(|| count.put(config().devices as u32))
}

pub extern "C" fn nvmlDeviceGetCount(count: Out<u32>) -> u32 {
    nvmlDeviceGetCount_v2(count)
}

pub extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: u32, device: Out<Device>) -> u32 {
    answer(|| device.put(Device::new(i32::try_from(index).unwrap_or(-1))?))
}

pub extern "C" fn nvmlDeviceGetHandleByIndex(index: u32, device: Out<Device>) -> u32 {
    nvmlDeviceGetHandleByIndex_v2(index, device)
}

fn find(device: Out<Device>, is: impl Fn(i32) -> bool) -> Answer {
    let ordinal = all().find(|ordinal| is(*ordinal)).ok_or(Fault::NOT_FOUND)?;
    device.put(Device::new(ordinal)?)
}

pub extern "C" fn nvmlDeviceGetHandleByUUID(uuid: Text, device: Out<Device>) -> u32 {
    answer(|| {
        let uuid = uuid.get()?;
        find(device, |ordinal| uuid_text(ordinal) == uuid)
    })
}

pub extern "C" fn nvmlDeviceGetHandleBySerial(number: Text, device: Out<Device>) -> u32 {
    answer(|| {
        let number = number.get()?;
        find(device, |ordinal| serial(ordinal) == number)
    })
}

/// Domain, bus, device and function in hexadecimal digits. The domain is optional.
fn place(text: &str) -> Option<[i32; 3]> {
    let number = |text: &str| i32::from_str_radix(text, 16).ok();
    let (bus, slot) = text.rsplit_once(':')?;
    let (domain, bus) = bus.split_once(':').unwrap_or(("0", bus));
    Some([number(domain)?, number(bus)?, number(slot.split_once('.').map_or(slot, |(slot, _)| slot))?])
}

pub extern "C" fn nvmlDeviceGetHandleByPciBusId_v2(text: Text, device: Out<Device>) -> u32 {
    answer(|| {
        let address = place(text.get()?).ok_or(Fault::INVALID_ARGUMENT)?;
        find(device, |ordinal| pci(ordinal) == address)
    })
}

pub extern "C" fn nvmlDeviceGetHandleByPciBusId(text: Text, device: Out<Device>) -> u32 {
    nvmlDeviceGetHandleByPciBusId_v2(text, device)
}

/// Writes a text about a device.
fn put_device_text(device: Device, buffer: Out<u8>, size: u32, text: impl FnOnce(i32) -> String) -> u32 {
    answer(|| device.ordinal().and_then(|ordinal| put_text(buffer, size, text(ordinal).as_bytes())))
}

pub extern "C" fn nvmlDeviceGetName(device: Device, text: Out<u8>, size: u32) -> u32 {
    put_device_text(device, text, size, |_| NAME.to_string_lossy().into_owned())
}

pub extern "C" fn nvmlDeviceGetUUID(device: Device, text: Out<u8>, size: u32) -> u32 {
    put_device_text(device, text, size, uuid_text)
}

pub extern "C" fn nvmlDeviceGetSerial(device: Device, text: Out<u8>, size: u32) -> u32 {
    put_device_text(device, text, size, serial)
}

/// Writes a number about a device.
fn put_device_number(device: Device, number: Out<u32>, property: impl FnOnce(i32) -> u32) -> u32 {
    answer(|| device.ordinal().and_then(|ordinal| number.put(property(ordinal))))
}

pub extern "C" fn nvmlDeviceGetIndex(device: Device, index: Out<u32>) -> u32 {
    put_device_number(device, index, |ordinal| ordinal as u32)
}

pub extern "C" fn nvmlDeviceGetMinorNumber(device: Device, minor: Out<u32>) -> u32 {
    put_device_number(device, minor, |ordinal| ordinal as u32)
}

pub extern "C" fn nvmlDeviceGetBoardId(device: Device, board: Out<u32>) -> u32 {
    put_device_number(device, board, |ordinal| pci(ordinal)[1] as u32)
}

pub extern "C" fn nvmlDeviceGetModuleId(device: Device, module: Out<u32>) -> u32 {
    put_device_number(device, module, |ordinal| ordinal as u32 + 1)
}

/// nvmlPciInfo_t
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Pci {
    legacy: [u8; 16],
    domain: u32,
    bus: u32,
    device: u32,
    kind: u32,
    subsystem: u32,
    text: [u8; 32],
}

/// Device and vendor of an H200, and of its board.
const KIND: u32 = 0x2335_10de;
const SUBSYSTEM: u32 = 0x18be_10de;

fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut all = [0; N];
    all[..text.len()].copy_from_slice(text.as_bytes());
    all
}

fn pci_info(ordinal: i32) -> Pci {
    let [domain, bus, device] = pci(ordinal).map(|n| n as u32);
    let text = bus_text(ordinal);
    Pci { legacy: padded(&text[4..]), domain, bus, device, kind: KIND, subsystem: SUBSYSTEM, text: padded(&text) }
}

pub extern "C" fn nvmlDeviceGetPciInfo_v3(device: Device, info: Out<Pci>) -> u32 {
    answer(|| device.ordinal().and_then(|ordinal| info.put(pci_info(ordinal))))
}

/// nvmlPciInfo_t before the longer text. The last four words were reserved.
#[repr(C)]
pub struct OldPci {
    text: [u8; 16],
    numbers: [u32; 9],
}

pub extern "C" fn nvmlDeviceGetPciInfo_v2(device: Device, info: Out<OldPci>) -> u32 {
    answer(|| {
        let Pci { legacy, domain, bus, device, kind, subsystem, .. } = pci_info(device.ordinal()?);
        info.put(OldPci { text: legacy, numbers: [domain, bus, device, kind, subsystem, 0, 0, 0, 0] })
    })
}

pub extern "C" fn nvmlDeviceGetPciInfo(device: Device, info: Out<OldPci>) -> u32 {
    nvmlDeviceGetPciInfo_v2(device, info)
}
