//! What a run did, function by function.

use super::key::{FunctionKey, caller, version};
use super::normal::arguments;
use crate::call::call_bytes::{call_bytes, copies};
use crate::explain::{TimeSpent, is_start_up};
use cutap_trace::{Call, Event, Exit, Layer};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Different arguments whose text is kept of a function; of more only the number is known.
const KEPT: usize = 4096;

/// What makes calls of a run equal.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProfileOptions {
    /// Handles of a kind are equal, whatever their numbers.
    pub ignores_handles: bool,
    /// Calls of a function are counted separately for each function of the program that makes them.
    pub by_caller: bool,
}

/// The key of a function, and that of the runtime instance with its process.
type CalledFunction = (u32, Option<(u32, u64)>);

/// What a run did.
#[derive(Debug, Default)]
pub struct Profile {
    pub(super) functions: BTreeMap<FunctionKey, Sums>,
    /// The versions of each library whose functions it called.
    pub(super) versions: BTreeMap<(Layer, Arc<str>), BTreeSet<String>>,
    options: ProfileOptions,
    /// By the keys of functions and of runtime instances, and by the caller.
    keys: HashMap<(CalledFunction, Option<Arc<str>>), FunctionKey>,
    spent: TimeSpent,
}

/// The sums of a function.
#[derive(Debug, Default)]
pub(super) struct Sums {
    pub calls: u64,
    pub errors: u64,
    /// Failed calls by status.
    pub statuses: BTreeMap<String, u64>,
    /// Calls that did not return.
    pub open: u64,
    pub ns: u64,
    /// Of these, the nanoseconds of what happens once inside: starting CUDA, loading modules.
    pub once_ns: u64,
    /// The function itself starts CUDA or looks functions up.
    pub is_start_up: bool,
    /// The function copies or fills memory; none before its first call.
    copies: Option<bool>,
    /// What its calls allocated, copied or filled, as far as their arguments have sizes.
    pub bytes: u64,
    pub arguments: BTreeMap<String, u64>,
    /// Those of the arguments whose calls failed.
    pub failed: BTreeSet<String>,
    /// Calls with arguments beyond those.
    pub more: u64,
    /// The library and the version of its runtime, of the first call.
    pub library: Arc<str>,
    pub runtime: Option<Box<str>>,
}

impl Sums {
    /// Nanoseconds without start-up.
    pub fn own_ns(&self) -> u64 {
        self.ns.saturating_sub(self.once_ns)
    }

    /// Nanoseconds of a call in the mean.
    pub fn mean_ns(&self) -> u64 {
        self.own_ns() / self.calls.max(1)
    }
}

impl Profile {
    /// One of calls that are equal by these options.
    pub fn new(options: ProfileOptions) -> Profile {
        Profile { options, ..Profile::default() }
    }

    /// A call has a caller.
    pub fn has_callers(&self) -> bool {
        self.functions.keys().any(|key| key.caller.is_some())
    }

    /// No call was read.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// How many calls were read.
    pub(super) fn calls(&self) -> u64 {
        self.functions.values().map(|sums| sums.calls).sum()
    }

    /// Errors or bytes of all calls. A runtime's call and the driver's call in it fail together and move the same
    /// bytes, so it is the sum of the layer with most.
    pub(super) fn largest_layer(&self, number: impl Fn(&Sums) -> u64) -> u64 {
        let mut layers: BTreeMap<Layer, u64> = BTreeMap::new();
        for (key, sums) in &self.functions {
            let layer = layers.entry(key.layer).or_default();
            *layer = layer.saturating_add(number(sums));
        }
        layers.into_values().max().unwrap_or(0)
    }

    /// Takes one event.
    pub fn event(&mut self, event: &Event) {
        match event {
            // Ranges of NVTX are no calls, and their names may have numbers of steps in them.
            Event::Exit(exit) if exit.call.function.range.is_some() => {}
            Event::Enter(call) if call.function.range.is_some() => {}
            Event::Exit(exit) => self.exit(exit),
            Event::Enter(call) if call.function.entry_only => self.sums(call).calls += 1,
            Event::Enter(call) => self.spent.enter(call),
            _ => {}
        }
    }

    fn exit(&mut self, exit: &Exit) {
        let once_ns = self.spent.exit(exit).once_ns;
        let ignores_handles = self.options.ignores_handles;
        let sums = self.sums(&exit.call);
        sums.calls += u64::from(!exit.late);
        sums.errors += u64::from(exit.is_error());
        sums.open += u64::from(exit.duration_ns.is_none());
        sums.ns += exit.took_ns().unwrap_or(0);
        sums.once_ns += once_ns;
        let copies = *sums.copies.get_or_insert_with(|| copies(&exit.call.function.name));
        sums.bytes = sums.bytes.saturating_add(call_bytes(exit, copies).unwrap_or(0));
        let arguments = arguments(exit, ignores_handles);
        let is_known = sums.arguments.len() < KEPT || sums.arguments.contains_key(&arguments);
        if exit.is_error() {
            *sums.statuses.entry(exit.status_name().unwrap_or("failed").to_owned()).or_default() += 1;
            if is_known {
                sums.failed.insert(arguments.clone());
            }
        }
        match is_known {
            true => *sums.arguments.entry(arguments).or_default() += 1,
            false => sums.more += 1,
        }
    }

    /// The sums of the function of a call.
    fn sums(&mut self, call: &Call) -> &mut Sums {
        let function = &call.function;
        let instance = call.instance().or(function.instance.as_ref());
        let runtime = instance.map(|instance| (instance.process.key, instance.id));
        let caller = self.options.by_caller.then(|| caller(call)).flatten();
        let key = self.keys.entry(((function.key, runtime), caller.clone())).or_insert_with(|| {
            let key = FunctionKey::of(call, caller);
            let versions = self.versions.entry((key.layer, key.library.clone())).or_default();
            versions.insert(version(call, instance.map(|instance| &**instance)));
            key
        });
        self.functions.entry(key.clone()).or_insert_with(|| Sums {
            is_start_up: is_start_up(&function.name),
            library: function.library.clone(),
            runtime: instance.and_then(|instance| instance.version.clone()),
            ..Sums::default()
        })
    }
}
