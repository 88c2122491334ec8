//! Names of the slots, objects, instances and kernels of one process. A function is made when a record first refers to
//! it: before that its object or instance may still be missing.

use super::functions::{
    Launch, ResolvedFunction, Resolver, UNKNOWN, changes_state, described, function, launch_of, range, shape, words_of,
};
use super::payloads::Payloads;
use super::slot_table::SlotTable;
use crate::event::described::WordSource;
use crate::event::{Event, Instance, Layer, Module, NAMELESS_END, Process, RangeMoment};
use crate::io::bytes::clean;
use crate::kernels::names::Kernels;
use crate::run::facts::Diagnostic;
use cutap_calls::known::Shape;
use cutap_printable::is_printable;
use cutap_stacks::python::{Code, PythonCodes};
use cutap_stacks::{Loaded, Stacks};
use cutap_wire::names::{HIDDEN, Name, kind};
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
    Range { object: u64, name: Box<[u8]>, words: usize, moment: RangeMoment },
    Runtime { instance: u64, name: Box<[u8]>, words: usize },
}

/// Names of ranges that a process may have. Ranges with further names have one name together.
const MOST_RANGE_NAMES: usize = 1 << 16;
/// Their name.
const OTHER_RANGES: &[u8] = b"(ranges with other names)";
const END_OF_RANGE: &[u8] = NAMELESS_END.as_bytes();
/// Behind all slots that records can have.
const FIRST_RANGE_SLOT: u32 = META_MAX + 1;

/// What is known at the end, beside the names.
#[derive(Debug, Default)]
pub struct Names {
    objects: HashMap<u64, Object>,
    /// The newest runtime's version, where one is known: what the program was built with.
    pub toolkit: Option<u32>,
    /// Numbers and sizes of objects by their first byte, to find a caller's object.
    loads: BTreeMap<u64, (u64, u64)>,
    slots: SlotTable<Slot>,
    resolved: SlotTable<ResolvedFunction>,
    /// Slots of ranges and marks by their names, for the slot that all in a domain have in records.
    range_slots: HashMap<u32, HashMap<Box<[u8]>, u32>>,
    instances: HashMap<u64, Arc<Instance>>,
    instance_of_object: HashMap<u64, u64>,
    pub kernels: Kernels,
    /// Names of kernels in rows of GPU time, by their ids.
    pub row_names: HashMap<u32, Arc<str>>,
    /// What was loaded when, for stacks.
    pub stacks: Stacks,
    /// Code objects of Python, for the same.
    pub python: PythonCodes,
    pub gaps: Vec<Diagnostic>,
    /// File names of hook libraries, by their numbers.
    pub hooks: Vec<Arc<str>>,
    /// Texts of the rules of `--inject`, by their numbers.
    pub rules: HashMap<u64, Arc<str>>,
    /// Version of the kernel driver.
    pub driver: Option<String>,
    /// Schemas of payloads of NVTX.
    pub payloads: Payloads,
    /// What threads are called, by their ids.
    threads: HashMap<u64, Arc<str>>,
    /// Events that names are: instances and modules, with their ticks.
    pub events: Vec<(u64, Event)>,
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
                self.loads.insert(name.b, (name.a, bytes));
            }
            kind::LOADED => {
                let identity = name.s.into();
                let loaded =
                    Loaded { ticks: name.ticks, object: name.a, bias: name.b, identity_kind: name.c, identity };
                self.stacks.map.loaded(loaded);
            }
            kind::SLOT => {
                let (object, shape) = (name.b & 0xffff_ffff, shape((name.b >> 44) as u16));
                let slot = match RangeMoment::of_route((name.b >> 32) as u8) {
                    Some(moment) => Slot::Range { object, name: Box::default(), words: words_of(shape), moment },
                    None => Slot::Bound { object, name: name.s.into(), shape, hidden: name.b & HIDDEN != 0 },
                };
                self.slot(name.a, slot);
            }
            kind::RUNTIME_SLOT => {
                let words = (name.c >> 32) as usize;
                self.slot(name.a, Slot::Runtime { instance: name.b, name: name.s.into(), words });
            }
            kind::INSTANCE => self.instance(process, name),
            kind::ROW_NAME => {
                self.row_names.insert(name.a as u32, self.kernels.intern(name.s));
            }
            kind::KERNEL_NAME => self.kernels.name(name.a, name.s),
            kind::KERNEL_PARAMETERS => self.kernels.parameters(name.a, name.ticks, name.s),
            kind::PTX_ENTRY => self.kernels.entry(name.s),
            kind::KERNEL_HANDLE => self.kernels.handle(name.a, name.b, name.ticks, name.s),
            kind::LOADED_FILE => self.kernels.files.loaded(name.s, (name.a, name.b)),
            kind::PYTHON_LINES => self.python.table(name.a as u32, name.s),
            kind::PYTHON_CODE => self.python_code(name),
            kind::PYTHON_STACK => self.python.numbered_stack(name.a as u32, name.s, name.b & 1 != 0),
            kind::NODE_TYPE => self.python.node_type(name.a as u32, &String::from_utf8_lossy(name.s)),
            kind::DRIVER => self.driver = Some(text()),
            kind::THREAD => {
                self.threads.insert(name.a, text().into());
            }
            kind::HOOK => {
                let n = (name.a as usize).min(cutap_wire::hooks::LIBRARIES);
                if n >= self.hooks.len() {
                    self.hooks.resize(n + 1, "?".into());
                }
                self.hooks[n] = text().into();
            }
            kind::RULE => {
                self.rules.insert(name.a, text().into());
            }
            kind::PAYLOAD_ENTRY => self.payloads.entry(name),
            kind::PAYLOAD_ENUM => self.payloads.enumerator(name),
            kind::GAP => {
                let gap = Diagnostic { reason: name.a as usize, pid: process.pid, name: text(), detail: clean(name.t) };
                self.gaps.push(gap);
            }
            kind::MODULE => {
                let module =
                    Module { process: process.clone(), ns: 0, bytes: name.a, kind: name.b, file: text().into() };
                self.events.push((name.ticks, Event::Module(Box::new(module))));
            }
            _ => {}
        }
    }

    fn python_code(&mut self, name: &Name<'_>) {
        let (file, function) = name.s.split_at_checked(usize::from(name.c as u16)).unwrap_or((name.s, &[]));
        let file = self.python.text(characters(file, (name.c >> 16) as u8));
        let function = self.python.text(characters(function, (name.c >> 24) as u8));
        let code = Code { file, function, first: name.b as u32, form: (name.b >> 32) as u8 };
        self.python.code(name.a as u32, code);
    }

    fn slot(&mut self, number: u64, slot: Slot) {
        if let Ok(n) = u32::try_from(number)
            && n < META_MAX
        {
            self.slots.set(n, Some(slot));
            self.resolved.remove(n);
        }
    }

    fn instance(&mut self, process: &Arc<Process>, name: &Name<'_>) {
        let object = self.objects.get(&name.b);
        let version = u32::try_from(name.c).ok().filter(|v| *v >= 1000);
        let instance = Arc::new(Instance {
            process: process.clone(),
            id: name.a,
            library: object.map_or_else(|| "?".into(), |o| o.name.clone()),
            shared: object.is_some_and(|o| o.layer == Layer::RUNTIME.number()),
            version: version.map(|v| format!("{}.{}", v / 1000, v % 1000 / 10).into()),
            number: version,
        });
        self.toolkit = self.toolkit.max(version);
        self.instance_of_object.insert(name.b, name.a);
        if self.instances.insert(name.a, instance.clone()).as_ref() != Some(&instance) {
            self.events.push((name.ticks, Event::Instance(instance, 0)));
        }
    }

    /// The function of a slot, if its name has been read.
    pub fn resolve(&mut self, slot: u32, resolver: &mut Resolver) -> Option<&ResolvedFunction> {
        if self.resolved(slot).is_none() {
            self.resolve_slot(slot, resolver);
        }
        self.resolved(slot)
    }

    /// Makes the function of a slot. False if its name has not been read.
    pub fn resolve_slot(&mut self, slot: u32, resolver: &mut Resolver) -> bool {
        if let Some(named) = self.slots.get(slot) {
            let function = self.function(named, resolver);
            self.resolved.set(slot, function);
        }
        self.resolved(slot).is_some()
    }

    /// The function of a slot, if it was made before.
    #[inline(always)]
    pub fn resolved(&self, slot: u32) -> Option<&ResolvedFunction> {
        self.resolved.get(slot)
    }

    /// All functions that a record has asked for.
    pub fn all_resolved(&self) -> impl Iterator<Item = &ResolvedFunction> {
        self.resolved.values()
    }

    /// Whether the slot has a name, or was given one.
    pub fn is_named(&self, slot: u32) -> bool {
        self.slots.get(slot).is_some()
    }

    /// The slot of a range or a mark of this name. `slot` is that of all of them in a domain.
    pub fn range_slot(&mut self, slot: u32, name: &[u8]) -> u32 {
        if let Some(named) = self.range_slots.get(&slot).and_then(|named| named.get(name)) {
            return *named;
        }
        let Some(Slot::Range { object, words, moment, .. }) = self.slots.get(slot).cloned() else { return slot };
        if moment == RangeMoment::End && name.is_empty() {
            return self.range_slot(slot, END_OF_RANGE);
        }
        let count: usize = self.range_slots.values().map(HashMap::len).sum();
        if count >= MOST_RANGE_NAMES && ![OTHER_RANGES, END_OF_RANGE].contains(&name) {
            return self.range_slot(slot, OTHER_RANGES);
        }
        let named = FIRST_RANGE_SLOT + count as u32;
        self.range_slots.entry(slot).or_default().insert(name.into(), named);
        self.slots.set(named, Some(Slot::Range { object, name: name.into(), words, moment }));
        named
    }

    /// A function for a slot whose name is lost.
    pub fn nameless(&mut self, slot: u32, resolver: &mut Resolver) {
        if slot >= META_MAX {
            return;
        }
        self.nameless += 1;
        let name = format!("slot {slot}");
        let object = Slot::Bound { object: 0, name: name.as_bytes().into(), shape: UNKNOWN, hidden: false };
        self.slot(u64::from(slot), object);
        let function = function(resolver, Layer::DRIVER, "?".into(), name.as_bytes(), None, None);
        let is_shown = resolver.filter.wants_function(function.layer, "?", &name);
        let resolved = ResolvedFunction {
            function,
            is_shown,
            hidden: false,
            launch: Launch::No,
            object: 0,
            words: words_of(UNKNOWN),
            parent: false,
            changes_state: false,
            ancestor_bits: 0,
            tests: None,
        };
        self.resolved.set(slot, Some(resolved));
    }

    fn function(&self, slot: &Slot, resolver: &mut Resolver) -> Option<ResolvedFunction> {
        let (function, object, words) = match slot {
            Slot::Bound { object, name, shape, .. } => {
                let holder = self.objects.get(object)?;
                let of_table = cutap_calls::hidden::is_slot_name(name);
                let layer =
                    if of_table { Layer::HIDDEN } else { Layer::of_number(holder.layer).unwrap_or(Layer::LIBRARY) };
                let version = self.instance_of(*object).and_then(|i| i.number);
                let described = described(resolver, layer, &holder.name, name, version, WordSource::Frame(*shape));
                (function(resolver, layer, holder.name.clone(), name, None, described), *object, words_of(*shape))
            }
            Slot::Range { object, name, words, moment } => {
                let domain = self.objects.get(object)?.name.clone();
                (range(resolver, domain, name, *moment), *object, *words)
            }
            Slot::Runtime { instance, name, words } => {
                let instance = self.instances.get(instance)?;
                let library = instance.library.clone();
                let described = described(resolver, Layer::RUNTIME, "", name, instance.number, WordSource::Block);
                (function(resolver, Layer::RUNTIME, library, name, Some(instance.clone()), described), 0, *words)
            }
        };
        let hidden = matches!(slot, Slot::Bound { hidden: true, .. }) && resolver.hides_kept_calls();
        let is_shown = !hidden && resolver.filter.wants_function(function.layer, &function.library, &function.name);
        let launch = launch_of(&function);
        let parent = function.described.is_some_and(|d| d.resolves_caller_args());
        let tests = resolver.filter.tests(function.layer, &function.library, &function.name);
        let ancestor_bits = resolver.filter.ancestor_bits(function.layer, &function.library, &function.name);
        let (changes_state, tests) = (changes_state(&function), tests.map(Arc::new));
        Some(ResolvedFunction {
            function,
            is_shown,
            hidden,
            launch,
            object,
            words,
            parent,
            changes_state,
            ancestor_bits,
            tests,
        })
    }

    /// What a thread is called, if its name has been read.
    pub fn thread(&self, tid: u32) -> Option<Arc<str>> {
        self.threads.get(&u64::from(tid)).cloned()
    }

    /// Whether a runtime is in the process.
    pub fn has_runtime(&self) -> bool {
        !self.instances.is_empty()
    }

    /// Names of all functions that were announced, called or not.
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        self.slots.values().filter_map(|slot| {
            let (Slot::Bound { name, .. } | Slot::Runtime { name, .. } | Slot::Range { name, .. }) = slot;
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
        let (from, (id, bytes)) = self.loads.range(..=address).next_back()?;
        // Old recordings have no sizes.
        let is_inside = *bytes == 0 || address - from < *bytes;
        self.objects.get(id).filter(|_| is_inside).map(|o| o.name.clone())
    }
}

/// A text of Python, whose characters have so many bytes each. What no terminal can print is replaced.
fn characters(bytes: &[u8], width: u8) -> String {
    let width = usize::from(width.clamp(1, 4));
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte));
    let text = bytes.chunks_exact(width).map(|bytes| char::from_u32(number(bytes)).unwrap_or('\u{fffd}'));
    clean(text.collect::<String>().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::characters;

    #[test]
    fn texts_of_python() {
        assert_eq!(characters(b"caf\xe9.py", 1), "caf\u{e9}.py");
        assert_eq!(characters(&[0x61, 0, 0x70, 0x65], 2), "a\u{6570}");
        assert_eq!(characters(&[0xbb, 0xd4, 1, 0, 0x62, 0, 0, 0, 7], 4), "\u{1d4bb}b");
        assert_eq!(characters(&[0, 0xd8], 2), "\u{fffd}", "half of a pair");
    }
}
