//! `report --allocations`: who allocates how much. Calls that allocate inside another one that does (a driver's call
//! inside a runtime's) are part of that one. Calls of one path and one recorded stack are one row.

use super::{EventSink, Input, Kind, Report, Takes};
use crate::json_writer::write_json;
use crate::length::length;
use crate::open_calls::OpenCalls;
use crate::path_stacks::{path_of, stack_of, write_frames};
use crate::resource_names::word;
use crate::stacks::Lines;
use crate::units::bytes;
use cutap_calls::known::{Effect, Memory};
use cutap_trace::{End, Event, Exit, Function};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

pub(super) const KIND: Kind = Kind {
    flag: "allocations",
    help: "Who allocates how much memory, with the calls around it",
    value: Takes::Nothing,
    new: |_| Box::new(Allocations::default()),
};

#[derive(Default)]
struct Allocations {
    open: OpenCalls,
    lines: Lines,
    groups: BTreeMap<AllocationSite, Sums>,
}

/// The path from the outermost call, the frames of the recorded stack, and the kind of memory.
type AllocationSite = (Vec<String>, Arc<[String]>, &'static str);

#[derive(Default, Clone, Copy)]
struct Sums {
    count: u64,
    /// Those whose size is not known.
    without_size: u64,
    bytes: u64,
    /// The largest one.
    most: u64,
}

/// The kind of memory that a function allocates.
fn allocates(function: &Function) -> Option<&'static str> {
    let effects = function.described?.function.effects;
    effects.iter().find_map(|effect| match effect {
        Effect::Allocates { memory: Memory::Mapped, .. } => None,
        Effect::Allocates { memory, .. } => Some(word(*memory)),
        _ => None,
    })
}

impl Allocations {
    fn exit(&mut self, exit: &Exit) {
        self.open.exit(exit);
        let call = &exit.call;
        let Some(kind) = allocates(&call.function).filter(|_| exit.duration_ns.is_some() && !exit.is_error()) else {
            return;
        };
        if self.open.around(call.thread.key).any(|call| allocates(&call.function).is_some()) {
            return;
        }
        let stack = stack_of(&self.open, call).map(|stack| self.lines.of(stack)).unwrap_or_default();
        let size = length(exit);
        let sums = self.groups.entry((path_of(&self.open, call), stack, kind)).or_default();
        sums.count += 1;
        sums.without_size += u64::from(size.is_none());
        let size = size.unwrap_or(0);
        sums.bytes = sums.bytes.saturating_add(size);
        sums.most = sums.most.max(size);
    }

    /// The groups, those with the most bytes first.
    fn sorted(&self) -> Vec<(&AllocationSite, Sums)> {
        let mut groups: Vec<_> = self.groups.iter().map(|(place, sums)| (place, *sums)).collect();
        groups.sort_by_key(|(_, sums)| std::cmp::Reverse((sums.bytes, sums.count)));
        groups
    }
}

impl EventSink for Allocations {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Enter(call) => self.open.enter(call),
            Event::Exit(exit) => self.exit(exit),
            _ => {}
        }
    }
}

impl Report for Allocations {
    fn input(&mut self) -> Input<'_> {
        Input::Events(self)
    }

    fn nothing(&self) -> Option<&'static str> {
        self.groups.is_empty().then_some("no call allocated memory")
    }

    fn write_text(&self, _: &End, _colour: bool, out: &mut dyn io::Write) -> io::Result<()> {
        let has_stacks = self.groups.keys().any(|(_, stack, _)| !stack.is_empty());
        let stacks = if has_stacks { ", and its stack" } else { "" };
        writeln!(out, "    count       bytes     largest  what, the call that allocates, the calls around it{stacks}")?;
        for ((path, stack, kind), sums) in self.sorted() {
            let Some((last, around)) = path.split_last() else { continue };
            let size = |n: u64| if sums.without_size == sums.count { "?".to_owned() } else { bytes(n) };
            writeln!(out, "{:>9} {:>11} {:>11}  {kind}: {last}", sums.count, size(sums.bytes), size(sums.most))?;
            around.iter().rev().try_for_each(|call| writeln!(out, "{:37}in {call}", ""))?;
            write_frames(stack, 37, out)?;
        }
        Ok(())
    }

    fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.sorted().into_iter().try_for_each(|((path, stack, kind), sums)| {
            let mut line = json!({
                "type": "allocations", "kind": kind, "count": sums.count, "bytes": sums.bytes,
                "largest_bytes": sums.most, "path": path,
            });
            if let (false, Value::Object(line)) = (stack.is_empty(), &mut line) {
                line.insert("stack".to_owned(), json!(**stack));
            }
            write_json(out, &line)?;
            out.write_all(b"\n")
        })
    }
}
