//! Calls added up by the stack that they were made on, in the form that flame graphs are drawn from: a line for each
//! stack, its frames from the outermost to the call, and a number. Memory grows with the number of different stacks.

use crate::stacks::{end, frame_name};
use cutap_trace::{Event, Exit};
use serde_json::json;
use std::collections::BTreeMap;
use std::io;

/// Stacks beyond this many are one.
const MOST: usize = 1 << 20;
const MORE: &str = "[more stacks]";

/// What the number of a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// Calls.
    Calls,
    /// Nanoseconds from enter to return.
    Time,
}

/// Calls by their stacks.
#[derive(Debug, Default)]
pub struct Folded {
    /// Calls, and nanoseconds of those that returned.
    stacks: BTreeMap<Vec<String>, (u64, u64)>,
}

impl Folded {
    /// Takes one event.
    pub fn event(&mut self, event: &Event) {
        if let Event::Exit(exit) = event
            && !exit.late
            && let Some(way) = way(exit)
        {
            let known = self.stacks.len() < MOST || self.stacks.contains_key(&way);
            let sums = self.stacks.entry(if known { way } else { vec![MORE.into()] }).or_default();
            sums.0 += 1;
            sums.1 = sums.1.saturating_add(exit.duration_ns.unwrap_or(0));
        }
    }

    /// No call had a stack.
    pub fn is_empty(&self) -> bool {
        self.stacks.is_empty()
    }

    /// `main;work;cudaMalloc 12`.
    pub fn write_text(&self, weight: Weight, out: &mut dyn io::Write) -> io::Result<()> {
        for (way, (calls, ns)) in &self.stacks {
            let number = if weight == Weight::Calls { calls } else { ns };
            writeln!(out, "{} {number}", way.join(";"))?;
        }
        Ok(())
    }

    /// One JSON object a stack, with both numbers.
    pub fn write_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        for (way, (calls, ns)) in &self.stacks {
            writeln!(out, "{}", json!({"type": "stack", "path": way, "calls": calls, "total_ns": ns}))?;
        }
        Ok(())
    }
}

/// From the outermost function to the call.
fn way(exit: &Exit) -> Option<Vec<String>> {
    let stack = exit.call.stack()?;
    let frames = stack.frames.iter().rev().map(frame_name);
    let way = end(stack).map(str::to_owned).into_iter().chain(frames);
    // A ; would begin another frame.
    Some(way.chain([exit.call.function.shown().to_owned()]).map(|name| name.replace(';', ":")).collect())
}
