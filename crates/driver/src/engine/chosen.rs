//! The machine of this library, which the crate that joins front and engines chooses.

use super::{FloorPlan, Lane, Machine, Space};
use crate::abi::{Answer, Fault};
use cutap_machine::FirstUse;
use std::ffi::CStr;
use std::sync::OnceLock;

/// Makes the machine.
pub type MakeMachine = fn() -> Box<dyn Machine>;

static MAKE: OnceLock<MakeMachine> = OnceLock::new();

/// Says how the machine is made. Only the first call has an effect. It must come before the first call of the driver.
pub fn join(make: MakeMachine) {
    let _ = MAKE.set(make);
}

/// The machine. It is made at the first use, and never again.
pub fn machine() -> &'static dyn Machine {
    static MACHINE: FirstUse<Box<dyn Machine>> = FirstUse::empty();
    let create = || MAKE.get().map_or_else(|| Box::new(NoDevice) as Box<dyn Machine>, |make| make());
    &**MACHINE.get(create).0
}

/// The machine without an engine.
struct NoDevice;

impl Machine for NoDevice {
    fn uuids(&self) -> &[[u8; 16]] {
        &[]
    }

    fn name(&self, _device: i32) -> &CStr {
        c""
    }

    fn pci(&self, _device: i32) -> [i32; 3] {
        [0; 3]
    }

    fn attribute(&self, _device: i32, _id: u32) -> Option<i32> {
        None
    }

    fn floor_plan(&self, _device: i32) -> FloorPlan<'_> {
        FloorPlan { groups: &[], places: &[] }
    }

    fn memory(&self, _device: i32) -> u64 {
        0
    }

    fn runs_kernels(&self) -> bool {
        false
    }

    fn at_once(&self) -> Option<&dyn Lane> {
        None
    }

    fn space(&self, _device: i32) -> Answer<&dyn Space> {
        Err(Fault::INVALID_DEVICE)
    }

    fn compile(&self, _text: &[u8]) -> Answer<Option<Vec<u8>>> {
        Ok(None)
    }

    fn check(&self) -> Answer {
        Ok(())
    }
}
