//! An RM client: objects, controls and mappings of the kernel driver, each one ioctl. Structs are
//! filled by the names of their fields, in the layout of the running driver.

use crate::base::error::{Error, Result};
use crate::base::fork;
use crate::kernel_driver::controls::Control;
use crate::kernel_driver::nodes::{Descriptor, Kernel, Node};
use cutap_rm::{Fit, Params, Tables, escape_request};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

const CARD_INFO: u8 = 0xc8;
const ALLOC_MEMORY: u8 = 0x27;
const FREE: u8 = 0x29;
const CONTROL: u8 = 0x2a;
const ALLOC: u8 = 0x2b;
const REGISTER_FD: u8 = 0xc9;
const MAP_MEMORY: u8 = 0x4e;
const MAP_MEMORY_DMA: u8 = 0x57;

const NO_MEMORY: u32 = 0x51;
const INSUFFICIENT_RESOURCES: u32 = 0x1a;

/// The first handle that a client gives to an object. RM's own begin with 0xc1d.
const FIRST_HANDLE: u32 = 0xcafe_0001;

/// A handle of RM.
pub(crate) type Handle = u32;

/// A field and its value.
pub(crate) type Set<'a> = (&'a str, u64);

/// A client of the resource manager. Dropping it frees all its objects.
pub(crate) struct Client {
    pub kernel: Arc<dyn Kernel>,
    control: Descriptor,
    pub tables: Tables,
    pub fit: Fit,
    pub version: String,
    pub root: Handle,
    next: AtomicU32,
    ioctls: AtomicU64,
    closed: AtomicBool,
    born: u32,
}

impl Client {
    /// Opens `/dev/nvidiactl`. The client has no root object yet.
    pub fn open(kernel: Arc<dyn Kernel>) -> Result<Self> {
        fork::watch();
        let control = Descriptor::open(&kernel, Node::Control)?;
        let version = kernel.version().map_err(|why| Error::system("reading the driver's version", why))?;
        let selected = Tables::select(&version).ok_or_else(|| Error::UnknownVersion(version.clone()))?;
        Ok(Self {
            kernel,
            control,
            tables: selected.tables,
            fit: selected.fit,
            version,
            root: 0,
            next: AtomicU32::new(FIRST_HANDLE),
            ioctls: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            born: fork::generation(),
        })
    }

    /// Allocates the root object: from here on there are objects.
    pub fn connect(&mut self) -> Result<()> {
        self.root = self.allocate(0, 0, 0x41, None, "the client")?;
        Ok(())
    }

    /// The ioctls so far.
    pub fn ioctls(&self) -> u64 {
        self.ioctls.load(Ordering::Relaxed)
    }

    /// A struct with these fields set.
    pub fn filled(&self, record: &str, fields: &[Set<'_>]) -> Result<Params> {
        let mut params = Params::new(self.tables, record).map_err(|_| self.unknown(record))?;
        for (field, value) in fields {
            params.set(field, *value).map_err(|_| self.unknown(&format!("{record}.{field}")))?;
        }
        Ok(params)
    }

    /// A field of a struct that the driver has written.
    pub fn field(&self, params: &Params, field: &str) -> Result<u64> {
        params.get(field).map_err(|_| self.unknown(&format!("{}.{field}", params.record().name())))
    }

    fn unknown(&self, item: &str) -> Error {
        Error::Tables { release: self.tables.release(), item: item.to_owned() }
    }

    /// The child of a fork has its parent's descriptors: a request there would free or change what the parent has.
    fn check_process(&self) -> Result<()> {
        if self.born == fork::generation() { Ok(()) } else { Err(Error::Forked) }
    }

    /// One ioctl of the frontend. `status` is the field with RM's answer.
    fn escape(&self, fd: i32, number: u8, params: &mut Params, status: Option<&str>, request_name: &str) -> Result<()> {
        self.check_process()?;
        let request = escape_request(number, params.bytes().len());
        self.ioctls.fetch_add(1, Ordering::Relaxed);
        // SAFETY: addresses in the struct are 0 or those of buffers that outlive this call, with the sizes beside them.
        unsafe { self.kernel.ioctl(fd, request, params.bytes_mut()) }
            .map_err(|why| Error::system(request_name, why))?;
        match status.map(|field| self.field(params, field)).transpose()? {
            None | Some(0) => Ok(()),
            Some(status) => Err(self.refused(request_name, status as u32)),
        }
    }

    pub fn refused(&self, request_name: &str, status: u32) -> Error {
        let name = self.tables.status(status).unwrap_or("unknown status");
        Error::Refused { request: request_name.to_owned(), status, name }
    }

    /// One request to the unified memory driver. Its number has no size in it.
    pub fn uvm(&self, node: &Descriptor, number: u32, params: &mut Params, request_name: &str) -> Result<()> {
        self.check_process()?;
        self.ioctls.fetch_add(1, Ordering::Relaxed);
        // SAFETY: these structs have no address of a buffer in them.
        unsafe { self.kernel.ioctl(node.fd, number, params.bytes_mut()) }
            .map_err(|why| Error::system(request_name, why))?;
        match self.field(params, "rmStatus")? {
            0 => Ok(()),
            status => Err(self.refused(request_name, status as u32)),
        }
    }

    /// The descriptor of the control node, as other drivers need it.
    pub fn control_fd(&self) -> i32 {
        self.control.fd
    }

    /// Writes bytes into a field of a struct.
    pub fn set_bytes(&self, params: &mut Params, field: &str, bytes: &[u8]) -> Result<()> {
        let name = params.record().name();
        params.set_bytes(field, bytes).map(drop).map_err(|_| self.unknown(&format!("{name}.{field}")))
    }

    /// The cards that the driver lists: the array's bytes.
    pub fn cards(&self) -> Result<Vec<u8>> {
        let record = self.tables.record("nv_ioctl_card_info_t").ok_or_else(|| self.unknown("nv_ioctl_card_info_t"))?;
        let mut bytes = vec![0; record.size() * 32];
        let request = escape_request(CARD_INFO, bytes.len());
        self.ioctls.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the array has no address in it.
        unsafe { self.kernel.ioctl(self.control.fd, request, &mut bytes) }
            .map_err(|why| Error::system("the list of cards", why))?;
        Ok(bytes)
    }

    /// A handle that no object has.
    pub fn handle(&self) -> Handle {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Allocates an object.
    pub fn create(
        &self,
        parent: Handle,
        class: u32,
        params: Option<&mut Params>,
        request_name: &str,
    ) -> Result<Handle> {
        self.allocate(parent, self.handle(), class, params, request_name)
    }

    fn allocate(
        &self,
        parent: Handle,
        handle: Handle,
        class: u32,
        params: Option<&mut Params>,
        request_name: &str,
    ) -> Result<Handle> {
        let (address, size) = params.map_or((0, 0), |p| (p.bytes_mut().as_mut_ptr() as u64, p.bytes().len() as u64));
        let fields = [
            ("hRoot", u64::from(self.root)),
            ("hObjectParent", u64::from(parent)),
            ("hObjectNew", u64::from(handle)),
            ("hClass", u64::from(class)),
            ("pAllocParms", address),
            ("paramsSize", size),
        ];
        let mut call = self.filled("NVOS64_PARAMETERS", &fields)?;
        self.escape(self.control.fd, ALLOC, &mut call, Some("status"), request_name)?;
        Ok(self.field(&call, "hObjectNew")? as Handle)
    }

    /// Frees an object and all below it.
    pub fn free(&self, parent: Handle, handle: Handle) -> Result<()> {
        let fields = [("hRoot", self.root.into()), ("hObjectParent", parent.into()), ("hObjectOld", handle.into())];
        let mut call = self.filled("NVOS00_PARAMETERS", &fields)?;
        self.escape(self.control.fd, FREE, &mut call, Some("status"), "freeing an object")
    }

    /// One control whose struct the tables may not have.
    pub fn control_bytes(&self, object: Handle, command: u32, bytes: &mut [u8], name: &str) -> Result<()> {
        let fields = [
            ("hClient", u64::from(self.root)),
            ("hObject", u64::from(object)),
            ("cmd", u64::from(command)),
            ("params", bytes.as_mut_ptr() as u64),
            ("paramsSize", bytes.len() as u64),
        ];
        let mut call = self.filled("NVOS54_PARAMETERS", &fields)?;
        self.escape(self.control.fd, CONTROL, &mut call, Some("status"), name)
    }

    /// One control, its struct filled with these fields; the struct after the call.
    pub fn query(&self, object: Handle, control: Control, fields: &[Set<'_>]) -> Result<Params> {
        let row = self.tables.control_named(control).ok_or_else(|| self.unknown(control))?;
        let mut params = Params::of(row.params().ok_or_else(|| self.unknown(control))?);
        for (field, value) in fields {
            params.set(field, *value).map_err(|_| self.unknown(&format!("{field} of {control}")))?;
        }
        self.control_bytes(object, row.number(), params.bytes_mut(), control)?;
        Ok(params)
    }

    /// Makes an object's memory visible to the CPU: `flags` are those of NVOS33.
    ///
    /// # Safety
    /// As [`Kernel::map`]: `at` is reserved and unused.
    pub unsafe fn map(
        &self,
        node: Node,
        device: Handle,
        memory: Handle,
        length: u64,
        flags: u64,
        at: Option<NonNull<u8>>,
    ) -> Result<NonNull<u8>> {
        let descriptor = Descriptor::open(&self.kernel, node)?;
        let fields = [
            ("params.hClient", u64::from(self.root)),
            ("params.hDevice", u64::from(device)),
            ("params.hMemory", u64::from(memory)),
            ("params.length", length),
            ("params.flags", flags),
            ("fd", descriptor.fd as u64),
        ];
        let mut call = self.filled("nv_ioctl_nvos33_parameters_with_fd", &fields)?;
        self.escape(self.control.fd, MAP_MEMORY, &mut call, Some("params.status"), "a mapping for the CPU")?;
        // SAFETY: the caller reserved `at`.
        let mapping = unsafe { self.kernel.map(descriptor.fd, at, length as usize) };
        mapping.map_err(|why| Error::system("mmap of GPU memory", why))
    }

    /// Maps memory into a virtual object; the GPU's address.
    pub fn map_dma(&self, device: Handle, range: Handle, memory: Handle, offset: u64, length: u64) -> Result<u64> {
        const CACHE_SNOOP: u64 = 0x10;
        let fields = [
            ("hClient", u64::from(self.root)),
            ("hDevice", u64::from(device)),
            ("hDma", u64::from(range)),
            ("hMemory", u64::from(memory)),
            ("offset", offset),
            ("length", length),
            ("flags", CACHE_SNOOP),
        ];
        let mut call = self.filled("NVOS46_PARAMETERS", &fields)?;
        self.escape(self.control.fd, MAP_MEMORY_DMA, &mut call, Some("status"), "a mapping for the GPU")?;
        self.field(&call, "dmaOffset")
    }

    /// Ties a device node's descriptor to this client's. `ALLOC_MEMORY` on the device node needs it before.
    pub fn register_node(&self, gpu: &Descriptor) -> Result<()> {
        let mut call = self.filled("nv_ioctl_register_fd_t", &[("ctl_fd", self.control.fd as u64)])?;
        self.escape(gpu.fd, REGISTER_FD, &mut call, None, "tying the device node to the client")
    }

    /// Makes pages of the program an object: `gpu` is an open device node.
    pub fn register(&self, gpu: &Descriptor, device: Handle, start: u64, length: u64) -> Result<Handle> {
        // Physically scattered, CPU-cached, no mapping by the driver.
        const FLAGS: u64 = 0x4000_1010;
        let fields = [
            ("params.hRoot", u64::from(self.root)),
            ("params.hObjectParent", u64::from(device)),
            ("params.hObjectNew", u64::from(self.handle())),
            ("params.hClass", 0x71),
            ("params.flags", FLAGS),
            ("params.pMemory", start),
            ("params.limit", length.saturating_sub(1)),
            ("fd", -1_i64 as u64),
        ];
        let mut call = self.filled("nv_ioctl_nvos02_parameters_with_fd", &fields)?;
        self.escape(gpu.fd, ALLOC_MEMORY, &mut call, Some("params.status"), "registering memory of the program")?;
        Ok(self.field(&call, "params.hObjectNew")? as Handle)
    }
}

impl Client {
    /// Frees the client with all its objects. Closing the descriptor does the same, later.
    pub fn close(&self) {
        if self.root != 0 && !self.closed.swap(true, Ordering::AcqRel) {
            let _ = self.free(self.root, self.root);
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.close();
    }
}

/// Turns a refusal for lack of memory into [`Error::NoMemory`].
pub(crate) fn or_no_memory<T>(result: Result<T>, memory_kind: &'static str, bytes: u64) -> Result<T> {
    result.map_err(|error| match error {
        Error::Refused { status: NO_MEMORY | INSUFFICIENT_RESOURCES, .. } => Error::NoMemory { memory_kind, bytes },
        error => error,
    })
}
