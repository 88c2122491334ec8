//! The simulated machine, as its libraries (`crates/sim/{cuda,nvml,cupti}`) see it: settings from the environment, the
//! GPU, how its GPUs differ, and the form of what the driver reports to CUPTI. It must not have state that a program
//! can change, and must not export anything to programs.

mod config;
mod environment;
mod generated;
mod process;
mod stub;
mod submitted;
mod visible;

pub use config::{Config, config};
pub use environment::{print_to_stderr, variable};
pub use generated::{
    ATTRIBUTES, GROUPS, NAME, PLACES, TOTAL_MEMORY, UUID, attribute_id, cluster, function_attribute, pointer_attribute,
};
pub use process::{FirstUse, PerProcess, generation};
pub use submitted::{
    GRAPH_IDS_SYMBOL, GraphIds, Listener, PROFILER_SYMBOL, Profiler, SubmittedCall, SubmittedWork, WorkKind,
};
pub use visible::{Hidden, visible};

/// The value of an attribute (CUdevice_attribute) of a device.
pub fn attribute(ordinal: i32, id: u32) -> Option<i32> {
    let at = ATTRIBUTES.binary_search_by_key(&id, |a| a.0).ok()?;
    let value = ATTRIBUTES[at].1;
    Some(if id == attribute_id::PCI_BUS_ID { value + ordinal } else { value })
}

/// The uuid of a device. Devices differ in the first digit, so that a program may shorten a uuid, and in the last byte.
pub fn uuid(ordinal: i32) -> [u8; 16] {
    let mut uuid = UUID;
    uuid[0] = uuid[0].wrapping_add((ordinal as u8) << 4);
    uuid[15] = uuid[15].wrapping_add(ordinal as u8);
    uuid
}

/// PCI domain, bus and device of a device.
pub fn pci(ordinal: i32) -> [i32; 3] {
    use attribute_id::{PCI_BUS_ID, PCI_DEVICE_ID, PCI_DOMAIN_ID};
    [PCI_DOMAIN_ID, PCI_BUS_ID, PCI_DEVICE_ID].map(|id| attribute(ordinal, id).unwrap_or(0))
}
