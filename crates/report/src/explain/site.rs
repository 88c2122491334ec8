//! Where a problem is: the calls around the call, and its stack if that was recorded. Calls of one place in the program
//! have one key.

use super::seen::ObservedCall;
use crate::format::label::Label;
use crate::nesting::source_line::flag_of;
use crate::nesting::stacks;
use cutap_trace::{Call, RunName};
use std::sync::Arc;

/// Frames of a stack that are printed.
const FRAMES: usize = 6;

/// A place in the program.
#[derive(Debug, Clone)]
pub struct Site {
    /// From the outermost call to this one.
    path: Vec<String>,
    /// Frames, the innermost first.
    stack: Vec<String>,
    /// The key of its process.
    process: u32,
    /// The flag that keeps stacks of its program.
    flag: &'static str,
    /// Its run, if several are read.
    run: Option<Arc<RunName>>,
    /// When its first call began.
    first_ns: u64,
}

/// What distinguishes places: the process, the function, the return address, the function around it.
pub type Key = (u32, u32, u64, u32);

/// The key of the place of a call.
pub fn key(seen: &ObservedCall<'_>) -> Key {
    let call = seen.call();
    let outer_function = seen.outer_calls.last().map_or(u32::MAX, |call| call.function.key);
    (call.thread.process.key, call.function.key, call.caller, outer_function)
}

impl Site {
    /// The place of a call.
    pub fn of(seen: &ObservedCall<'_>) -> Site {
        let label = |call: &Call| Label::new(&call.function, call.instance().map(|i| &**i)).text();
        let outer_labels = seen.outer_calls.iter().map(|call| label(call));
        let path = outer_labels.chain([label(seen.call())]).collect();
        let with_stack = [seen.call()].into_iter().chain(seen.outer_calls.iter().rev().copied());
        let stack = with_stack.filter_map(Call::stack).next().map(|stack| {
            let frame = |frame| {
                let mut text = String::new();
                stacks::write_frame(frame, &mut text);
                text
            };
            stacks::shown_frames(&stack.frames).iter().take(FRAMES).map(frame).collect()
        });
        let process = &seen.call().thread.process;
        let (run, first_ns) = (process.run.clone(), seen.call().start_ns);
        let (stack, flag) = (stack.unwrap_or_default(), flag_of(process));
        Site { path, stack, process: process.key, flag, run, first_ns }
    }

    pub fn path(&self) -> &[String] {
        &self.path
    }

    pub fn process(&self) -> u32 {
        self.process
    }

    pub fn stack(&self) -> &[String] {
        &self.stack
    }

    pub fn run(&self) -> Option<&Arc<RunName>> {
        self.run.as_ref()
    }

    pub fn first_ns(&self) -> u64 {
        self.first_ns
    }

    /// Lines for people.
    pub fn lines(&self) -> Vec<String> {
        let outer_lines = self.path.iter().rev().skip(1).map(|call| format!("in {call}"));
        let stack = self.stack.iter().cloned();
        let none = (self.stack.is_empty() && self.path.len() < 2)
            .then(|| format!("record with {} to see the place in the program", self.flag));
        outer_lines.chain(stack).chain(none).collect()
    }
}
