//! `report --folded`: calls by their stacks, in the input format of flame graphs. A line has the frames from the
//! outermost one to the call, and a number. Memory grows with the number of different stacks.

use super::{Input, Report, ReportKind, Takes};
use crate::nesting::stacks::{shown_frames, end, frame_name};
use cutap_trace::{End, EventVisitor, Exit};
use serde_json::json;
use std::collections::BTreeMap;
use std::io;

pub(super) const KIND: ReportKind = ReportKind {
    flag: "folded",
    help: "Calls of each stack that --stack kept, or their nanoseconds (=time), in the input format of flame graphs",
    value: Takes::Optional("WEIGHT", &["calls", "time"]),
    new: |weight| Box::new(Folded { time: weight == "time", stacks: BTreeMap::new() }),
};

/// Stacks beyond this number share one line.
const MOST: usize = 1 << 20;
const MORE: &str = "[more stacks]";

struct Folded {
    /// The text has nanoseconds instead of calls.
    time: bool,
    /// Calls, and nanoseconds.
    stacks: BTreeMap<Vec<String>, (u64, u64)>,
}

impl EventVisitor for Folded {
    fn exit(&mut self, exit: &Exit) {
        if !exit.late
            && let Some(way) = way(exit)
        {
            let has_room = self.stacks.len() < MOST || self.stacks.contains_key(&way);
            let sums = self.stacks.entry(if has_room { way } else { vec![MORE.into()] }).or_default();
            sums.0 += 1;
            sums.1 = sums.1.saturating_add(exit.took_ns().unwrap_or(0));
        }
    }
}

impl Report for Folded {
    fn input(&mut self) -> Input<'_> {
        Input::Events(self)
    }

    fn needs_stacks(&self) -> bool {
        true
    }

    fn refusal(&self, run: &str) -> Option<String> {
        self.stacks.is_empty().then(|| format!("{run} has no stacks; they are kept with cutap record --stack"))
    }

    /// `main;work;cudaMalloc 12`.
    fn write_text(&self, _: &End, _colour: bool, out: &mut dyn io::Write) -> io::Result<()> {
        for (way, (calls, ns)) in &self.stacks {
            let number = if self.time { ns } else { calls };
            writeln!(out, "{} {number}", way.join(";"))?;
        }
        Ok(())
    }

    /// One JSON object a stack, with both numbers.
    fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        for (way, (calls, ns)) in &self.stacks {
            writeln!(out, "{}", json!({"type": "stack", "path": way, "calls": calls, "total_ns": ns}))?;
        }
        Ok(())
    }
}

/// From the outermost function to the call.
fn way(exit: &Exit) -> Option<Vec<String>> {
    let stack = exit.call.stack()?;
    let frames = shown_frames(&stack.frames).iter().rev().map(frame_name);
    let way = end(stack).map(str::to_owned).into_iter().chain(frames);
    // A semicolon separates frames.
    Some(way.chain([exit.call.function.display_name().to_owned()]).map(|name| name.replace(';', ":")).collect())
}
