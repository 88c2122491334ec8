//! The machine: its GPUs, and the facts of each.

use super::fault;
use super::space::GpuSpace;
use cutap_cudest::{DIFFERENCES, Facts, Survey};
use cutap_driver::abi::{Answer, Fault};
use cutap_driver::engine::{FloorPlan, Lane, Machine, Space};
use cutap_machine::{attribute_id, print_to_stderr};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Attributes that cudest alone lacks, and this driver too. In the others of its list this driver gives libcuda's
/// answer, because it has what cudest lacks.
const MISSING: [u32; 19] =
    [90, 96, 103, 107, 108, 109, 110, 112, 113, 114, 116, 117, 118, 119, 121, 124, 125, 128, 129];

pub struct Gpus {
    devices: Vec<Device>,
    uuids: Vec<[u8; 16]>,
    /// One at a time opens a space.
    opening: Mutex<()>,
}

struct Device {
    /// Its place in the kernel driver's list.
    index: usize,
    facts: Facts,
    name: CString,
    attributes: BTreeMap<u32, i32>,
    /// Group and place of each pair of multiprocessors.
    groups: Vec<u8>,
    places: Vec<u8>,
    space: OnceLock<GpuSpace>,
}

impl Gpus {
    /// Looks at the machine. What cannot be used is named on standard error, in one sentence.
    pub fn find() -> Self {
        let usable = Survey::new().and_then(Survey::usable_gpus).unwrap_or_else(|why| {
            print_to_stderr(&format!("cutap-cudest: {why}"));
            Vec::new()
        });
        let devices: Vec<Device> = usable.into_iter().map(|(index, facts)| Device::new(index, facts)).collect();
        let uuids = devices.iter().map(|device| device.facts.uuid).collect();
        Self { devices, uuids, opening: Mutex::default() }
    }

    fn device(&self, number: i32) -> Option<&Device> {
        self.devices.get(usize::try_from(number).ok()?)
    }
}

impl Device {
    fn new(index: usize, facts: Facts) -> Self {
        let name = CString::new(facts.name.clone()).unwrap_or_default();
        // What hardware decides is the GPU's.
        let is_own = |id: &u32| DIFFERENCES.iter().any(|own| own.id == *id) && !MISSING.contains(id);
        let of_gpu = facts.attributes().into_iter().filter(|(id, _)| !is_own(id));
        let attributes = of_gpu.filter_map(|(id, value)| Some((id, value?))).collect();
        // Without the driver's answer all pairs of a GPC are a group.
        let by_gpc = || facts.tpcs.iter().zip(0_u8..).flat_map(|(count, gpc)| (0..*count as u8).map(move |n| (gpc, n)));
        let (groups, places) = match facts.floor_plan.is_empty() {
            true => by_gpc().unzip(),
            false => facts.floor_plan.iter().copied().unzip(),
        };
        Self { index, facts, name, attributes, groups, places, space: OnceLock::new() }
    }
}

impl Machine for Gpus {
    fn uuids(&self) -> &[[u8; 16]] {
        &self.uuids
    }

    fn name(&self, device: i32) -> &CStr {
        self.device(device).map_or(c"", |device| &device.name)
    }

    fn pci(&self, device: i32) -> [i32; 3] {
        use attribute_id::{PCI_BUS_ID, PCI_DEVICE_ID, PCI_DOMAIN_ID};
        [PCI_DOMAIN_ID, PCI_BUS_ID, PCI_DEVICE_ID].map(|id| self.attribute(device, id).unwrap_or(0))
    }

    fn attribute(&self, device: i32, id: u32) -> Option<i32> {
        let own = self.device(device)?.attributes.get(&id).copied();
        own.or_else(|| cutap_machine::attribute(0, id))
    }

    fn floor_plan(&self, device: i32) -> FloorPlan<'_> {
        let device = self.device(device);
        FloorPlan {
            groups: device.map_or(&[], |device| &device.groups),
            places: device.map_or(&[], |device| &device.places),
        }
    }

    fn memory(&self, device: i32) -> u64 {
        self.device(device).and_then(|device| device.facts.memory).map_or(0, |(all, _)| all)
    }

    fn runs_kernels(&self) -> bool {
        true
    }

    fn at_once(&self) -> Option<&dyn Lane> {
        None
    }

    fn space(&self, number: i32) -> Answer<&dyn Space> {
        let device = self.device(number).ok_or(Fault::INVALID_DEVICE)?;
        if let Some(space) = device.space.get() {
            return Ok(space);
        }
        let _one = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if device.space.get().is_none() {
            let space = GpuSpace::open(number, device.index, &device.facts)?;
            let _ = device.space.set(space);
        }
        device.space.get().map(|space| space as &dyn Space).ok_or(Fault::INVALID_DEVICE)
    }

    fn compile(&self, text: &[u8]) -> Answer<Option<Vec<u8>>> {
        const ARCHITECTURE: u32 = 90;
        cutap_cudest::compile(text, ARCHITECTURE).map(Some).map_err(|why| fault::of(&why, "PTX"))
    }

    fn check(&self) -> Answer {
        self.devices.iter().filter_map(|device| device.space.get()).try_for_each(GpuSpace::check)
    }
}
