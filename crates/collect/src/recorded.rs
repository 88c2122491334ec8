//! The last line of `cutap record`: how much was recorded, and the command that reads it.

use crate::previous::DEFAULT;
use cutap_calls::{Role, has_role};
use cutap_trace::{Aggregator, CallSink, Filter, FinishedCall, Function, Instance};
use std::path::Path;
use std::sync::Arc;

/// Calls of larger files are not counted: that would take seconds.
const COUNTED_BYTES: u64 = 64 << 20;

/// `12 calls, 1 of them failed, are in run.cutap (56 KiB); next: cutap report --errors`.
pub fn recorded(file: &Path) -> String {
    let bytes = std::fs::metadata(file).map_or(0, |data| data.len());
    let mut sums = Sums::default();
    let counted = bytes <= COUNTED_BYTES
        && Aggregator::open(file, &Filter::default()).map(|mut calls| calls.run(&mut sums)).is_ok();
    let name = file.display().to_string();
    let shown = if name == DEFAULT { String::new() } else { format!(" {name}") };
    let size = match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    };
    match (counted, sums.calls, sums.errors) {
        (false, ..) => format!("the calls are in {name} ({size}); next: cutap report{shown}"),
        (_, 0, _) => format!("no call was recorded in {name} ({size})"),
        (_, 1, 0) => format!("1 call is in {name} ({size}); next: cutap report{shown}"),
        (_, n, 0) => format!("{n} calls are in {name} ({size}), none failed; next: cutap report{shown}"),
        (_, n, e) => format!("{n} calls are in {name} ({size}), {e} failed; next: cutap report --errors{shown}"),
    }
}

#[derive(Default)]
struct Sums {
    calls: u64,
    errors: u64,
}

impl CallSink for Sums {
    fn enter(&mut self, _place: u32, _function: &Arc<Function>) -> u32 {
        0
    }
    fn exit(&mut self, done: &FinishedCall<'_>) {
        self.calls += u64::from(!done.late);
        // A runtime's start asks for what may be missing.
        let has = |role| has_role(done.function.name.as_bytes(), role);
        let failed = done.status().is_some_and(|status| status != 0);
        self.errors += u64::from(failed && !has(Role::ExportTable) && !has(Role::ProcAddress));
    }
    fn belongs(&mut self, _function: &Arc<Function>, _instance: &Arc<Instance>) {}
}
