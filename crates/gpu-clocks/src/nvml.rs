//! NVML by dlopen: the few functions that are asked, and their answers as values. It asks, and never sets anything.

use cutap_calls::generated::gpu_clocks::{function, number};
use std::ffi::{CStr, CString, OsStr, c_void};
use std::mem::transmute;
use std::os::unix::ffi::OsStrExt;
use std::ptr::null_mut;

/// A number other than success that NVML has returned (nvmlReturn_t).
pub type NvmlResult = u32;

/// Why NVML cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unusable {
    /// There is no such library.
    NoLibrary,
    /// It lacks functions.
    NoFunctions,
    /// It did not start.
    Refused(NvmlResult),
}

type Handle = *mut c_void;
type OfDevice<T> = unsafe extern "C" fn(Handle, *mut T) -> NvmlResult;
type Numbered = unsafe extern "C" fn(Handle, u32, *mut u32) -> NvmlResult;
type Texted = unsafe extern "C" fn(Handle, *mut u8, u32) -> NvmlResult;

/// NVML, started.
pub struct Nvml {
    device_count: unsafe extern "C" fn(*mut u32) -> NvmlResult,
    device: unsafe extern "C" fn(u32, *mut Handle) -> NvmlResult,
    name: Option<Texted>,
    uuid: Option<Texted>,
    pci: Option<OfDevice<PciInfo>>,
    clock: Numbered,
    max_clock: Option<Numbered>,
    reasons: Option<OfDevice<u64>>,
    utilization: Option<OfDevice<[u32; 2]>>,
    temperature: Option<Numbered>,
    power: Option<OfDevice<u32>>,
}

/// nvmlPciInfo_t.
#[repr(C, align(8))]
struct PciInfo([u8; number::PCI_BYTES as usize]);

/// A device of NVML.
#[derive(Debug, Clone, Copy)]
pub struct NvmlDevice(Handle);

/// The address of the first of these names that the library has.
fn symbol(library: Handle, names: &[&str]) -> Option<Handle> {
    let find = |name: &&str| {
        let name = CString::new(*name).ok()?;
        // SAFETY: a library that stays open, and a C string.
        let address = unsafe { libc::dlsym(library, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    };
    names.iter().find_map(find)
}

/// The functions of an open library, with the one that starts it.
fn functions(library: Handle) -> Option<(unsafe extern "C" fn() -> NvmlResult, Nvml)> {
    let find = |names| symbol(library, names);
    // SAFETY: the functions have the prototypes of nvml.h. All versions of a name have the same one, as the generated
    // names end with the version.
    unsafe {
        let init = transmute::<Handle, unsafe extern "C" fn() -> NvmlResult>(find(function::INIT)?);
        let nvml = Nvml {
            device_count: transmute::<Handle, unsafe extern "C" fn(*mut u32) -> NvmlResult>(find(
                function::DEVICE_COUNT,
            )?),
            device: transmute::<Handle, unsafe extern "C" fn(u32, *mut Handle) -> NvmlResult>(find(function::DEVICE)?),
            name: find(function::NAME).map(|f| transmute::<Handle, Texted>(f)),
            uuid: find(function::UUID).map(|f| transmute::<Handle, Texted>(f)),
            pci: find(function::PCI).map(|f| transmute::<Handle, OfDevice<PciInfo>>(f)),
            clock: transmute::<Handle, Numbered>(find(function::CLOCK)?),
            max_clock: find(function::MAX_CLOCK).map(|f| transmute::<Handle, Numbered>(f)),
            reasons: find(function::REASONS).map(|f| transmute::<Handle, OfDevice<u64>>(f)),
            utilization: find(function::UTILIZATION).map(|f| transmute::<Handle, OfDevice<[u32; 2]>>(f)),
            temperature: find(function::TEMPERATURE).map(|f| transmute::<Handle, Numbered>(f)),
            power: find(function::POWER).map(|f| transmute::<Handle, OfDevice<u32>>(f)),
        };
        Some((init, nvml))
    }
}

fn answered<T>(result: NvmlResult, value: T) -> Result<T, NvmlResult> {
    if result == 0 { Ok(value) } else { Err(result) }
}

impl Nvml {
    /// Opens the library and starts it. It stays open until the process ends.
    pub fn open(library: &OsStr) -> Result<Nvml, Unusable> {
        let name = CString::new(library.as_bytes()).map_err(|_| Unusable::NoLibrary)?;
        // SAFETY: a C string. The constructors of the library run in this process, which exists for it.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if library.is_null() {
            return Err(Unusable::NoLibrary);
        }
        let (init, nvml) = functions(library).ok_or(Unusable::NoFunctions)?;
        // SAFETY: a function without arguments.
        answered(unsafe { init() }, nvml).map_err(Unusable::Refused)
    }

    /// The number of devices.
    pub fn device_count(&self) -> Result<u32, NvmlResult> {
        let mut count = 0;
        // SAFETY: one output of its type.
        answered(unsafe { (self.device_count)(&mut count) }, ()).map(|()| count)
    }

    /// A device by its number.
    pub fn device(&self, index: u32) -> Result<NvmlDevice, NvmlResult> {
        let mut handle = null_mut();
        // SAFETY: one output of its type.
        answered(unsafe { (self.device)(index, &mut handle) }, ()).map(|()| NvmlDevice(handle))
    }

    fn number_of(&self, ask: Numbered, device: NvmlDevice, what: u32) -> Result<u32, NvmlResult> {
        let mut value = 0;
        // SAFETY: a device of this library, and one output of its type.
        answered(unsafe { ask(device.0, what, &mut value) }, ()).map(|()| value)
    }

    fn value_of<T: Default>(&self, ask: Option<OfDevice<T>>, device: NvmlDevice) -> Option<T> {
        let mut value = T::default();
        // SAFETY: as above.
        answered(unsafe { ask?(device.0, &mut value) }, ()).ok().map(|()| value)
    }

    fn text_of(&self, ask: Option<Texted>, device: NvmlDevice) -> Vec<u8> {
        let mut text = [0; number::TEXT_BYTES as usize];
        // SAFETY: a device of this library, and a buffer with its size.
        let result = ask.map(|ask| unsafe { ask(device.0, text.as_mut_ptr(), number::TEXT_BYTES) });
        if result == Some(0) { until_zero(&text) } else { Vec::new() }
    }

    /// The name of the product; empty if it is not known.
    pub fn name(&self, device: NvmlDevice) -> Vec<u8> {
        self.text_of(self.name, device)
    }

    /// The UUID; empty if it is not known.
    pub fn uuid(&self, device: NvmlDevice) -> Vec<u8> {
        self.text_of(self.uuid, device)
    }

    /// The PCI address; empty if it is not known.
    pub fn pci(&self, device: NvmlDevice) -> Vec<u8> {
        let mut info = PciInfo([0; number::PCI_BYTES as usize]);
        // SAFETY: a device of this library, and a structure as large as its own.
        let result = self.pci.map(|ask| unsafe { ask(device.0, &mut info) });
        if result == Some(0) { until_zero(info.0.get(number::PCI_TEXT as usize..).unwrap_or(&[])) } else { Vec::new() }
    }

    /// The SM clock in MHz.
    pub fn sm_clock(&self, device: NvmlDevice) -> Result<u32, NvmlResult> {
        self.number_of(self.clock, device, number::SM_CLOCK)
    }

    /// The highest SM clock in MHz.
    pub fn max_sm_clock(&self, device: NvmlDevice) -> Option<u32> {
        self.number_of(self.max_clock?, device, number::SM_CLOCK).ok()
    }

    /// nvmlClocksEventReasons.
    pub fn reasons(&self, device: NvmlDevice) -> Option<u64> {
        self.value_of(self.reasons, device)
    }

    /// Part of the last sampling period in which a kernel ran, in percent.
    pub fn busy_percent(&self, device: NvmlDevice) -> Option<u32> {
        self.value_of(self.utilization, device).map(|[gpu, _]| gpu)
    }

    /// Degrees Celsius.
    pub fn celsius(&self, device: NvmlDevice) -> Option<u32> {
        self.number_of(self.temperature?, device, number::GPU_SENSOR).ok()
    }

    /// Milliwatts.
    pub fn milliwatts(&self, device: NvmlDevice) -> Option<u32> {
        self.value_of(self.power, device)
    }
}

fn until_zero(bytes: &[u8]) -> Vec<u8> {
    CStr::from_bytes_until_nul(bytes).map_or_else(|_| bytes.to_vec(), |text| text.to_bytes().to_vec())
}
