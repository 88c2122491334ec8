//! The objects of a run, followed from call to call: handles with their class and parent, and where their memory lies.

use crate::call::{Action, KernelCall, Run, Submitted};
use crate::decode::Decoder;
use crate::ranges::Ranges;
use cutap_rm::{Call, Moment, Node, Subject};
use std::collections::{BTreeMap, BTreeSet};

/// A handle is known within its client, of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The process.
    pub pid: u32,
    /// The client.
    pub client: u32,
    /// The handle; of a client itself the client's.
    pub handle: u32,
}

/// An object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its handle.
    pub key: Key,
    /// The handle of its parent.
    pub parent: u32,
    /// The number of its class.
    pub class: u32,
    /// The name of its class; empty where no table has it.
    pub name: &'static str,
    /// The CUDA call that made it.
    pub made_in: Option<String>,
    /// Place of the call that made it, and of the one that freed it.
    pub life: (usize, Option<usize>),
    /// Bytes, of memory.
    pub size: Option<u64>,
    /// What its allocation says that matters.
    pub facts: Vec<(&'static str, u64)>,
    /// Addresses of a GPU, each with its bytes.
    pub gpu: Vec<(u64, u64)>,
    /// Addresses of the process, each with its bytes.
    pub host: Vec<(u64, u64)>,
}

/// A mapping of a device node, or reserved addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// The process.
    pub pid: u32,
    /// Where.
    pub address: u64,
    /// Bytes.
    pub length: u64,
    /// The node; empty for reserved addresses.
    pub node: String,
    /// `PROT_READ` and so on.
    pub protection: u32,
    /// The object that was mapped, where that is known.
    pub object: Option<Key>,
    /// The CUDA call.
    pub made_in: Option<String>,
    /// It was unmapped.
    pub is_unmapped: bool,
}

/// All objects of a run.
#[derive(Debug, Default)]
pub struct Objects {
    /// By the order in which they were made.
    pub all: Vec<Object>,
    /// By the order in which they were made.
    pub mappings: Vec<Mapping>,
    /// Ranges of semaphore pools of the UVM driver, by process.
    pools: BTreeMap<u32, Ranges>,
    /// Addresses that submissions name.
    pub submitted: Vec<Submitted>,
    live: BTreeMap<Key, usize>,
    /// The newest object of a handle, also a freed one.
    newest: BTreeMap<Key, usize>,
    /// The handles below a live one, by the parent's key. Some may have another parent by now.
    below: BTreeMap<Key, BTreeSet<u32>>,
    /// Channels, by process and client.
    channels: BTreeMap<(u32, u32), Vec<usize>>,
    /// Places of mappings that exist, by process and address.
    mapped: BTreeMap<(u32, u64), Vec<usize>>,
    /// What was prepared to be mapped: by process and descriptor the object.
    prepared: BTreeMap<(u32, i32), Key>,
}

/// Fields of allocation parameters that are kept.
const FACTS: [&str; 12] = [
    "deviceId",
    "subDeviceId",
    "engineType",
    "bBar1Mapping",
    "gpFifoOffset",
    "gpFifoEntries",
    "hObjectError",
    "hVASpace",
    "hContextShare",
    "vaBase",
    "vaSize",
    "flags",
];
/// Reservations of so many bytes are listed.
const RESERVED: u64 = 256 << 20;

impl Objects {
    /// Follows a run.
    #[must_use]
    pub fn of(run: &Run, decoder: &Decoder) -> Self {
        let mut objects = Self { submitted: run.submitted.clone(), ..Self::default() };
        for (place, call) in run.calls.iter().enumerate() {
            objects.call(place, call, decoder);
        }
        objects
    }

    /// The object of a handle that is alive.
    #[must_use]
    pub fn live(&self, key: Key) -> Option<&Object> {
        self.live.get(&key).and_then(|at| self.all.get(*at))
    }

    /// The newest object of a handle, alive or not.
    #[must_use]
    pub fn newest(&self, key: Key) -> Option<&Object> {
        self.newest.get(&key).and_then(|at| self.all.get(*at))
    }

    /// The channels of an object's client.
    pub(crate) fn channels_beside(&self, object: &Object) -> impl Iterator<Item = &Object> {
        let places = self.channels.get(&(object.key.pid, object.key.client)).into_iter().flatten();
        places.filter_map(|at| self.all.get(*at))
    }

    /// Whether an address of a process is in a semaphore pool.
    pub(crate) fn is_in_pool(&self, pid: u32, address: u64) -> bool {
        self.pools.get(&pid).is_some_and(|pools| pools.overlap(address, 1))
    }

    fn call(&mut self, place: usize, call: &KernelCall, decoder: &Decoder) {
        let made_in = call.parent.as_ref().map(|parent| parent.name.clone());
        match &call.action {
            Action::Ioctl(_) => {
                let Some(decoded) = decoder.decode_call(call) else { return };
                let succeeded = decoded.statuses.iter().all(|status| status.code == 0) && call.result.is_some();
                if succeeded {
                    self.request(place, call, &decoded, made_in);
                }
            }
            Action::Mmap { fd, path, length, protection, .. } => {
                let Some(address) = call.result.filter(|r| *r > 0).map(i64::cast_unsigned) else { return };
                let reserved = *fd < 0 && *protection == 0 && *length >= RESERVED;
                if !crate::formats::is_of_driver(path) && !reserved {
                    return;
                }
                let object = self.prepared.remove(&(call.pid, *fd));
                if let Some(object) = object.and_then(|key| self.get(key)) {
                    object.host.push((address, *length));
                }
                let (pid, node, protection) = (call.pid, path.clone(), *protection);
                let length = *length;
                self.mapped.entry((pid, address)).or_default().push(self.mappings.len());
                self.mappings.push(Mapping {
                    pid,
                    address,
                    length,
                    node,
                    protection,
                    object,
                    made_in,
                    is_unmapped: false,
                });
            }
            Action::Munmap { address, length } if call.result == Some(0) => {
                let inside = (call.pid, *address)..(call.pid, address.saturating_add(*length));
                let places: Vec<(u32, u64)> = self.mapped.range(inside).map(|(place, _)| *place).collect();
                for at in places.iter().filter_map(|place| self.mapped.remove(place)).flatten() {
                    self.mappings.get_mut(at).into_iter().for_each(|mapping| mapping.is_unmapped = true);
                }
            }
            _ => {}
        }
    }

    fn get(&mut self, key: Key) -> Option<&mut Object> {
        let at = *self.live.get(&key)?;
        self.all.get_mut(at)
    }

    fn request(&mut self, place: usize, call: &KernelCall, decoded: &Call, made_in: Option<String>) {
        let root = inner(&decoded.argument, decoded.wrapped);
        let number = |name: &str| find(root, name).unwrap_or(0);
        let handle = |name: &str| number(name) as u32;
        let pid = call.pid;
        match decoded.name {
            "NV_ESC_RM_ALLOC" => {
                let Subject::Class(mut class, mut known) = decoded.subject else { return };
                let object = handle("hObjectNew");
                // The kernel writes the class that it made.
                let created_class = handle("hClass");
                if created_class != class {
                    (class, known) = (created_class, None);
                }
                let is_client = class == 0x41 || class == 0;
                let client = if is_client { object } else { handle("hRoot") };
                let params = find_node(root, "pAllocParms").and_then(|node| node.get("*"));
                let fact = |name: &&'static str| Some((*name, params.and_then(|p| find(p, name)).filter(|v| *v != 0)?));
                let mut facts: Vec<_> = FACTS.iter().filter_map(fact).collect();
                if let Some(userd) = params.and_then(|p| p.get("hUserdMemory")).and_then(first_number) {
                    facts.push(("hUserdMemory", userd));
                }
                let size = params.and_then(|p| find(p, "size")).filter(|_| is_memory(class));
                let name = known.map_or("", |c| c.name());
                let name = if is_client { "NV01_ROOT_CLIENT" } else { name };
                let key = Key { pid, client, handle: object };
                self.add(key, handle("hObjectParent"), (class, name), place, made_in, size, facts);
            }
            "NV_ESC_RM_ALLOC_MEMORY" => {
                let key = Key { pid, client: handle("hRoot"), handle: handle("hObjectNew") };
                let Subject::Class(class, known) = decoded.subject else { return };
                let (name, size) = (known.map_or("", |c| c.name()), number("limit").checked_add(1));
                self.add(key, handle("hObjectParent"), (class, name), place, made_in, size, Vec::new());
            }
            "NV_ESC_RM_DUP_OBJECT" => {
                let (from, source) = (handle("hClientSrc"), handle("hObjectSrc"));
                let source = Key { pid, client: from, handle: source };
                let class = self.live(source).map_or((0, ""), |o| (o.class, o.name));
                let size = self.live(source).and_then(|o| o.size);
                let key = Key { pid, client: handle("hClient"), handle: handle("hObject") };
                self.add(key, handle("hParent"), class, place, made_in, size, Vec::new());
            }
            "NV_ESC_RM_FREE" => self.free(Key { pid, client: handle("hRoot"), handle: handle("hObjectOld") }, place),
            "NV_ESC_RM_MAP_MEMORY" => {
                let key = Key { pid, client: handle("hClient"), handle: handle("hMemory") };
                let fd = find(root, "fd").map_or(-1, |fd| fd as u32 as i32);
                self.prepared.insert((pid, fd), key);
            }
            "NV_ESC_RM_MAP_MEMORY_DMA" => {
                let key = Key { pid, client: handle("hClient"), handle: handle("hMemory") };
                let at = (number("dmaOffset"), number("length"));
                if let Some(object) = self.get(key) {
                    object.gpu.push(at);
                }
            }
            "UVM_MAP_EXTERNAL_ALLOCATION" => {
                let key = Key { pid, client: handle("hClient"), handle: handle("hMemory") };
                let at = (number("base"), number("length"));
                if let Some(object) = self.get(key) {
                    object.gpu.push(at);
                }
            }
            "UVM_ALLOC_SEMAPHORE_POOL" => {
                self.pools.entry(pid).or_default().add(number("base"), number("length"));
            }
            _ => {}
        }
    }

    #[allow(clippy::too_many_arguments)] // The words of one row.
    fn add(
        &mut self,
        key: Key,
        parent: u32,
        (class, name): (u32, &'static str),
        place: usize,
        made_in: Option<String>,
        size: Option<u64>,
        facts: Vec<(&'static str, u64)>,
    ) {
        let at = self.all.len();
        self.live.insert(key, at);
        self.newest.insert(key, at);
        self.below.entry(Key { handle: parent, ..key }).or_default().insert(key.handle);
        if name.contains("CHANNEL_GPFIFO") {
            self.channels.entry((key.pid, key.client)).or_default().push(at);
        }
        let (gpu, host) = (Vec::new(), Vec::new());
        self.all.push(Object { key, parent, class, name, made_in, life: (place, None), size, facts, gpu, host });
    }

    /// An object and all below it.
    fn free(&mut self, key: Key, place: usize) {
        let mut freed = vec![key];
        while let Some(key) = freed.pop() {
            let Some(at) = self.live.remove(&key) else { continue };
            if let Some(object) = self.all.get_mut(at) {
                object.life.1 = Some(place);
            }
            if key.client == key.handle {
                let whole = Key { handle: 0, ..key }..=Key { handle: u32::MAX, ..key };
                freed.extend(self.live.range(whole).map(|(own, _)| *own));
            }
            let below = self.below.remove(&key).into_iter().flatten().map(|handle| Key { handle, ..key });
            freed.extend(below.filter(|own| self.live(*own).is_some_and(|o| o.parent == key.handle)));
        }
    }
}

/// Whether a class is memory.
fn is_memory(class: u32) -> bool {
    matches!(class, 0x3e | 0x40 | 0x70 | 0x71 | 0x50a0 | 0xde | 0xf3 | 0xf9 | 0xfa | 0xfd)
}

/// Of an escape inside of another the inner one.
fn inner(node: &Node, wrapped: bool) -> &Node {
    match wrapped {
        true => node.get("ptr.*").unwrap_or(node),
        false => node,
    }
}

/// A field of the struct, or of a struct in it, after the call.
fn find(node: &Node, name: &str) -> Option<u64> {
    find_node(node, name).and_then(|found| found.number(Moment::After))
}

fn find_node<'a>(node: &'a Node, name: &str) -> Option<&'a Node> {
    node.get(name).or_else(|| node.children().iter().find_map(|child| find_node(child, name)))
}

/// The first of an array of numbers.
fn first_number(node: &Node) -> Option<u64> {
    match &node.value {
        cutap_rm::Value::Numbers { bytes, form } => {
            let bytes = bytes.at(Moment::After).get(..form.size())?;
            Some(bytes.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))).filter(|n| *n != 0)
        }
        _ => node.number(Moment::After),
    }
}
