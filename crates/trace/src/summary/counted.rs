//! The counts of a run under -C or --chatter=count: how often each function was called, from the files of numbers that
//! each process leaves.

use crate::event::{Function, Instance, Layer};
use crate::io::bytes::u32_at;
use crate::symbols::functions::Resolver;
use crate::symbols::process::ProcessSymbols;
use cutap_wire::counts::{ENTRIES, FILES, FIRST_RUNTIME, HEAD};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A function, and how often it was called.
#[derive(Debug, Clone)]
pub struct CountedFunction {
    pub function: Arc<Function>,
    /// The runtime that it belongs to, of the process in which it was found first.
    pub instance: Option<Arc<Instance>>,
    /// Version of that runtime.
    pub runtime: Option<Box<str>>,
    pub calls: u64,
}

/// Layer, library, version of the runtime, name.
type Label = (Layer, Box<str>, Option<Box<str>>, Box<str>);
/// A function, and the runtime that it belongs to.
type FunctionOf = (Arc<Function>, Option<Arc<Instance>>);

/// Sums over processes.
#[derive(Debug, Default)]
pub struct CountSums(BTreeMap<Label, CountedFunction>);

impl CountSums {
    /// Adds what a process counted and the filter shows.
    ///
    /// `only_counted`: the run recorded no call (-C).
    pub fn add(&mut self, folder: &mut ProcessSymbols, resolver: &mut Resolver, only_counted: bool) {
        folder.read_names(true);
        of_process(folder, resolver, only_counted).into_iter().for_each(|one| self.add_one(one));
    }

    /// Adds what a process or a run counted.
    pub fn add_one(&mut self, one: CountedFunction) {
        let f = &one.function;
        let key = (f.layer, f.library.as_ref().into(), one.runtime.clone(), f.display_name().into());
        self.0.entry(key).and_modify(|sum| sum.calls += one.calls).or_insert(one);
    }

    /// All, the most often called first.
    pub fn sorted(self) -> Vec<CountedFunction> {
        let mut all: Vec<CountedFunction> = self.0.into_values().collect();
        all.sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.function.name.cmp(&b.function.name)));
        all
    }
}

fn of_process(folder: &mut ProcessSymbols, resolver: &mut Resolver, only_counted: bool) -> Vec<CountedFunction> {
    // Under -C, a call of a shared runtime may be counted where its pointer was handed out, and again where the runtime
    // reports it. Under --chatter=count it is counted once.
    let mut calls_by_function: BTreeMap<(u64, Box<str>), [u64; 2]> = BTreeMap::new();
    let mut functions: BTreeMap<(u64, Box<str>), FunctionOf> = BTreeMap::new();
    for (kind, name) in FILES.iter().enumerate() {
        let numbers = numbers(folder, name);
        for (n, calls) in numbers.into_iter().enumerate().filter(|n| n.1 > 0) {
            let slot = n as u64 + if kind == 0 { 0 } else { FIRST_RUNTIME };
            let Some(resolved) = folder.names.resolve(slot as u32, resolver) else { continue };
            // No arguments are known of what was only counted.
            if !resolved.is_shown || resolved.tests.as_ref().is_some_and(|tests| !tests.wants_unknown()) {
                continue;
            }
            let (function, object) = (resolved.function.clone(), resolved.object);
            // A toolkit library has a runtime inside; its own functions are not that runtime's.
            let of_object = folder.names.instance_of(object).filter(|_| function.layer == Layer::RUNTIME);
            let instance = function.instance.clone().or_else(|| of_object.cloned());
            let object = instance.as_ref().and_then(|i| folder.names.object_of(i.id)).unwrap_or(object);
            let key = (object, function.name.as_ref().into());
            calls_by_function.entry(key.clone()).or_default()[kind] += calls;
            let instance = instance.filter(|_| function.layer == Layer::RUNTIME);
            functions.insert(key, (function, instance));
        }
    }
    let one = |(key, [by_slot, reported]): ((u64, Box<str>), [u64; 2])| {
        let (function, instance) = functions.get(&key)?.clone();
        let runtime = instance.as_ref().and_then(|i| i.version.clone());
        let calls = if only_counted { by_slot.max(reported) } else { by_slot + reported };
        Some(CountedFunction { function, instance, runtime, calls })
    };
    calls_by_function.into_iter().filter_map(one).collect()
}

/// The numbers of one kind, summed over the threads.
fn numbers(folder: &ProcessSymbols, kind: &str) -> Vec<u64> {
    let mut sums = Vec::new();
    for bytes in folder.dir.files(kind) {
        let entries = u32_at(&bytes, 0).min(ENTRIES) as usize;
        let words = bytes.get(HEAD..).unwrap_or(&[]).as_chunks::<8>().0;
        for (n, word) in words.iter().take(entries).enumerate() {
            if n >= sums.len() {
                sums.resize(n + 1, 0);
            }
            sums[n] += u64::from_le_bytes(*word);
        }
    }
    sums
}
