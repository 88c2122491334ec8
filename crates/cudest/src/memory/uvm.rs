//! Requests to the unified memory driver, `/dev/nvidia-uvm`. It makes the page tables of an address space that RM does
//! not own (mode B). An address is the same for CPU and GPU there.

use crate::base::error::Result;
use crate::kernel_driver::client::Handle;
use crate::kernel_driver::link::Link;
use crate::kernel_driver::nodes::{Descriptor, Node};
use crate::memory::reserve::{LARGE_PAGE, Reservation};

const INITIALIZE: u32 = 0x3000_0001;
const REGISTER_GPU_VASPACE: u32 = 25;
const REGISTER_CHANNEL: u32 = 27;
const MAP_EXTERNAL_ALLOCATION: u32 = 33;
const FREE: u32 = 34;
const REGISTER_GPU: u32 = 37;
const CREATE_EXTERNAL_RANGE: u32 = 73;
const MM_INITIALIZE: u32 = 75;

/// Addresses for the buffers of a graphics context. 0x52f000 bytes suffice on an H200.
const CONTEXT_BYTES: u64 = 16 << 20;

/// A GPU's address space that the unified memory driver owns.
#[derive(Debug)]
pub(crate) struct Uvm {
    node: Descriptor,
    /// Keeps the process's memory known to the driver.
    _process: Descriptor,
    uuid: [u8; 16],
    contexts: Reservation,
}

impl Uvm {
    /// Registers the GPU and its externally owned address space. Registering the GPU takes 0.1 to 0.2 s on an H200.
    pub fn new(link: &Link, space: Handle, uuid: [u8; 16]) -> Result<Self> {
        let client = &link.client;
        let (node, process) =
            (Descriptor::open(&client.kernel, Node::Uvm)?, Descriptor::open(&client.kernel, Node::Uvm)?);
        let mut call = client.filled("UVM_INITIALIZE_PARAMS", &[])?;
        client.uvm(&node, INITIALIZE, &mut call, "the unified memory driver")?;
        let mut call = client.filled("UVM_MM_INITIALIZE_PARAMS", &[("uvmFd", node.fd as u64)])?;
        client.uvm(&process, MM_INITIALIZE, &mut call, "the process's memory in the unified memory driver")?;
        let contexts = Reservation::low(CONTEXT_BYTES, LARGE_PAGE)?;
        let new = Self { node, _process: process, uuid, contexts };
        let no_descriptor = ("rmCtrlFd", -1_i64 as u64);
        new.call(link, "UVM_REGISTER_GPU_PARAMS", "gpu_uuid", REGISTER_GPU, &[no_descriptor], "registering the GPU")?;
        let control = ("rmCtrlFd", client.control_fd() as u64);
        let fields = [control, ("hClient", client.root.into()), ("hVaSpace", space.into())];
        let request_name = "registering the address space";
        new.call(link, "UVM_REGISTER_GPU_VASPACE_PARAMS", "gpuUuid", REGISTER_GPU_VASPACE, &fields, request_name)?;
        Ok(new)
    }

    fn call(
        &self,
        link: &Link,
        record: &str,
        uuid: &str,
        number: u32,
        fields: &[(&str, u64)],
        request_name: &str,
    ) -> Result<()> {
        let mut call = link.client.filled(record, fields)?;
        link.client.set_bytes(&mut call, uuid, &self.uuid)?;
        link.client.uvm(&self.node, number, &mut call, request_name)
    }

    /// A channel, before it is scheduled. A compute channel needs addresses for its context; all of a group share them.
    pub fn register_channel(&self, link: &Link, channel: Handle, is_copy: bool) -> Result<()> {
        let (base, length) = if is_copy { (0, 0) } else { (self.contexts.address(), CONTEXT_BYTES) };
        let fields = [
            ("rmCtrlFd", link.client.control_fd() as u64),
            ("hClient", link.client.root.into()),
            ("hChannel", channel.into()),
            ("base", base),
            ("length", length),
        ];
        let request_name = "registering a channel";
        self.call(link, "UVM_REGISTER_CHANNEL_PARAMS", "gpuUuid", REGISTER_CHANNEL, &fields, request_name)
    }

    /// Maps a part of a memory at an address.
    pub fn map(&self, link: &Link, memory: Handle, offset: u64, address: u64, length: u64) -> Result<()> {
        let client = &link.client;
        let mut range = client.filled("UVM_CREATE_EXTERNAL_RANGE_PARAMS", &[("base", address), ("length", length)])?;
        client.uvm(&self.node, CREATE_EXTERNAL_RANGE, &mut range, "GPU addresses")?;
        const READ_WRITE_ATOMIC: u64 = 1;
        let fields = [
            ("base", address),
            ("length", length),
            ("offset", offset),
            ("perGpuAttributes[0].gpuMappingType", READ_WRITE_ATOMIC),
            ("gpuAttributesCount", 1),
            ("rmCtrlFd", client.control_fd() as u64),
            ("hClient", client.root.into()),
            ("hMemory", memory.into()),
        ];
        let (record, uuid) = ("UVM_MAP_EXTERNAL_ALLOCATION_PARAMS", "perGpuAttributes[0].gpuUuid");
        let mapped = self.call(link, record, uuid, MAP_EXTERNAL_ALLOCATION, &fields, "a mapping for the GPU");
        if mapped.is_err() {
            self.unmap(link, address, length);
        }
        mapped
    }

    /// Ends a mapping, with its addresses.
    pub fn unmap(&self, link: &Link, address: u64, length: u64) {
        let fields = [("base", address), ("length", length)];
        if let Ok(mut call) = link.client.filled("UVM_FREE_PARAMS", &fields) {
            let _ = link.client.uvm(&self.node, FREE, &mut call, "freeing GPU addresses");
        }
    }
}
