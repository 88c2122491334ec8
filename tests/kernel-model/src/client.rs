//! A program that makes a scheduled channel, by 17 requests, with the writer of `cutap_rm`. The sequence is that of
//! the proof on
//! an H200 (mode A: page tables of RM, no UVM).

use crate::memory::Memory;
use crate::recorder::Recorder;
use cutap_rm::{Params, escape_request};

/// Handles are given from here.
const FIRST: u32 = 0xcafe_0001;
/// Bytes of the one buffer: error notifier, ring, USERD, stream, code, data.
const BUFFER: u64 = 0x14_0000;
/// Entries of the ring.
const ENTRIES: u64 = 1024;

/// What the program made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Channel {
    pub client: u32,
    pub handle: u32,
    /// With which the doorbell is rung.
    pub token: u64,
    /// Where the doorbell is mapped.
    pub doorbell: i64,
    /// Where the buffer is, for the GPU.
    pub gpu_address: u64,
}

struct Client<'a> {
    of: &'a mut Recorder,
    control: i32,
    client: u32,
    next: u32,
}

/// Why the program gave up: the request and its status, or its error.
pub type Refused = (&'static str, i64);

/// Makes the channel.
pub fn channel(of: &mut Recorder) -> Result<Channel, Refused> {
    let control = of.open("/dev/nvidiactl");
    of.open("/dev/nvidia0");
    let mut c = Client { of, control, client: 0, next: FIRST };
    let cards = c.request("CARD_INFO", 0xc8, &mut [0; 32 * 72], &[]).map(|bytes| bytes[16])?;
    c.client = c.alloc(0x41, 0, &[])?;
    let mut id = c.params("NV0000_CTRL_GPU_GET_ID_INFO_V2_PARAMS");
    set(&mut id, "gpuId", cards.into());
    let instance = get(&c.control(0x205, c.client, id)?, "deviceInstance");
    let device =
        c.alloc(0x80, c.client, &[("deviceId", instance), ("hClientShare", c.client.into()), ("vaMode", 2)])?;
    let subdevice = c.alloc(0x2080, device, &[])?;
    let usermode = c.alloc(0xc661, subdevice, &[("bBar1Mapping", 1)])?;
    let doorbell = c.map(subdevice, usermode, 0x1_0000, "/dev/nvidia0")?;
    let space = c.alloc(0x90f1, device, &[])?;
    let owner = ("owner", u64::from(c.client));
    let memory = c.alloc(0x3e, device, &[owner, ("type", 0), ("attr", 0x1a00_0000), ("size", BUFFER)])?;
    c.map(device, memory, BUFFER, "/dev/nvidiactl")?;
    let range = [owner, ("flags", 0x8_0000), ("size", BUFFER), ("alignment", 0x1_0000), ("hVASpace", space.into())];
    let virtual_memory = c.alloc(0x50a0, device, &range)?;
    let gpu_address = c.map_dma(device, virtual_memory, memory)?;
    let group = c.alloc(0xa06c, device, &[("hVASpace", space.into()), ("engineType", 1)])?;
    let handle = c.alloc(
        0xc86f,
        group,
        &[
            ("gpFifoOffset", gpu_address + 0x1000),
            ("gpFifoEntries", ENTRIES),
            ("hUserdMemory[0]", memory.into()),
            ("userdOffset[0]", 0x3000),
            ("engineType", 1),
        ],
    )?;
    c.alloc(0xcbc0, handle, &[])?;
    let token = c.params("NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN_PARAMS");
    let token = get(&c.control(0xc36f_0108, handle, token)?, "workSubmitToken");
    let mut schedule = c.params("NVA06F_CTRL_GPFIFO_SCHEDULE_PARAMS");
    set(&mut schedule, "bEnable", 1);
    c.control(0xa06f_0103, handle, schedule)?;
    Ok(Channel { client: c.client, handle, token, doorbell, gpu_address })
}

/// Frees the client, and with it all that it made.
pub fn free(of: &mut Recorder, channel: Channel) -> Result<(), Refused> {
    let mut c = Client { of, control: 3, client: channel.client, next: 0 };
    let mut params = c.params("NVOS00_PARAMETERS");
    set(&mut params, "hRoot", channel.client.into());
    set(&mut params, "hObjectOld", channel.client.into());
    c.checked("FREE", 0x29, params, "status", &[]).map(|_| ())
}

impl Client<'_> {
    fn params(&self, name: &str) -> Params {
        Params::new(self.of.tables(), name).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    fn request(
        &mut self,
        name: &'static str,
        number: u8,
        bytes: &mut [u8],
        inside: &[(u64, usize)],
    ) -> Result<Vec<u8>, Refused> {
        match self.of.ioctl(self.control, escape_request(number, bytes.len()), bytes, inside) {
            0 => Ok(bytes.to_vec()),
            error => Err((name, error)),
        }
    }

    /// A request whose struct has a status.
    fn checked(
        &mut self,
        name: &'static str,
        number: u8,
        mut params: Params,
        status: &str,
        inside: &[(u64, usize)],
    ) -> Result<Params, Refused> {
        let mut bytes = params.bytes().to_vec();
        let answer = self.request(name, number, &mut bytes, inside)?;
        params.bytes_mut().copy_from_slice(&answer);
        match get(&params, status) {
            0 => Ok(params),
            status => Err((name, status.cast_signed())),
        }
    }

    fn alloc(&mut self, class: u32, parent: u32, fields: &[(&str, u64)]) -> Result<u32, Refused> {
        let known = self.of.tables().class(class).unwrap_or_else(|| panic!("class {class:#x}"));
        let given = known.params().filter(|_| !fields.is_empty()).map(|record| {
            let mut given = Params::of(record);
            fields.iter().for_each(|(field, value)| set(&mut given, field, *value));
            given
        });
        let at = given.map_or((0, 0), |g| (self.of.memory.place(g.bytes()), g.bytes().len()));
        let mut params = self.params("NVOS64_PARAMETERS");
        let handle = if class == 0x41 { 0 } else { self.next };
        self.next += u32::from(class != 0x41);
        let words = [
            ("hRoot", self.client.into()),
            ("hObjectParent", parent.into()),
            ("hObjectNew", handle.into()),
            ("hClass", class.into()),
            ("pAllocParms", at.0),
        ];
        words.iter().for_each(|(field, value)| set(&mut params, field, *value));
        let inside: &[(u64, usize)] = if at.1 == 0 { &[] } else { &[at] };
        let answer = self.checked(known.name(), 0x2b, params, "status", inside)?;
        Ok(get(&answer, "hObjectNew") as u32)
    }

    fn control(&mut self, command: u32, object: u32, given: Params) -> Result<Params, Refused> {
        let (at, len) = (self.of.memory.place(given.bytes()), given.bytes().len());
        let mut params = self.params("NVOS54_PARAMETERS");
        let words = [
            ("hClient", self.client.into()),
            ("hObject", object.into()),
            ("cmd", command.into()),
            ("params", at),
            ("paramsSize", len as u64),
        ];
        words.iter().for_each(|(field, value)| set(&mut params, field, *value));
        let name = self.of.tables().control(command).map_or("control", |c| c.name());
        self.checked(name, 0x2a, params, "status", &[(at, len)])?;
        let mut answer = given;
        let bytes = self.of.memory.read(at, len).unwrap_or_default();
        answer.bytes_mut().copy_from_slice(&bytes);
        Ok(answer)
    }

    fn map(&mut self, device: u32, memory: u32, length: u64, node: &str) -> Result<i64, Refused> {
        // Each mapping has a fresh descriptor.
        let fd = self.of.open(node);
        let mut params = self.params("nv_ioctl_nvos33_parameters_with_fd");
        let words = [
            ("params.hClient", self.client.into()),
            ("params.hDevice", device.into()),
            ("params.hMemory", memory.into()),
            ("params.length", length),
            ("fd", u64::from(fd.cast_unsigned())),
        ];
        words.iter().for_each(|(field, value)| set(&mut params, field, *value));
        self.checked("MAP_MEMORY", 0x4e, params, "params.status", &[])?;
        let at = self.of.mmap(fd, length);
        self.of.close(fd);
        if at < 0 { Err(("mmap", at)) } else { Ok(at) }
    }

    fn map_dma(&mut self, device: u32, range: u32, memory: u32) -> Result<u64, Refused> {
        let mut params = self.params("NVOS46_PARAMETERS");
        let words = [
            ("hClient", self.client.into()),
            ("hDevice", device.into()),
            ("hDma", range.into()),
            ("hMemory", memory.into()),
            ("length", BUFFER),
        ];
        words.iter().for_each(|(field, value)| set(&mut params, field, *value));
        self.checked("MAP_MEMORY_DMA", 0x57, params, "status", &[]).map(|answer| get(&answer, "dmaOffset"))
    }
}

fn set(params: &mut Params, field: &str, value: u64) {
    params.set(field, value).unwrap_or_else(|e| panic!("{field}: {e}"));
}

fn get(params: &Params, field: &str) -> u64 {
    params.get(field).unwrap_or_else(|e| panic!("{field}: {e}"))
}
