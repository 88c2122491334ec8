//! `report --allocations`: who allocates how much. Calls that allocate inside another one that does (a driver's call
//! inside a runtime's) are part of that one.

use super::{EventSink, Input, Kind, Report, Takes};
use crate::json_writer::write_json;
use crate::label::Label;
use crate::length::length;
use crate::open_calls::OpenCalls;
use crate::resource_names::word;
use crate::units::bytes;
use cutap_calls::known::{Effect, Memory};
use cutap_trace::{Call, End, Event, Exit, Function};
use serde_json::json;
use std::collections::BTreeMap;
use std::io;

pub(super) const KIND: Kind = Kind {
    flag: "allocations",
    help: "Who allocates how much memory, with the calls around it",
    value: Takes::Nothing,
    new: |_| Box::new(Allocations::default()),
};

#[derive(Default)]
struct Allocations {
    open: OpenCalls,
    groups: BTreeMap<(Vec<String>, &'static str), Sums>,
}

#[derive(Default, Clone, Copy)]
struct Sums {
    count: u64,
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

fn label(call: &Call) -> String {
    Label::new(&call.function, call.instance().map(|i| &**i)).text()
}

impl Allocations {
    fn exit(&mut self, exit: &Exit) {
        self.open.exit(exit);
        let call = &exit.call;
        let Some(kind) = allocates(&call.function).filter(|_| exit.duration_ns.is_some() && !exit.is_error()) else {
            return;
        };
        let around: Vec<_> = self.open.around(call.thread.key).collect();
        if around.iter().any(|call| allocates(&call.function).is_some()) {
            return;
        }
        let path = around.into_iter().map(|call| label(call)).chain([label(call)]).collect();
        let size = length(exit).unwrap_or(0);
        let sums = self.groups.entry((path, kind)).or_default();
        sums.count += 1;
        sums.bytes = sums.bytes.saturating_add(size);
        sums.most = sums.most.max(size);
    }

    /// The groups, those with the most bytes first.
    fn sorted(&self) -> Vec<(&[String], &'static str, Sums)> {
        let mut groups: Vec<_> = self.groups.iter().map(|((path, kind), sums)| (&path[..], *kind, *sums)).collect();
        groups.sort_by_key(|(_, _, sums)| std::cmp::Reverse((sums.bytes, sums.count)));
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

    fn write_text(&self, _: &End, _colour: bool, out: &mut dyn io::Write) -> io::Result<()> {
        let groups = self.sorted();
        match groups.is_empty() {
            true => writeln!(out, "no call allocated memory")?,
            false => {
                writeln!(out, "    count       bytes     largest  what, the call that allocates, the calls around it")?
            },
        }
        for (path, kind, Sums { count, bytes: all, most }) in groups {
            let Some((last, around)) = path.split_last() else { continue };
            writeln!(out, "{count:>9} {:>11} {:>11}  {kind}: {last}", bytes(all), bytes(most))?;
            around.iter().rev().try_for_each(|call| writeln!(out, "{:37}in {call}", ""))?;
        }
        Ok(())
    }

    fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.sorted().into_iter().try_for_each(|(path, kind, sums)| {
            let line = json!({
                "type": "allocations", "kind": kind, "count": sums.count, "bytes": sums.bytes,
                "largest_bytes": sums.most, "path": path,
            });
            write_json(out, &line)?;
            out.write_all(b"\n")
        })
    }
}
