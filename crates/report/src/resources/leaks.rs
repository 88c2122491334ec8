//! Follows allocations and handles from the call that makes them to the call that ends them, by the effects in the
//! descriptions of functions. Memory grows with the number of live resources.
//! References are counted for allocations of `cuMemCreate` only.

use crate::call::allocation_size::allocation_size;
use crate::call::resource_names::{address, handles, word, written};
use crate::format::runs::RunCounts;
use crate::nesting::open_calls::OpenCalls;
use crate::nesting::path_stacks::{path_of, stack_of};
use crate::nesting::stacks::Lines;
use crate::resources::selected_functions::SelectedFunctions;
use cutap_calls::known::{Dir, Effect, Memory, Tables, Type};
use cutap_calls::{begins_capture, ends_capture, hands_out};
use cutap_trace::decode::{Devices, Value};
use cutap_trace::{ByName, Call, EventVisitor, Exit, Function, Layer, RunName, TimeWindow};
use foldhash::HashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The largest number of resources that are followed. Further ones are only counted.
pub(crate) const MOST: usize = 1 << 22;

/// The live resources of all processes.
#[derive(Debug)]
pub struct Leaks {
    open_calls: OpenCalls,
    /// Kinds of handles that some function destroys.
    destroyable_kinds: BTreeSet<&'static str>,
    alive: HashMap<Thing, Made>,
    /// When the driver last made a resource, by thread.
    latest: HashMap<u32, u64>,
    /// The behaviour of each function, by its key.
    functions: Vec<Option<Behaviour>>,
    /// Contexts of each process.
    devices: HashMap<u32, Devices>,
    /// The graph of a capture into an existing graph, by process and stream.
    captured: HashMap<(u32, u64), u64>,
    /// Paths of calls with their stacks, each once.
    ways: Vec<Way>,
    numbers: HashMap<Way, u32>,
    lines: Lines,
    /// Resources that were made while [`MOST`] were alive.
    beyond: u64,
    /// The run of each process, if several are read.
    runs: HashMap<u32, Arc<RunName>>,
    /// What the last event made and ended, for a report that asks for it.
    changes: Option<Vec<Change>>,
    /// Pieces of memory that no call freed before their context ended, and their bytes.
    ended_with_context: (u64, u64),
    /// Only what is made in this time is followed, up to its end; none for the whole run.
    window: Option<TimeWindow>,
}

/// A resource that was made, with its size if it is known, or ended.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Change {
    Made(Thing, Option<u64>),
    Ended(Thing),
}

/// A path of calls, and the frames of its recorded stack.
type Way = (Vec<String>, Arc<[String]>);

/// The roles of a function in `api/behaviour.toml`.
#[derive(Debug, Clone, Copy)]
struct Behaviour {
    hands_out: bool,
    begins_capture: bool,
    ends_capture: bool,
}

/// A process, a kind, and the handle or address.
pub(crate) type Thing = (u32, &'static str, u64);

#[derive(Debug, Clone, Copy)]
struct Made {
    way: u32,
    /// When, and by which thread.
    since: u64,
    thread: u32,
    /// The size of memory, if it is known.
    bytes: Option<u64>,
    /// The context that was current, if the driver's calls show it.
    context: Option<u64>,
    /// References that have to be released.
    references: u32,
}

/// The live resources that one path of calls made.
#[derive(Debug)]
pub struct Group {
    pub kind: &'static str,
    pub count: u64,
    pub bytes: u64,
    /// The count of each run.
    pub(crate) runs: RunCounts,
    /// The call that made them, and those around it, the outermost first.
    pub way: Vec<String>,
    /// The frames of their stack; none if it was not recorded.
    pub stack: Arc<[String]>,
    /// Addresses of the first ones.
    pub first: Vec<u64>,
}

/// Kinds that do not end with a context.
const OF_NO_CONTEXT: [&str; 6] = ["allocation", "reserved addresses", "pool", "library", "context", "greenContext"];
/// Kinds of memory that a call frees by its address.
pub(super) const FREED: [Memory; 5] =
    [Memory::Device, Memory::Host, Memory::Managed, Memory::Reserved, Memory::External];
/// Addresses that a group names.
const NAMED: usize = 4;

impl Default for Leaks {
    fn default() -> Leaks {
        Leaks {
            open_calls: OpenCalls::default(),
            destroyable_kinds: destroyable_kinds(&cutap_calls::generated::known::TABLES),
            alive: HashMap::default(),
            latest: HashMap::default(),
            functions: Vec::new(),
            devices: HashMap::default(),
            captured: HashMap::default(),
            ways: Vec::new(),
            numbers: HashMap::default(),
            lines: Lines::default(),
            beyond: 0,
            runs: HashMap::default(),
            changes: None,
            ended_with_context: (0, 0),
            window: None,
        }
    }
}

impl EventVisitor for Leaks {
    fn enter(&mut self, call: &Call) {
        if self.window.is_some_and(|window| window.is_before(call.start_ns)) {
            return;
        }
        self.open_calls.enter(call);
    }

    fn exit(&mut self, exit: &Exit) {
        // What begins in the time ends its call, and is as it was at the end of the time.
        let is_after = |ns| self.window.is_some_and(|window| window.is_before(ns));
        let (begins_after, ends_after) = (is_after(exit.call.start_ns), is_after(exit.end_ns));
        if begins_after {
            return;
        }
        self.open_calls.exit(exit);
        if ends_after {
            return;
        }
        // A result that a hook changed does not count; the result of the function does.
        if exit.duration_ns.is_some() && !exit.has_failed() {
            self.finish_call(exit);
        }
    }
}

impl Leaks {
    /// One that also says what each event changes.
    pub(crate) fn with_changes() -> Leaks {
        Leaks { changes: Some(Vec::new()), ..Leaks::default() }
    }

    /// Whether what a call makes is followed.
    pub(crate) fn follows(&self, exit: &Exit) -> bool {
        let is_outside = |window: TimeWindow| window.is_after(exit.end_ns) || window.is_before(exit.end_ns);
        !self.window.is_some_and(is_outside)
    }

    /// Follows only what is made in this time, up to its end.
    pub fn during(&mut self, window: TimeWindow) {
        self.window = Some(window);
    }

    /// What the events since the last question made and ended.
    pub(crate) fn changes(&mut self) -> Vec<Change> {
        self.changes.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn changed(&mut self, change: Change) {
        self.changes.iter_mut().for_each(|changes| changes.push(change));
    }

    /// The calls that are open.
    pub(crate) fn open_calls(&self) -> &OpenCalls {
        &self.open_calls
    }

    fn finish_call(&mut self, exit: &Exit) {
        let function = &exit.call.function;
        let Some(described) = function.described else { return };
        let process = exit.call.thread.process.key;
        let Behaviour { hands_out, begins_capture, ends_capture } = self.behaviour(function);
        let ByName { resets, device, .. } = function.by_name;
        if resets {
            self.reset(exit);
        }
        if let Some(step) = device {
            self.devices.entry(process).or_default().follow(step, exit);
        }
        if resets {
            return;
        }
        let stream = (process, stream(exit));
        if begins_capture {
            self.captures(stream, exit);
        }
        let captured_graph = if ends_capture { self.captured.get(&stream).copied() } else { None };
        // The nested call has made the resource, and a hook gave the program another value.
        let inside = self.latest.get(&exit.call.thread.key).is_some_and(|made| *made > exit.call.start_ns);
        let is_hook_value = |n: u8| inside && function.layer != Layer::DRIVER && exit.call.is_written_by_hook(n.into());
        if !hands_out {
            for (n, value) in exit.outputs.iter().filter(|(n, _)| !is_hook_value(*n)) {
                // A parameter that it also reads has an existing handle.
                if function.params().get(usize::from(*n)).is_some_and(|p| p.dir == Dir::Out) {
                    for (kind, value) in handles(value) {
                        if self.destroyable_kinds.contains(kind) && captured_graph != Some(value) {
                            self.add((process, kind, value), exit, None);
                        }
                    }
                }
            }
        }
        for effect in described.function.effects {
            match *effect {
                // A module's variable ends with the module.
                Effect::Allocates { memory: Memory::Mapped, .. } => {}
                Effect::Allocates { at, by_value, memory, .. } if !hands_out && !is_hook_value(at) => {
                    let input = exit.call.effective_args().get(usize::from(at));
                    let address =
                        if by_value { input.and_then(address) } else { exit.output(at.into()).and_then(written) };
                    if let Some(address) = address {
                        let bytes = allocation_size(exit);
                        self.add((process, word(memory), address), exit, bytes);
                    }
                }
                Effect::Destroys(n) => {
                    let destroyed = exit.call.effective_args().get(usize::from(n)).map(handles).unwrap_or_default();
                    for (kind, value) in destroyed {
                        self.end((process, kind, value), exit);
                    }
                }
                Effect::Frees(n) => {
                    if let Some(address) = exit.call.effective_args().get(usize::from(n)).and_then(address) {
                        for memory in FREED {
                            self.end((process, word(memory), address), exit);
                        }
                    }
                }
                Effect::Creates(n) if hands_out && !is_hook_value(n) => {
                    for (kind, value) in exit.output(n.into()).map(handles).unwrap_or_default() {
                        self.retain((process, kind, value), exit);
                    }
                }
                Effect::Allocates { .. } | Effect::Creates(_) => {}
                Effect::Remembers { .. } | Effect::RemembersWhen { .. } => {}
                Effect::KeepsLogs { .. } | Effect::TellsLogs(_) | Effect::Pool { .. } => {}
                Effect::AllocatesInside { .. } | Effect::Belongs(..) | Effect::Unmaps { .. } => {}
            }
        }
    }

    /// Ends a context, or the primary one of a device, with all resources of the context. Without a known context, all
    /// resources end.
    fn reset(&mut self, exit: &Exit) {
        let call = &exit.call;
        let (process, thread) = (call.thread.process.key, call.thread.key);
        let devices = self.devices.entry(process).or_default();
        let argument_handles = call.effective_args().iter().flat_map(handles);
        let context = argument_handles.clone().find(|(kind, _)| *kind == "context").map(|(_, value)| value);
        let device = call.effective_args().first().and_then(|value| match value {
            Value::Handle { value, kind, .. } if kind.short == "device" => u32::try_from(*value).ok(),
            _ => None,
        });
        let primary = || devices.primary_context(device.or_else(|| devices.current(thread))?);
        let ended_context = context.or_else(primary);
        let all = context.is_none();
        let (changes, ended_with) = (&mut self.changes, &mut self.ended_with_context);
        self.alive.retain(|(of, kind, value), made| {
            let here = match (made.context, ended_context) {
                (Some(made), Some(ended_context)) => made == ended_context,
                (None, _) | (_, None) => all,
            };
            let is_it = *kind == "context" && Some(*value) == context;
            let survives =
                *of != process || made.since > call.start_ns || !(is_it || here && !OF_NO_CONTEXT.contains(kind));
            if let (false, Some(bytes)) = (survives, made.bytes) {
                *ended_with = (ended_with.0 + 1, ended_with.1 + bytes);
            }
            if !survives {
                changes.iter_mut().for_each(|changes| changes.push(Change::Ended((*of, *kind, *value))));
            }
            survives
        });
    }

    /// The behaviour of a function, which is looked up once.
    fn behaviour(&mut self, function: &Function) -> Behaviour {
        let key = function.key as usize;
        if key >= self.functions.len() {
            self.functions.resize(key + 1, None);
        }
        *self.functions[key].get_or_insert_with(|| Behaviour {
            hands_out: hands_out(&function.name),
            begins_capture: begins_capture(&function.name),
            ends_capture: ends_capture(&function.name),
        })
    }

    /// Begins a capture: into the graph that the call was given, or into a new one.
    fn captures(&mut self, stream: (u32, u64), exit: &Exit) {
        let target = exit.call.effective_args().iter().flat_map(handles).find(|(kind, _)| *kind == "graph");
        match target {
            Some((_, graph)) if self.captured.len() < MOST => drop(self.captured.insert(stream, graph)),
            _ => drop(self.captured.remove(&stream)),
        }
    }

    /// Ends a resource, or releases one reference. The driver may have given the same handle to another thread since
    /// the call began; that resource stays.
    fn end(&mut self, thing: Thing, exit: &Exit) {
        let Some(made) = self.alive.get_mut(&thing).filter(|made| made.since <= exit.call.start_ns) else { return };
        made.references -= 1;
        if made.references == 0 {
            self.alive.remove(&thing);
            self.changed(Change::Ended(thing));
        }
    }

    /// Adds a reference to a resource, which is new if it had none.
    fn retain(&mut self, thing: Thing, exit: &Exit) {
        match self.alive.get_mut(&thing) {
            Some(made) => made.references = made.references.saturating_add(1),
            None => self.add(thing, exit, None),
        }
    }

    /// Adds a resource. The call around the one that made it reports it again, which changes nothing. Otherwise an
    /// earlier resource with this handle has ended.
    fn add(&mut self, thing: Thing, exit: &Exit, bytes: Option<u64>) {
        let thread = exit.call.thread.key;
        if exit.call.function.layer == Layer::DRIVER {
            self.latest.insert(thread, exit.end_ns);
        }
        if self.window.is_some_and(|window| window.is_after(exit.end_ns)) {
            return;
        }
        let before = self.alive.get(&thing);
        if before.is_some_and(|before| before.thread == thread && before.since > exit.call.start_ns) {
            return;
        }
        if before.is_none() && self.alive.len() >= MOST {
            self.beyond += 1;
            return;
        }
        let stack = stack_of(&self.open_calls, &exit.call).map(|stack| self.lines.of(stack)).unwrap_or_default();
        let way = (path_of(&self.open_calls, &exit.call), stack);
        let number = match self.numbers.get(&way) {
            Some(number) => *number,
            None => {
                let next = self.ways.len() as u32;
                self.ways.push(way.clone());
                self.numbers.insert(way, next);
                next
            }
        };
        if let Some(run) = &exit.call.thread.process.run {
            self.runs.entry(thing.0).or_insert_with(|| run.clone());
        }
        let context = self.devices.get(&thing.0).and_then(|d| d.context(thread));
        let resource = Made { way: number, since: exit.end_ns, thread, bytes, context, references: 1 };
        if self.alive.insert(thing, resource).is_some() {
            self.changed(Change::Ended(thing));
        }
        self.changed(Change::Made(thing, bytes));
    }

    /// The live resources by path: by size, then by number.
    pub fn groups(&self) -> Vec<Group> {
        self.groups_of(None)
    }

    /// The live resources that calls of these functions made, in that order.
    pub fn groups_of(&self, selected: Option<&SelectedFunctions>) -> Vec<Group> {
        let mut groups: BTreeMap<(&str, u32), Group> = BTreeMap::new();
        let mut resources: Vec<_> = self.alive.iter().collect();
        resources.sort_by_key(|(thing, made)| (made.since, thing.2));
        for (thing, made) in resources {
            let (way, stack) = self.ways.get(made.way as usize).cloned().unwrap_or_default();
            if selected.is_some_and(|selected| !selected.selects(thing.0, &way)) {
                continue;
            }
            let group = groups.entry((thing.1, made.way)).or_insert_with(|| Group {
                kind: thing.1,
                count: 0,
                bytes: 0,
                runs: RunCounts::default(),
                way,
                stack,
                first: Vec::new(),
            });
            group.count += 1;
            self.runs.get(&thing.0).iter().for_each(|run| group.runs.add_run(run, 1));
            group.bytes += made.bytes.unwrap_or(0);
            if group.first.len() < NAMED {
                group.first.push(thing.2);
            }
        }
        let mut groups: Vec<Group> = groups.into_values().collect();
        groups.sort_by(|a, b| {
            (b.bytes, b.count).cmp(&(a.bytes, a.count)).then_with(|| (a.kind, &a.way).cmp(&(b.kind, &b.way)))
        });
        groups
    }

    /// Pieces of memory that ended with their context and that no call freed, and their bytes.
    pub fn ended_with_context(&self) -> (u64, u64) {
        self.ended_with_context
    }

    /// Whether any resource was made.
    pub fn has_made(&self) -> bool {
        !self.ways.is_empty()
    }

    /// Resources that were made while `MOST` were alive, and are in no group.
    pub fn beyond(&self) -> u64 {
        self.beyond
    }
}

/// The kinds of handles that some function destroys.
fn destroyable_kinds(tables: &'static Tables) -> BTreeSet<&'static str> {
    let ty = |id: u16| tables.types.get(usize::from(id)).copied();
    let functions = tables.families.iter().flat_map(|f| f.functions);
    let each = functions.flat_map(|f| f.effects.iter().map(move |e| (f, e)));
    let of = each.filter_map(|(function, effect)| {
        let Effect::Destroys(n) = effect else { return None };
        let of = match ty(function.params.get(usize::from(*n))?.ty)? {
            Type::Pointer(to, _) => ty(to)?,
            other => other,
        };
        let Type::Handle(of) = of else { return None };
        tables.handles.get(usize::from(of)).map(|handle| handle.short)
    });
    of.collect()
}

/// The first argument as a stream; 0 is the default stream.
fn stream(exit: &Exit) -> u64 {
    match exit.call.effective_args().first() {
        Some(Value::Handle { value, .. }) => *value,
        _ => 0,
    }
}
