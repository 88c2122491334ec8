//! What slots, objects, instances and kernels of one process are called. Functions are made when a
//! record first asks for them: until then their object or instance may still be on its way.

use crate::decode::{Described, Recorded, find, known_by_name};
use crate::end::Diagnostic;
use crate::event::{Event, Function, Instance, Layer, Module, Process};
use crate::filter::Tests;
use crate::kernels::{Kernels, demangle};
use crate::results::{returns, returns_type};
use crate::source::Shared;
use cutap_calls::known::Shape;
use cutap_printable::{is_printable, printable};
use cutap_stacks::{Loaded, Stacks};
use cutap_wire::names::{HIDDEN, Name, kind, layer};
use cutap_wire::record::META_MAX;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A loaded object.
#[derive(Debug, Clone)]
struct Object {
    name: Arc<str>,
    layer: u8,
}

/// What a slot's name record said.
#[derive(Debug, Clone)]
enum Slot {
    Bound { object: u64, name: Box<[u8]>, shape: Shape, hidden: bool },
    Runtime { instance: u64, name: Box<[u8]>, words: usize },
}

/// Whether a function launches a kernel, and which argument word is the kernel's handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Launch {
    /// It launches nothing, or only by calling another function that does.
    No,
    /// Its arguments have no handle: a runtime says the name, or the driver's launch in it has it.
    Reported,
    /// This word.
    Word(usize),
}

/// A function, and what pairing needs to know of it.
#[derive(Debug, Clone)]
pub struct KnownFunction {
    pub function: Arc<Function>,
    pub shown: bool,
    /// It was recorded only for what others say of addresses: for whoever reads, its calls are not there.
    pub hidden: bool,
    pub launch: Launch,
    /// The object of a bound function, 0 for others.
    pub object: u64,
    /// Words of its records that are arguments; memory is behind them.
    pub words: usize,
    /// A kernel's parameters may be among its arguments, so that the call around it is of interest.
    pub parent: bool,
    /// What the filter asks of its arguments.
    pub tests: Option<Arc<Tests>>,
}

/// What is known at the end, beside the names.
#[derive(Debug, Default)]
pub struct Names {
    objects: HashMap<u64, Object>,
    /// The newest runtime's version, where one is known: what the program was built with.
    pub toolkit: Option<u32>,
    /// Load addresses, to find a caller's object.
    loads: BTreeMap<u64, u64>,
    slots: Vec<Option<Slot>>,
    known: Vec<Option<KnownFunction>>,
    instances: HashMap<u64, Arc<Instance>>,
    instance_of_object: HashMap<u64, u64>,
    pub kernels: Kernels,
    /// What was loaded when, for stacks.
    pub stacks: Stacks,
    pub gaps: Vec<Diagnostic>,
    /// File names of hook libraries, by their numbers.
    pub hooks: Vec<Arc<str>>,
    /// Events that names are: instances and modules, with their ticks.
    pub happened: Vec<(u64, Event)>,
    /// Slots that records named and no name did.
    pub nameless: u64,
}

impl Names {
    /// Takes one name record.
    pub fn take(&mut self, process: &Arc<Process>, name: &Name<'_>) {
        let text = || clean(name.s);
        match name.kind {
            kind::OBJECT => {
                let object = Object { name: text().into(), layer: name.c as u8 };
                let (path, from, bytes) = (clean(name.t).into(), name.b, name.c >> 8);
                self.stacks.map.object(name.a, cutap_stacks::Object { name: object.name.clone(), path, from, bytes });
                self.objects.insert(name.a, object);
                self.loads.insert(name.b, name.a);
            }
            kind::LOADED => {
                let identity = name.s.into();
                let loaded = Loaded { ticks: name.ticks, object: name.a, bias: name.b, how: name.c, identity };
                self.stacks.map.loaded(loaded);
            }
            kind::SLOT => {
                let (object, shape) = (name.b & 0xffff_ffff, shape((name.b >> 44) as u16));
                self.slot(name.a, Slot::Bound { object, name: name.s.into(), shape, hidden: name.b & HIDDEN != 0 });
            }
            kind::RUNTIME_SLOT => {
                let words = (name.c >> 32) as usize;
                self.slot(name.a, Slot::Runtime { instance: name.b, name: name.s.into(), words });
            }
            kind::INSTANCE => self.instance(process, name),
            kind::KERNEL_NAME => self.kernels.name(name.a, name.s),
            kind::KERNEL_PARAMETERS => self.kernels.parameters(name.a, name.ticks, name.s),
            kind::PTX_ENTRY => self.kernels.entry(name.s),
            kind::KERNEL_HANDLE => self.kernels.handle(name.a, name.b, name.ticks, name.s),
            kind::HOOK => {
                let n = (name.a as usize).min(cutap_wire::hooks::LIBRARIES);
                if n >= self.hooks.len() {
                    self.hooks.resize(n + 1, "?".into());
                }
                self.hooks[n] = text().into();
            }
            kind::GAP => {
                let gap = Diagnostic { reason: name.a as usize, pid: process.pid, what: text(), more: clean(name.t) };
                self.gaps.push(gap);
            }
            kind::MODULE => {
                let module =
                    Module { process: process.clone(), ns: 0, bytes: name.a, kind: name.b, file: text().into() };
                self.happened.push((name.ticks, Event::Module(Box::new(module))));
            }
            _ => {}
        }
    }

    fn slot(&mut self, number: u64, slot: Slot) {
        let Ok(n) = usize::try_from(number) else { return };
        if n >= META_MAX as usize {
            return;
        }
        if n >= self.slots.len() {
            self.slots.resize(n + 1, None);
            self.known.resize(n + 1, None);
        }
        self.slots[n] = Some(slot);
        self.known[n] = None;
    }

    fn instance(&mut self, process: &Arc<Process>, name: &Name<'_>) {
        let object = self.objects.get(&name.b);
        let version = u32::try_from(name.c).ok().filter(|v| *v >= 1000);
        let instance = Arc::new(Instance {
            process: process.clone(),
            id: name.a,
            library: object.map_or_else(|| "?".into(), |o| o.name.clone()),
            shared: object.is_some_and(|o| o.layer == layer::RUNTIME),
            version: version.map(|v| format!("{}.{}", v / 1000, v % 1000 / 10).into()),
            number: version,
        });
        self.toolkit = self.toolkit.max(version);
        self.instance_of_object.insert(name.b, name.a);
        if self.instances.insert(name.a, instance.clone()).as_ref() != Some(&instance) {
            self.happened.push((name.ticks, Event::Instance(instance, 0)));
        }
    }

    /// The function of a slot, if its name has been read.
    pub fn known(&mut self, slot: u32, shared: &mut Shared) -> Option<&KnownFunction> {
        let n = slot as usize;
        if self.known.get(n)?.is_none() {
            let made = self.make(self.slots.get(n)?.as_ref()?, shared)?;
            self.known[n] = Some(made);
        }
        self.known.get(n)?.as_ref()
    }

    /// The same, if a record has asked for it before.
    pub fn made(&self, slot: u32) -> Option<&KnownFunction> {
        self.known.get(slot as usize)?.as_ref()
    }

    /// All functions that a record has asked for.
    pub fn all_made(&self) -> impl Iterator<Item = &KnownFunction> {
        self.known.iter().flatten()
    }

    /// Whether the slot has a name, or was given one.
    pub fn is_named(&self, slot: u32) -> bool {
        self.slots.get(slot as usize).is_some_and(Option::is_some)
    }

    /// A function for a slot whose name is lost.
    pub fn nameless(&mut self, slot: u32, shared: &mut Shared) -> Option<&KnownFunction> {
        let n = slot as usize;
        if n >= META_MAX as usize {
            return None;
        }
        self.nameless += 1;
        let name = format!("slot {slot}");
        let object = Slot::Bound { object: 0, name: name.as_bytes().into(), shape: UNKNOWN, hidden: false };
        self.slot(u64::from(slot), object);
        let function = function(shared, Layer::Driver, "?".into(), name.as_bytes(), None, None);
        let shown = shared.filter.shows(function.layer, "?", &name);
        self.known[n] = Some(KnownFunction {
            function,
            shown,
            hidden: false,
            launch: Launch::No,
            object: 0,
            words: words_of(UNKNOWN),
            parent: false,
            tests: None,
        });
        self.known[n].as_ref()
    }

    fn make(&self, slot: &Slot, shared: &mut Shared) -> Option<KnownFunction> {
        let (function, object, words) = match slot {
            Slot::Bound { object, name, shape, .. } => {
                let holder = self.objects.get(object)?;
                let layer = match holder.layer {
                    layer::RUNTIME => Layer::Runtime,
                    layer::DRIVER => Layer::Driver,
                    _ => Layer::Library,
                };
                let version = self.instance_of(*object).and_then(|i| i.number);
                let described = described(shared, layer, &holder.name, name, version, Recorded::Frame(*shape));
                (function(shared, layer, holder.name.clone(), name, None, described), *object, words_of(*shape))
            }
            Slot::Runtime { instance, name, words } => {
                let instance = self.instances.get(instance)?;
                let library = instance.library.clone();
                let described = described(shared, Layer::Runtime, "", name, instance.number, Recorded::Block);
                (function(shared, Layer::Runtime, library, name, Some(instance.clone()), described), 0, *words)
            }
        };
        let hidden = matches!(slot, Slot::Bound { hidden: true, .. });
        let shown = !hidden && shared.filter.shows(function.layer, &function.library, &function.name);
        let launch = launch_of(&function);
        let parent = function.described.is_some_and(|d| d.tells_its_caller());
        let tests = shared.filter.tests(function.layer, &function.library, &function.name);
        Some(KnownFunction { function, shown, hidden, launch, object, words, parent, tests: tests.map(Arc::new) })
    }

    /// Whether a runtime is in the process.
    pub fn has_runtime(&self) -> bool {
        !self.instances.is_empty()
    }

    /// Names of all functions that were announced, called or not.
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        self.slots.iter().flatten().filter_map(|slot| {
            let (Slot::Bound { name, .. } | Slot::Runtime { name, .. }) = slot;
            if matches!(slot, Slot::Bound { hidden: true, .. }) {
                return None;
            }
            str::from_utf8(name).ok().filter(|name| name.chars().all(is_printable))
        })
    }

    /// The instance that the functions of an object belong to.
    pub fn instance_of(&self, object: u64) -> Option<&Arc<Instance>> {
        self.instances.get(self.instance_of_object.get(&object)?)
    }

    /// The object that an instance lives in.
    pub fn object_of(&self, instance: u64) -> Option<u64> {
        self.instance_of_object.iter().find(|(_, i)| **i == instance).map(|(object, _)| *object)
    }

    /// An instance by its number.
    pub fn instance_by_id(&self, id: u64) -> Option<&Arc<Instance>> {
        self.instances.get(&id)
    }

    /// All instances in the order of their numbers.
    pub fn instances(&self) -> Vec<Arc<Instance>> {
        let mut all: Vec<_> = self.instances.values().cloned().collect();
        all.sort_by_key(|i| i.id);
        all
    }

    /// Name of the object that an address most likely lies in: the last one loaded below it.
    pub fn object_at(&self, address: u64) -> Option<Arc<str>> {
        let (_, id) = self.loads.range(..=address).next_back()?;
        self.objects.get(id).map(|o| o.name.clone())
    }
}

/// Text of a name.
pub fn clean(bytes: &[u8]) -> String {
    printable(&String::from_utf8_lossy(bytes)).into_owned()
}

/// Shape of a function without a description.
const UNKNOWN: Shape = Shape { ints: 6, vectors: 0, stack: 0 };

/// As `cutap_wire::names::shape` packed it.
fn shape(packed: u16) -> Shape {
    Shape { ints: packed as u8 & 15, vectors: (packed >> 4) as u8 & 15, stack: (packed >> 8) as u8 }
}

fn words_of(shape: Shape) -> usize {
    usize::from(shape.ints) + usize::from(shape.vectors) + usize::from(shape.stack)
}

fn described(
    shared: &Shared,
    layer: Layer,
    library: &str,
    name: &[u8],
    version: Option<u32>,
    words: Recorded,
) -> Option<Described> {
    let name = str::from_utf8(name).ok()?;
    let (function, version) = find(shared.tables, layer, library, name, version)?;
    Some(Described { function, tables: shared.tables, version, words })
}

fn function(
    shared: &mut Shared,
    layer: Layer,
    library: Arc<str>,
    name: &[u8],
    instance: Option<Arc<Instance>>,
    described: Option<Described>,
) -> Arc<Function> {
    let name = clean(name);
    let key = shared.next_function;
    shared.next_function = key.wrapping_add(1);
    Arc::new(Function {
        key,
        layer,
        library,
        demangled: demangle(&name).map(Arc::from),
        instance,
        // C++ functions are jumped to, see DESIGN 3: nobody sees them return.
        entry_only: name.starts_with("_Z"),
        by_name: known_by_name(&name),
        returns: described.and_then(returns_type).unwrap_or_else(|| returns(layer, &name)),
        described,
        name: name.into(),
    })
}

/// Launch functions and where their kernel's handle is. Graphs launch kernels too, and name none.
pub fn launch_of(function: &Function) -> Launch {
    let plain = function.name.strip_suffix("_ptsz").unwrap_or(&function.name);
    match (function.layer, plain) {
        (
            Layer::Driver,
            "cuLaunchKernel" | "cuLaunchCooperativeKernel" | "cuLaunch" | "cuLaunchGrid" | "cuLaunchGridAsync",
        ) => Launch::Word(0),
        (Layer::Driver, "cuLaunchKernelEx") => Launch::Word(1),
        (Layer::Driver, "cuLaunchCooperativeKernelMultiDevice")
        | (
            Layer::Runtime,
            "cudaLaunchKernel"
            | "__cudaLaunchKernel"
            | "cudaLaunchKernelExC"
            | "cudaLaunchCooperativeKernel"
            | "cudaLaunchCooperativeKernelMultiDevice",
        ) => Launch::Reported,
        _ => Launch::No,
    }
}
