//! An open GPU: client, device, subdevice, as every query and every context need them.

use crate::base::error::{Error, Result};
use crate::kernel_driver::client::{Client, Handle};
use crate::kernel_driver::controls::{self, Control};
use crate::kernel_driver::nodes::{Descriptor, Kernel, Node};
use cutap_rm::Params;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// A card in the driver's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// The number by which RM knows it.
    pub id: u32,
    /// The N of `/dev/nvidiaN`.
    pub minor: u32,
    /// PCI domain, bus, slot and function.
    pub pci: (u32, u8, u8, u8),
    /// PCI vendor and device.
    pub pci_id: (u16, u16),
    /// Length of the registers' BAR, and of the one that shows video memory.
    pub bars: (u64, u64),
}

impl Card {
    /// The PCI address, as in `0000:1b:00.0`.
    #[must_use]
    pub fn pci_address(&self) -> String {
        let (domain, bus, slot, function) = self.pci;
        format!("{domain:04x}:{bus:02x}:{slot:02x}.{function}")
    }
}

/// The cards of the machine, from one ioctl.
pub(crate) fn cards(client: &Client) -> Result<Vec<Card>> {
    let bytes = client.cards()?;
    let layout = client.filled("nv_ioctl_card_info_t", &[])?;
    let mut cards = Vec::new();
    for entry in bytes.chunks_exact(layout.bytes().len()) {
        let mut info = layout.clone();
        info.bytes_mut().copy_from_slice(entry);
        let get = |field: &str| client.field(&info, field);
        if get("valid")? == 0 {
            continue;
        }
        let part = |field: &str| get(field).map(|value| value as u8);
        cards.push(Card {
            id: get("gpu_id")? as u32,
            minor: get("minor_number")? as u32,
            pci: (
                get("pci_info.domain")? as u32,
                part("pci_info.bus")?,
                part("pci_info.slot")?,
                part("pci_info.function")?,
            ),
            pci_id: (get("pci_info.vendor_id")? as u16, get("pci_info.device_id")? as u16),
            bars: (get("reg_size")?, get("fb_size")?),
        });
    }
    Ok(cards)
}

/// Facts of a GPU that never change: each is asked for once, or was read before.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FixedFacts {
    /// The numbers of its device and its subdevice.
    instances: OnceLock<(u64, u64)>,
    pub classes: OnceLock<Vec<u32>>,
    pub tpcs: OnceLock<Vec<u32>>,
    pub copy_engines: OnceLock<Vec<(u32, bool)>>,
    pub uuid: OnceLock<[u8; 16]>,
}

/// A fact, from its place or by asking.
pub(crate) fn once<T: Clone>(place: &OnceLock<T>, ask: impl FnOnce() -> Result<T>) -> Result<T> {
    match place.get() {
        Some(known) => Ok(known.clone()),
        None => ask().map(|answer| place.get_or_init(|| answer).clone()),
    }
}

/// An open GPU. All objects below it go with the client.
pub(crate) struct Link {
    pub client: Client,
    /// `/dev/nvidiaN`, which must be open while the device object lives.
    pub node: Descriptor,
    pub card: Card,
    pub fixed_facts: FixedFacts,
    pub device: Handle,
    pub subdevice: Handle,
    /// Set before the whole client goes: single objects need no ioctl any more.
    pub closing: AtomicBool,
    /// Whether the node's descriptor knows its control descriptor.
    registered: AtomicBool,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Link({})", self.card.pci_address())
    }
}

impl Link {
    /// A card by its place in the driver's list.
    pub fn open(kernel: &Arc<dyn Kernel>, index: usize) -> Result<Self> {
        let client = Client::open(Arc::clone(kernel))?;
        let cards = cards(&client)?;
        let none = if cards.is_empty() { Error::NoGpu } else { Error::NoSuchGpu { index, count: cards.len() } };
        let card = cards.into_iter().nth(index).ok_or(none)?;
        Self::connect(client, kernel, card, FixedFacts::default())
    }

    /// A card of the driver's list.
    pub fn to_card(kernel: &Arc<dyn Kernel>, card: &Card, fixed_facts: &FixedFacts) -> Result<Self> {
        Self::connect(Client::open(Arc::clone(kernel))?, kernel, card.clone(), fixed_facts.clone())
    }

    fn connect(mut client: Client, kernel: &Arc<dyn Kernel>, card: Card, fixed_facts: FixedFacts) -> Result<Self> {
        let node = Descriptor::open(kernel, Node::Gpu(card.minor))?;
        client.connect()?;
        let (instance, sub_instance) = once(&fixed_facts.instances, || {
            let id = client.query(client.root, controls::GPU_ID, &[("gpuId", card.id.into())])?;
            Ok((client.field(&id, "deviceInstance")?, client.field(&id, "subDeviceInstance")?))
        })?;
        // Several address spaces are possible.
        const MULTIPLE_SPACES: u64 = 2;
        let fields = [("deviceId", instance), ("hClientShare", client.root.into()), ("vaMode", MULTIPLE_SPACES)];
        let mut params = client.filled("NV0080_ALLOC_PARAMETERS", &fields)?;
        let device = client.create(client.root, 0x80, Some(&mut params), "the device")?;
        let mut params = client.filled("NV2080_ALLOC_PARAMETERS", &[("subDeviceId", sub_instance)])?;
        let subdevice = client.create(device, 0x2080, Some(&mut params), "the subdevice")?;
        Ok(Self {
            client,
            node,
            card,
            fixed_facts,
            registered: AtomicBool::new(false),
            device,
            subdevice,
            closing: AtomicBool::new(false),
        })
    }

    /// Ties the node's descriptor to the client's, as requests on the node need it. Once.
    pub fn register_node(&self) -> Result<()> {
        if !self.registered.swap(true, Ordering::AcqRel) {
            self.client.register_node(&self.node)?;
        }
        Ok(())
    }

    /// A control of the subdevice.
    pub fn query(&self, control: Control, fields: &[(&str, u64)]) -> Result<Params> {
        self.client.query(self.subdevice, control, fields)
    }

    /// A number in a struct.
    pub fn get(&self, params: &Params, field: &str) -> Result<u64> {
        self.client.field(params, field)
    }

    /// The bytes of a field: a text, a UUID, an array.
    pub fn bytes<'a>(&self, params: &'a Params, field: &str) -> Result<&'a [u8]> {
        let unknown = || Error::Tables {
            release: self.client.tables.release(),
            item: format!("{}.{field}", params.record().name()),
        };
        let place = params.record().place(field).map_err(|_| unknown())?;
        params.bytes().get(place.offset..place.offset.saturating_add(place.size)).ok_or_else(unknown)
    }

    /// Graphics processing clusters and their pairs of SMs: the number of TPCs of each GPC.
    pub fn tpcs(&self) -> Result<Vec<u32>> {
        once(&self.fixed_facts.tpcs, || self.ask_tpcs())
    }

    fn ask_tpcs(&self) -> Result<Vec<u32>> {
        let gpcs = self.query(controls::GPC_MASK, &[])?;
        let mask = self.get(&gpcs, "gpcMask")?;
        let mut counts = Vec::new();
        for gpc in (0..32).filter(|gpc| mask >> gpc & 1 != 0) {
            let tpcs = self.query(controls::TPC_MASK, &[("gpcId", gpc)])?;
            counts.push(self.get(&tpcs, "tpcMask")?.count_ones());
        }
        Ok(counts)
    }
}
