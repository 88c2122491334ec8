//! What the driver answers. Statuses are those that an H200 gave (`proof/cudest/README.md` of the research).

use crate::gpu::{Channel, Gpu};
use crate::memory::Memory;
use crate::objects::{Object, Objects};
use crate::recorded::{Answer, Answers, Handles, Match, Question, translated, word};
use cutap_rm::{Device, Params, Tables, escape_of};
use std::collections::VecDeque;

mod controls;

const EBADF: i64 = -9;
const EFAULT: i64 = -14;
const ENODEV: i64 = -19;
const EINVAL: i64 = -22;

const OK: u64 = 0;
const INSUFFICIENT_PERMISSIONS: u64 = 0x1b;
const INVALID_ARGUMENT: u64 = 0x1f;
const INVALID_OBJECT_HANDLE: u64 = 0x33;
const OBJECT_NOT_FOUND: u64 = 0x57;
const NOT_SUPPORTED: u64 = 0x56;

/// Of the one GPU.
const GPU_ID: u64 = 6;
/// GPU addresses that the driver chooses.
const FIRST_GPU_ADDRESS: u64 = 0x1_2000_0000;
/// Addresses of mappings.
const FIRST_MAPPING: u64 = 0x7fc4_0000_0000;

/// An open node.
#[derive(Debug, Clone, Default)]
struct Node {
    path: String,
    /// The client and memory that `MAP_MEMORY` prepared, and its bytes.
    prepared: Option<(u32, u32, u64)>,
}

/// The driver.
#[derive(Debug)]
pub struct Model {
    tables: Tables,
    objects: Objects,
    files: Vec<Option<Node>>,
    gpu_addresses: u64,
    mappings: u64,
    answers: Option<Answers>,
    notes: Vec<Note>,
    gpu: Gpu,
}

/// A request for which the model had no exact answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The request by name and number.
    pub request: String,
    /// What the model did.
    pub done: String,
    /// Whether it refused the request.
    pub refused: bool,
}

/// The handles of one client.
struct Own<'a>(&'a Objects, u32);

impl Handles for Own<'_> {
    fn class(&self, handle: u32) -> Option<u32> {
        let client = self.0.get(handle, handle);
        self.0.get(self.1, handle).or(client).map(|object| object.class)
    }
}

impl Model {
    /// With one GPU, and no object.
    pub fn new(tables: Tables) -> Self {
        // Standard input, output and error.
        let files = vec![Some(Node::default()); 3];
        Self {
            tables,
            objects: Objects::default(),
            files,
            gpu_addresses: FIRST_GPU_ADDRESS,
            mappings: FIRST_MAPPING,
            answers: None,
            notes: Vec::new(),
            gpu: Gpu::default(),
        }
    }

    /// With the recorded answers too: enough for a real libcuda.
    pub fn with_answers(tables: Tables, answers: Answers) -> Self {
        Self { answers: Some(answers), ..Self::new(tables) }
    }

    /// The launch with this number, from 1 on, ends with an Xid. All work after it stays undone.
    pub fn plant_fault(&mut self, xid: u32, launch: usize) {
        self.gpu.fault = Some((xid, launch));
    }

    /// The requests since the last call that had no exact answer.
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// Whether there is a channel, which `run` serves.
    pub fn has_channels(&self) -> bool {
        !self.gpu.channels.is_empty()
    }

    /// Runs what channels have, apart from kernels. Whether anything was done.
    pub fn run(&mut self, memory: &mut dyn Memory) -> bool {
        let before = self.gpu.launches;
        let done = self.gpu.run(memory);
        for _ in before..self.gpu.launches {
            self.note("launch of a kernel".to_owned(), "it ends immediately, and computes nothing".to_owned(), true);
        }
        done
    }

    /// The bytes of the mapping that `MAP_MEMORY` prepared for a descriptor.
    pub fn prepared(&self, fd: i32) -> Option<u64> {
        self.node(fd)?.prepared.map(|(_, _, size)| size)
    }

    /// How many objects there are.
    pub fn objects(&self) -> usize {
        self.objects.len()
    }

    /// Whether a channel is scheduled.
    pub fn is_scheduled(&self, client: u32, channel: u32) -> bool {
        self.objects.get(client, channel).is_some_and(|o| o.scheduled)
    }

    /// The path of a descriptor.
    pub fn path(&self, fd: i32) -> &str {
        self.node(fd).map_or("", |node| &node.path)
    }

    /// A descriptor, or an error.
    pub fn open(&mut self, path: &str) -> i64 {
        if !["/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm"].contains(&path) {
            return ENODEV;
        }
        let free = self.files.iter().position(Option::is_none).unwrap_or(self.files.len());
        self.open_as(free, path);
        free as i64
    }

    /// Opens a node as this descriptor.
    pub fn open_as(&mut self, fd: usize, path: &str) {
        self.files.resize(self.files.len().max(fd + 1), None);
        self.files[fd] = Some(Node { path: path.to_owned(), prepared: None });
    }

    /// 0, or an error.
    pub fn close(&mut self, fd: i32) -> i64 {
        let found = usize::try_from(fd).ok().and_then(|fd| self.files.get_mut(fd));
        found.and_then(Option::take).map_or(EBADF, |_| 0)
    }

    /// An address, or an error: what `MAP_MEMORY` prepared for this descriptor.
    pub fn mmap(&mut self, fd: i32, length: u64) -> i64 {
        let Some(node) = self.node_mut(fd) else { return EBADF };
        let Some((_, _, size)) = node.prepared.take().filter(|(_, _, size)| length <= *size) else { return EINVAL };
        let at = self.mappings;
        self.mappings += size.next_multiple_of(0x1_0000);
        at.cast_signed()
    }

    fn node(&self, fd: i32) -> Option<&Node> {
        self.files.get(usize::try_from(fd).ok()?)?.as_ref()
    }

    fn node_mut(&mut self, fd: i32) -> Option<&mut Node> {
        self.files.get_mut(usize::try_from(fd).ok()?)?.as_mut()
    }

    /// A request whose argument is at an address.
    pub fn ioctl(&mut self, fd: i32, request: u32, argument: u64, memory: &mut dyn Memory) -> i64 {
        let Some(path) = self.node(fd).map(|node| node.path.clone()) else { return EBADF };
        let device = Device::of_path(&path).unwrap_or(Device::Other);
        if matches!(device, Device::Uvm | Device::UvmTools) {
            return self.uvm(device, request, argument, memory);
        }
        let (number, size) = escape_of(request);
        let Some(bytes) = memory.read(argument, size) else { return EFAULT };
        let is_control = device == Device::Control;
        let params = |name: &str| {
            let mut params = Params::new(self.tables, name).ok()?;
            (params.bytes().len() == size).then(|| params.bytes_mut().copy_from_slice(&bytes))?;
            Some(params)
        };
        // A struct of another size than the driver's is refused before anything is read.
        let answer = match number {
            0x29 => params("NVOS00_PARAMETERS").map(|p| self.free(p)),
            0x2a => params("NVOS54_PARAMETERS").map(|p| self.control(p, memory)),
            // Both structs are accepted.
            0x2b => match (params("NVOS64_PARAMETERS"), params("NVOS21_PARAMETERS")) {
                (Some(p), _) => Some(self.alloc(p, memory)),
                (None, Some(old)) => Params::new(self.tables, "NVOS64_PARAMETERS").ok().map(|new| {
                    let made = self.alloc(translated(&old, new.record()), memory);
                    translated(&made, old.record())
                }),
                _ => None,
            },
            0x4e if is_control => params("nv_ioctl_nvos33_parameters_with_fd").map(|p| self.map(p)),
            0x57 => params("NVOS46_PARAMETERS").map(|p| self.map_dma(p)),
            0xc8 if is_control && size % 72 == 0 && self.answers.is_none() => {
                return self.cards(size, argument, memory);
            }
            _ => {
                let name = self.tables.escape(number).map_or("escape", |escape| escape.name());
                let name = format!("{name} {number:#x} with {size} bytes");
                return match self.recorded(Question::Escape(number, size), &bytes, 0, memory, name) {
                    Some(answer) if memory.write(argument, &answer.bytes) => {
                        self.made_by_escape(number, &answer.bytes);
                        0
                    }
                    Some(_) => EFAULT,
                    None => EINVAL,
                };
            }
        };
        match answer {
            Some(answer) if memory.write(argument, answer.bytes()) => 0,
            Some(_) => EFAULT,
            None => {
                let name = self.tables.escape(number).map_or("escape", |escape| escape.name());
                self.note(format!("{name} {number:#x} with {size} bytes"), "no such struct, EINVAL".to_owned(), true);
                EINVAL
            }
        }
    }

    /// Objects that replayed requests make: `ALLOC_MEMORY` and `DUP_OBJECT`.
    fn made_by_escape(&mut self, number: u32, bytes: &[u8]) {
        let (client, parent, handle) = (word(bytes, 0), word(bytes, 4), word(bytes, 8));
        let class = match number {
            0x27 => word(bytes, 12),
            0x34 => match self.objects.get(word(bytes, 12), word(bytes, 16)) {
                Some(source) => source.class,
                None => return,
            },
            _ => return,
        };
        self.objects.add(client, handle, Object { parent, class, ..Object::default() });
    }

    fn uvm(&mut self, device: Device, request: u32, argument: u64, memory: &mut dyn Memory) -> i64 {
        let name = self.tables.uvm(request).map_or("UVM", |uvm| uvm.name());
        let name = format!("{name} {request:#x}");
        let Some(size) = self.tables.argument_size(device, request) else {
            self.note(name, "no such request, EINVAL".to_owned(), true);
            return EINVAL;
        };
        let Some(bytes) = memory.read(argument, size) else { return EFAULT };
        match self.recorded(Question::Uvm(request), &bytes, 0, memory, name) {
            Some(answer) if memory.write(argument, &answer.bytes) => {
                self.mapped_by_uvm(request, &bytes);
                0
            }
            Some(_) => EFAULT,
            None => EINVAL,
        }
    }

    /// Where memory is for the GPU, and where none is any more.
    fn mapped_by_uvm(&mut self, request: u32, bytes: &[u8]) {
        const MAP_EXTERNAL_ALLOCATION: u32 = 0x21;
        const FREE: u32 = 0x22;
        let record = self.tables.uvm(request).and_then(|uvm| uvm.params());
        let is_known = matches!(request, MAP_EXTERNAL_ALLOCATION | FREE);
        let Some(mut p) = record.filter(|_| is_known).map(Params::of) else { return };
        p.bytes_mut().copy_from_slice(bytes);
        if request == FREE {
            return self.gpu.unmap(get(&p, "base"));
        }
        let memory = (number(&p, "hClient"), number(&p, "hMemory"));
        self.gpu.map(memory, get(&p, "base"), get(&p, "length"), get(&p, "offset"));
    }

    fn note(&mut self, request: String, done: String, refused: bool) {
        if self.answers.is_some() {
            self.notes.push(Note { request, done, refused });
        }
    }

    /// The recorded answer, with what it wrote behind pointers.
    fn recorded(
        &mut self,
        question: Question,
        bytes: &[u8],
        client: u32,
        memory: &mut dyn Memory,
        name: String,
    ) -> Option<Answer> {
        let answers = self.answers.as_ref()?;
        let read = |at: u64, len: usize| memory.read(at, len);
        let found = answers.find(question, bytes, &Own(&self.objects, client), &read);
        match found.as_ref().map(|answer| answer.fits) {
            Some(Match::Exact) => {}
            Some(Match::Near(bytes)) => {
                self.note(name, format!("the recorded request differs in {bytes} bytes"), false);
            }
            Some(Match::NoIndex(index)) => self.note(name, format!("no recorded list has index {index:#x}"), false),
            None => self.note(name, "no recorded answer".to_owned(), true),
        }
        for (at, bytes) in found.iter().flat_map(|answer| &answer.memory) {
            memory.write(*at, bytes);
        }
        found
    }

    fn cards(&self, size: usize, argument: u64, memory: &mut dyn Memory) -> i64 {
        let Ok(mut card) = Params::new(self.tables, "nv_ioctl_card_info_t") else { return EINVAL };
        for (field, value) in
            [("valid", 1), ("gpu_id", GPU_ID), ("reg_size", 0x100_0000), ("pci_info.vendor_id", 0x10de)]
        {
            card.set(field, value).expect("a field of the card");
        }
        let mut all = vec![0; size];
        all[..card.bytes().len()].copy_from_slice(card.bytes());
        if memory.write(argument, &all) { 0 } else { EFAULT }
    }

    fn free(&mut self, mut p: Params) -> Params {
        // To free what is not there succeeds, as long as there is the client.
        let client = number(&p, "hRoot");
        let known = self.objects.get(client, client).is_some();
        let handle = number(&p, "hObjectOld");
        self.objects.free(client, handle);
        self.gpu.channels.retain(|(of, channel), _| *of != client || (*channel != handle && handle != client));
        set(&mut p, "status", if known { OK } else { OBJECT_NOT_FOUND });
        p
    }

    fn alloc(&mut self, mut p: Params, memory: &mut dyn Memory) -> Params {
        let (client, parent) = (number(&p, "hRoot"), number(&p, "hObjectParent"));
        let (mut handle, class) = (number(&p, "hObjectNew"), number(&p, "hClass"));
        if handle == 0 && !matches!(class, 0 | 1 | 0x41) {
            handle = self.objects.free_handle(client);
            set(&mut p, "hObjectNew", handle.into());
        }
        if matches!(class, 0 | 1 | 0x41) {
            let made = self.objects.client(handle);
            set(&mut p, "hObjectNew", made.into());
            set(&mut p, "hClass", 0x41);
            return p;
        }
        let known = self.tables.class(class).and_then(|c| c.params());
        let at = get(&p, "pAllocParms");
        // The driver takes its own size where the caller says none.
        let given = known.filter(|_| at != 0).and_then(|record| {
            let mut params = Params::of(record);
            params.bytes_mut().copy_from_slice(&memory.read(at, record.size())?);
            Some(params)
        });
        let parent_class = self.objects.get(client, parent).map(|o| o.class);
        let status = match parent_class {
            None => OBJECT_NOT_FOUND,
            Some(of) => match self.may_be(class, of, given.as_ref()) {
                NOT_SUPPORTED if self.answers.as_ref().is_some_and(|answers| answers.may_be(class, of)) => OK,
                status => status,
            },
        };
        if status != OK {
            let name = self.tables.class(class).map_or("class", |class| class.name());
            let of = parent_class.unwrap_or_default();
            self.note(format!("RM_ALLOC of {name} {class:#x} below {of:#x}"), format!("status {status:#x}"), true);
        }
        let size = given.as_ref().filter(|_| matches!(class, 0x3e | 0x40 | 0x50a0)).map_or(0, |g| get(g, "size"));
        let status = match status {
            OK if !self.objects.add(client, handle, Object { parent, class, size, ..Object::default() }) => 0x23,
            status => status,
        };
        if let (OK, Some(given), 0x6f) = (status, &given, class & 0xff) {
            self.gpu.channels.insert((client, handle), channel(client, given));
            match number(given, "hObjectError") {
                0 => {}
                memory => self.gpu.notifier = (client, memory),
            }
        }
        if let (OK, Some(given)) = (status, &given) {
            let question = Question::Class(class);
            let bytes = given.bytes();
            let find = |answers: &Answers| answers.find(question, bytes, &Own(&self.objects, client), &|_, _| None);
            if let Some(answer) = self.answers.as_ref().and_then(find) {
                memory.write(at, &answer.bytes);
            }
        }
        set(&mut p, "status", status);
        p
    }

    /// Whether an object of this class can be made below one of that class.
    fn may_be(&self, class: u32, parent: u32, given: Option<&Params>) -> u64 {
        let field = |name: &str| given.map_or(0, |g| get(g, name));
        let wanted: &[u32] = match class {
            0x80 => &[0x41],
            0x2080 | 0x90f1 | 0x3e | 0x40 | 0x50a0 | 0xa06c => &[0x80],
            0xc661 | 0xc461 | 0xc361 => &[0x2080],
            0xc86f | 0xc56f | 0xc36f => &[0xa06c, 0x80],
            0xcbc0 | 0xc8b5 => &[0xc86f, 0xc56f, 0xc36f],
            _ => return NOT_SUPPORTED,
        };
        if !wanted.contains(&parent) {
            return INVALID_ARGUMENT;
        }
        let gpu_is_open = self.files.iter().flatten().any(|node| is_gpu(&node.path));
        match class {
            0x80 if !gpu_is_open => INSUFFICIENT_PERMISSIONS,
            0xc661 if field("bPriv") != 0 => INSUFFICIENT_PERMISSIONS,
            0xa06c if field("engineType") == 0 => INVALID_ARGUMENT,
            0xc86f if !field("gpFifoEntries").is_power_of_two() => INVALID_ARGUMENT,
            0xc86f if parent == 0xa06c && field("hVASpace") != 0 => INVALID_ARGUMENT,
            0x3e | 0x40 if field("size") > 1 << 38 => 0x51,
            _ => OK,
        }
    }

    fn map(&mut self, mut p: Params) -> Params {
        let (client, handle) = (number(&p, "params.hClient"), number(&p, "params.hMemory"));
        let fd = number(&p, "fd").cast_signed();
        let found = self.objects.get(client, handle).map(|o| (o.class, o.size));
        let on_gpu = is_gpu(self.path(fd));
        let status = match found {
            None => INVALID_OBJECT_HANDLE,
            Some((0x3e, _)) if on_gpu => INVALID_ARGUMENT,
            Some((class, size)) => {
                let size = if class == 0x3e || class == 0x40 { size } else { 0x1_0000 };
                match self.node_mut(fd) {
                    Some(node) => {
                        node.prepared = Some((client, handle, size));
                        OK
                    }
                    None => INVALID_ARGUMENT,
                }
            }
        };
        // The address and the flags that the driver writes are those of a recorded mapping.
        let question = Question::Escape(0x4e, p.bytes().len());
        let find = |answers: &Answers| answers.find(question, p.bytes(), &Own(&self.objects, client), &|_, _| None);
        if let Some(answer) = self.answers.as_ref().and_then(find).filter(|_| status == OK) {
            p.bytes_mut().copy_from_slice(&answer.bytes);
        }
        set(&mut p, "params.status", status);
        p
    }

    fn map_dma(&mut self, mut p: Params) -> Params {
        let client = number(&p, "hClient");
        let class = |handle: u32| self.objects.get(client, handle).map(|o| o.class);
        let status = match (class(number(&p, "hDma")), class(number(&p, "hMemory"))) {
            (Some(0x50a0), Some(0x3e | 0x40)) => OK,
            _ => INVALID_OBJECT_HANDLE,
        };
        if status == OK {
            set(&mut p, "dmaOffset", self.gpu_addresses);
            self.gpu_addresses += get(&p, "length").next_multiple_of(0x1_0000);
        }
        set(&mut p, "status", status);
        p
    }
}

/// A channel with nothing to do.
fn channel(client: u32, given: &Params) -> Channel {
    Channel {
        client,
        userd: (number(given, "hUserdMemory[0]"), get(given, "userdOffset[0]")),
        ring: get(given, "gpFifoOffset"),
        entries: get(given, "gpFifoEntries"),
        classes: [0; 8],
        waiting: VecDeque::new(),
        until: 0,
    }
}

fn is_gpu(path: &str) -> bool {
    Device::of_path(path) == Some(Device::Gpu)
}

fn get(p: &Params, field: &str) -> u64 {
    p.get(field).unwrap_or_else(|e| panic!("{field}: {e}"))
}

fn number(p: &Params, field: &str) -> u32 {
    u32::try_from(get(p, field)).unwrap_or_else(|e| panic!("{field}: {e}"))
}

fn set(p: &mut Params, field: &str, value: u64) {
    p.set(field, value).unwrap_or_else(|e| panic!("{field}: {e}"));
}
