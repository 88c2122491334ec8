//! A channel: a ring of pushbuffer pieces that the GPU's host engine fetches, and the doorbell
//! that says there are more.

use crate::base::error::{Error, Result};
use crate::kernel_driver::chip::Classes;
use crate::kernel_driver::client::Handle;
use crate::kernel_driver::controls;
use crate::kernel_driver::link::Link;
use crate::kernel_driver::nodes::Node;
use crate::memory::allocation::Allocation;
use crate::memory::space::Space;
use std::ptr::NonNull;
use std::sync::Arc;

/// Entries of a ring: a power of two.
pub(crate) const ENTRIES: u64 = 1024;
/// Bytes of ring and USERD at the beginning of a channel's memory.
pub(crate) const RING_BYTES: usize = 0x4000;
const USERD: usize = 0x2000;
const GP_PUT: usize = USERD + 0x8c;

const CHANNEL_GROUP: u32 = 0xa06c;
const CONTEXT_SHARE: u32 = 0x9067;

/// Orders write-combined and other stores before all later ones.
pub(crate) fn store_fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: each x86-64 processor has this instruction.
    unsafe {
        core::arch::x86_64::_mm_sfence();
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

/// The page of registers in which a channel's token is written when its ring has more.
#[derive(Debug)]
pub(crate) struct Doorbell {
    link: Arc<Link>,
    page: NonNull<u8>,
}

// SAFETY: it is one register that takes stores from any thread.
unsafe impl Send for Doorbell {}
// SAFETY: as above.
unsafe impl Sync for Doorbell {}

impl Doorbell {
    const LENGTH: u64 = 0x10000;
    const REGISTER: usize = 0x90;

    /// `class` is the usermode class.
    pub fn new(link: &Arc<Link>, class: u32) -> Result<Self> {
        // The window through BAR1, as libcuda uses it.
        let mut params = link.client.filled("NV_HOPPER_USERMODE_A_PARAMS", &[("bBar1Mapping", 1)])?;
        let object = link.client.create(link.subdevice, class, Some(&mut params), "the doorbell")?;
        let node = Node::Gpu(link.card.minor);
        // SAFETY: no address is given.
        let page = unsafe { link.client.map(node, link.subdevice, object, Self::LENGTH, 0, None) }?;
        Ok(Self { link: Arc::clone(link), page })
    }

    #[inline]
    fn ring(&self, token: u32) {
        // SAFETY: the register is inside the mapping, which this keeps.
        unsafe { self.page.add(Self::REGISTER).cast::<u32>().as_ptr().write_volatile(token) };
        store_fence();
    }
}

impl Drop for Doorbell {
    fn drop(&mut self) {
        // SAFETY: the mapping is this object's.
        unsafe { self.link.client.kernel.unmap(self.page, Self::LENGTH as usize) };
    }
}

/// Channels that share one time slice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group {
    pub handle: Handle,
    /// The context share of a compute group.
    share: Handle,
    engine: u32,
}

impl Group {
    /// A group on an engine: `0x1` for compute, 9 + N for copy engine N.
    pub fn new(link: &Link, space: Handle, engine: u32, shared: bool) -> Result<Self> {
        let client = &link.client;
        let own_space = if shared { 0 } else { space };
        let fields = [("hVASpace", own_space.into()), ("engineType", engine.into())];
        let mut params = client.filled("NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS", &fields)?;
        let handle = client.create(link.device, CHANNEL_GROUP, Some(&mut params), "a channel group")?;
        let mut share = 0;
        if shared {
            const ASYNCHRONOUS: u64 = 1;
            let fields = [("hVASpace", space.into()), ("flags", ASYNCHRONOUS)];
            let mut params = client.filled("NV_CTXSHARE_ALLOCATION_PARAMETERS", &fields)?;
            share = client.create(handle, CONTEXT_SHARE, Some(&mut params), "a context share")?;
        }
        Ok(Self { handle, share, engine })
    }
}

/// A scheduled channel. Its memory begins with ring and USERD.
#[derive(Debug)]
pub(crate) struct Channel {
    pub handle: Handle,
    /// The compute object.
    pub compute: Option<Handle>,
    token: u32,
    put: u64,
    memory: NonNull<u8>,
}

// SAFETY: the pointer is to the lane's memory, which outlives this; the lane's lock orders its stores.
unsafe impl Send for Channel {}

impl Channel {
    /// Makes a channel in a group and schedules it. `copy_engine` is set for a copy group.
    pub fn new(
        space: &Space,
        group: Group,
        classes: Classes,
        memory: &Allocation,
        notifier: Handle,
        copy_engine: bool,
    ) -> Result<Self> {
        let client = &space.link.client;
        let host = memory.host.ok_or(Error::Unsupported("a ring that the CPU cannot write"))?;
        let fields = [
            ("hObjectError", u64::from(notifier)),
            ("gpFifoOffset", memory.address),
            ("gpFifoEntries", ENTRIES),
            ("hContextShare", group.share.into()),
            ("hUserdMemory[0]", memory.memory().into()),
            ("userdOffset[0]", USERD as u64),
            ("engineType", group.engine.into()),
        ];
        let mut params = client.filled("NV_CHANNEL_ALLOC_PARAMS", &fields)?;
        let handle = client.create(group.handle, classes.channel, Some(&mut params), "a channel")?;
        let mut compute = None;
        if copy_engine {
            let fields = [("version", 1), ("engineType", group.engine.into())];
            let mut params = client.filled("NVB0B5_ALLOCATION_PARAMETERS", &fields)?;
            client.create(handle, classes.copy, Some(&mut params), "a copy object")?;
        } else {
            let mut params = client.filled("NV_GR_ALLOCATION_PARAMETERS", &[("version", 2), ("size", 16)])?;
            compute = Some(client.create(handle, classes.compute, Some(&mut params), "a compute object")?);
        }
        space.register_channel(handle, copy_engine)?;
        let token = client.query(handle, controls::SUBMIT_TOKEN, &[])?;
        let token = client.field(&token, "workSubmitToken")? as u32;
        client.query(handle, controls::SCHEDULE, &[("bEnable", 1)])?;
        Ok(Self { handle, compute, token, put: 0, memory: host })
    }

    /// Gives a compute channel a copy object, on the copy engine that belongs to the graphics engine.
    pub fn add_copy_object(&self, link: &Link, class: u32) -> Result<()> {
        let client = &link.client;
        let mut params = client.filled("NVB0B5_ALLOCATION_PARAMETERS", &[("version", 0), ("engineType", 1)])?;
        client.create(self.handle, class, Some(&mut params), "a copy object").map(drop)
    }

    /// Appends an entry and rings. The caller knows that the ring has room.
    #[inline]
    pub fn submit(&mut self, entry: u64, doorbell: &Doorbell) {
        let at = (self.put % ENTRIES) as usize;
        self.put += 1;
        // SAFETY: ring and USERD are inside the lane's memory; the lane's lock makes this the only writer.
        unsafe {
            self.memory.cast::<u64>().as_ptr().add(at).write_volatile(entry);
            store_fence();
            let put = self.memory.as_ptr().add(GP_PUT).cast::<u32>();
            put.write_volatile((self.put % ENTRIES) as u32);
        }
        store_fence();
        doorbell.ring(self.token);
    }

    /// Takes the channel off the runlist.
    pub fn stop(&self, link: &Link) {
        let _ = link.client.query(self.handle, controls::SCHEDULE, &[]);
    }
}
