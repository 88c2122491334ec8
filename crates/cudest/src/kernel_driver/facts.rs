//! What the kernel driver says of a GPU, by queries alone.

use crate::base::error::{Error, Result};
use crate::kernel_driver::chip::Chip;
use crate::kernel_driver::controls;
use crate::kernel_driver::link::{Card, FixedFacts, Link, cards, once};
use crate::kernel_driver::nodes::{Kernel, Node};
use cutap_rm::Fit;
use std::sync::Arc;

/// A GPU as the kernel driver describes it. A field is None where the driver refused the query.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// The entry of the driver's list.
    pub card: Card,
    /// Its name.
    pub name: String,
    /// Its UUID.
    pub uuid: [u8; 16],
    /// All video memory, and what is free, in bytes.
    pub memory: Option<(u64, u64)>,
    /// Pairs of SMs of each graphics processing cluster.
    pub tpcs: Vec<u32>,
    /// For each pair of SMs, in their order, the group in which a cluster of blocks runs, and its number there. Empty
    /// where the driver refused the query.
    pub floor_plan: Vec<(u8, u8)>,
    /// Architecture, implementation and revision of the chip.
    pub chip: Option<(u32, u32, u32)>,
    /// Whether some ECC is on.
    pub ecc: Option<bool>,
    /// Length of each BAR.
    pub bars: Vec<u64>,
    /// Classes of objects that it has.
    pub classes: Vec<u32>,
    /// Copy engines: number, and whether it belongs to the graphics engine.
    pub copy_engines: Vec<(u32, bool)>,
    /// NVLinks that are on: number and line rate in Mbit/s.
    pub nvlinks: Option<Vec<(u32, u32)>>,
    /// The highest clocks of SMs and of memory, in kHz.
    pub clocks: Option<(u32, u32)>,
    /// Bits of the memory's bus.
    pub bus_width: Option<u32>,
    /// Bytes of the L2 cache.
    pub l2: Option<u64>,
    /// PCI subsystem: vendor and device.
    pub subsystem: Option<(u16, u16)>,
    /// Those that a context needs, as the driver gave them.
    pub fixed_facts: FixedFacts,
}

impl Facts {
    /// SMs: two a TPC.
    #[must_use]
    pub fn sms(&self) -> u32 {
        self.tpcs.iter().sum::<u32>() * 2
    }

    /// Whether cudest can run kernels on it.
    #[must_use]
    pub fn is_supported(&self) -> bool {
        Chip::of(&self.classes).is_some_and(|chip| chip.has_run)
    }

    /// The UUID, as nvidia-smi prints it.
    #[must_use]
    pub fn uuid_text(&self) -> String {
        let hex: Vec<String> = self.uuid.iter().map(|byte| format!("{byte:02x}")).collect();
        let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default().concat();
        format!("GPU-{}-{}-{}-{}-{}", part(0, 4), part(4, 6), part(6, 8), part(8, 10), part(10, 16))
    }
}

/// The driver of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Driver {
    /// Its version.
    pub version: String,
    /// The release whose tables are used.
    pub tables: &'static str,
    /// Whether they are of this very version, of its branch, or of another.
    pub fit: Fit,
    /// The cards that it lists.
    pub cards: Vec<Card>,
}

/// The driver and its cards: no GPU is opened.
///
/// # Errors
/// There is no driver, or no permission.
pub fn driver(kernel: &Arc<dyn Kernel>) -> Result<Driver> {
    let client = crate::kernel_driver::client::Client::open(Arc::clone(kernel))?;
    let cards = cards(&client)?;
    let (version, tables, fit) = (client.version.clone(), client.tables.release(), client.fit);
    Ok(Driver { version, tables, fit, cards })
}

/// Whether a node can be opened, without keeping it open.
///
/// # Errors
/// It is missing, or there is no permission.
pub fn probe(kernel: &Arc<dyn Kernel>, node: Node) -> Result<()> {
    crate::kernel_driver::nodes::Descriptor::open(kernel, node).map(drop)
}

pub(crate) fn classes(link: &Link) -> Result<Vec<u32>> {
    once(&link.fixed_facts.classes, || ask_classes(link))
}

fn ask_classes(link: &Link) -> Result<Vec<u32>> {
    let list = link.client.query(link.device, controls::CLASS_LIST, &[])?;
    let count = link.get(&list, "numClasses")?.min(200) as usize;
    let bytes = link.bytes(&list, "classList")?;
    Ok(bytes.as_chunks::<4>().0.iter().take(count).map(|word| u32::from_le_bytes(*word)).collect())
}

pub(crate) fn name(link: &Link) -> Result<String> {
    let params = link.query(controls::GPU_NAME, &[])?;
    let bytes = link.bytes(&params, "gpuNameString.ascii")?;
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(text).into_owned())
}

pub(crate) fn uuid(link: &Link) -> Result<[u8; 16]> {
    once(&link.fixed_facts.uuid, || ask_uuid(link))
}

fn ask_uuid(link: &Link) -> Result<[u8; 16]> {
    const BINARY: u64 = 2;
    let params = link.query(controls::GPU_UUID, &[("flags", BINARY), ("length", 16)])?;
    Ok(link.bytes(&params, "data")?.first_chunk::<16>().copied().unwrap_or_default())
}

pub(crate) fn memory(link: &Link) -> Result<(u64, u64)> {
    // Entries of the list, in KiB.
    const RAM_SIZE: u64 = 0x07;
    const HEAP_FREE: u64 = 0x16;
    let fields = [("fbInfoListSize", 2), ("fbInfoList[0].index", RAM_SIZE), ("fbInfoList[1].index", HEAP_FREE)];
    let params = link.query(controls::MEMORY_INFO, &fields)?;
    let kib = |n: usize| link.get(&params, &format!("fbInfoList[{n}].data")).map(|kib| kib << 10);
    Ok((kib(0)?, kib(1)?))
}

/// The width of the memory's bus, and the bytes of the L2 cache.
fn memory_system(link: &Link) -> Result<(u32, u64)> {
    // Entries of the list.
    const BUS_WIDTH: u64 = 0x0b;
    const L2_CACHE: u64 = 0x1b;
    let fields = [("fbInfoListSize", 2), ("fbInfoList[0].index", BUS_WIDTH), ("fbInfoList[1].index", L2_CACHE)];
    let params = link.query(controls::MEMORY_INFO, &fields)?;
    Ok((link.get(&params, "fbInfoList[0].data")? as u32, link.get(&params, "fbInfoList[1].data")?))
}

fn subsystem(link: &Link) -> Result<(u16, u16)> {
    let params = link.query(controls::PCI_INFO, &[])?;
    let both = link.get(&params, "pciSubSystemId")?;
    Ok((both as u16, (both >> 16) as u16))
}

/// The highest clocks of SMs and memory, in kHz. NVIDIA's headers do not have this control. libcuda 580.159.04 sends it
/// for its attributes of clocks. It has a word, three words of answers, a count, and entries of domain, 0, kHz, 0.
fn clocks(link: &Link) -> Result<(u32, u32)> {
    const MAXIMUM_CLOCKS: u32 = 0x2080_a026;
    const WORDS: usize = 133;
    const SM: u32 = 1;
    const MEMORY: u32 = 0x10;
    let mut words = [0_u32; WORDS];
    for (at, value) in [(0, 0x400), (4, 2), (5, SM), (9, MEMORY)] {
        if let Some(word) = words.get_mut(at) {
            *word = value;
        }
    }
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    link.client.control_bytes(link.subdevice, MAXIMUM_CLOCKS, &mut bytes, "the clocks")?;
    let word = |at: usize| bytes.as_chunks::<4>().0.get(at).map_or(0, |word| u32::from_ne_bytes(*word));
    let clocks = (word(7), word(11));
    let is_clock = |khz: u32| (10_000..10_000_000).contains(&khz);
    if is_clock(clocks.0) && is_clock(clocks.1) {
        Ok(clocks)
    } else {
        Err(Error::Unsupported("the form of these clocks"))
    }
}

fn chip(link: &Link) -> Result<(u32, u32, u32)> {
    let params = link.query(controls::ARCHITECTURE, &[])?;
    let get = |field: &str| link.get(&params, field).map(|value| value as u32);
    Ok((get("architecture")?, get("implementation")?, get("revision")?))
}

fn ecc(link: &Link) -> Result<bool> {
    let params = link.query(controls::ECC, &[])?;
    (0..36).try_fold(false, |on, unit| Ok(on || link.get(&params, &format!("units[{unit}].enabled"))? != 0))
}

fn bars(link: &Link) -> Result<Vec<u64>> {
    let params = link.query(controls::PCI_BARS, &[])?;
    let count = link.get(&params, "pciBarCount")?.min(8);
    (0..count).map(|n| link.get(&params, &format!("pciBarInfo[{n}].barSizeBytes"))).collect()
}

pub(crate) fn copy_engines(link: &Link) -> Result<Vec<(u32, bool)>> {
    once(&link.fixed_facts.copy_engines, || ask_copy_engines(link))
}

fn ask_copy_engines(link: &Link) -> Result<Vec<(u32, bool)>> {
    let caps = link.query(controls::COPY_ENGINES, &[])?;
    let present = link.get(&caps, "present")?;
    let table = link.bytes(&caps, "capsTbl")?;
    let of_graphics = |n: u32| table.get(n as usize * 2).is_some_and(|caps| caps & 1 != 0);
    Ok((0..64).filter(|n| present >> n & 1 != 0).map(|n| (n, of_graphics(n))).collect())
}

/// The group and the place of each pair of SMs. RM's list has an entry for each SM.
fn floor_plan(link: &Link) -> Result<Vec<(u8, u8)>> {
    const ENTRIES: u64 = 512;
    let params = link.query(controls::SM_ORDER, &[])?;
    let sms = link.get(&params, "numSm")?.min(ENTRIES);
    let number = |sm: u64, field: &str| link.get(&params, &format!("globalSmId[{sm}].{field}")).map(|id| id as u8);
    (0..sms).step_by(2).map(|sm| Ok((number(sm, "virtualGpcId")?, number(sm, "migratableTpcId")?))).collect()
}

fn nvlinks(link: &Link) -> Result<Vec<(u32, u32)>> {
    let params = link.query(controls::NVLINKS, &[])?;
    let mask = link.get(&params, "enabledLinkMask")?;
    let on = (0..32).filter(|n| mask >> n & 1 != 0);
    on.map(|n| Ok((n, link.get(&params, &format!("linkInfo[{n}].nvlinkLineRateMbps"))? as u32))).collect()
}

pub(crate) fn read(link: &Link) -> Result<Facts> {
    let memory_system = memory_system(link).ok();
    Ok(Facts {
        card: link.card.clone(),
        name: name(link)?,
        uuid: uuid(link)?,
        memory: memory(link).ok(),
        tpcs: link.tpcs()?,
        floor_plan: floor_plan(link).unwrap_or_default(),
        chip: chip(link).ok(),
        ecc: ecc(link).ok(),
        bars: bars(link).unwrap_or_default(),
        classes: classes(link)?,
        copy_engines: copy_engines(link).unwrap_or_default(),
        nvlinks: nvlinks(link).ok(),
        clocks: clocks(link).ok(),
        bus_width: memory_system.map(|(bits, _)| bits),
        l2: memory_system.map(|(_, bytes)| bytes),
        subsystem: subsystem(link).ok(),
        fixed_facts: link.fixed_facts.clone(),
    })
}
