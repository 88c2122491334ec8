//! The lanes of the timeline: one for each thread, each track of ranges and each stream of the GPU.

use cutap_trace::{Process, Thread};
use foldhash::HashMap;
use serde_json::{Value, json};

/// What a lane is for, with the number that its source has for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LaneOf {
    Thread(u32),
    Ranges(u32),
    Gpu(u32),
}

/// All lanes, in the order of their first box.
#[derive(Debug, Default)]
pub struct Lanes {
    lanes: Vec<Value>,
    numbers: HashMap<LaneOf, u32>,
}

impl Lanes {
    /// The lane of a thread.
    pub fn thread(&mut self, thread: &Thread) -> u32 {
        let of = LaneOf::Thread(thread.key);
        self.number(of).unwrap_or_else(|| {
            let name = thread.name.as_ref().map_or_else(String::new, |name| format!(" {name}"));
            self.add(of, "thread", &format!("thread {}{name}", thread.tid), &thread.process)
        })
    }

    /// The number of a lane that exists.
    pub fn number(&self, of: LaneOf) -> Option<u32> {
        self.numbers.get(&of).copied()
    }

    /// A new lane.
    pub fn add(&mut self, of: LaneOf, kind: &str, name: &str, process: &Process) -> u32 {
        let number = self.lanes.len() as u32;
        let program = process.exe.rsplit('/').next().unwrap_or(&process.exe);
        let run = process.run.as_ref().map(|run| run.to_string());
        self.lanes.push(json!({
            "kind": kind, "name": name, "pid": process.pid, "process": process.key, "program": program, "run": run,
        }));
        self.numbers.insert(of, number);
        number
    }

    /// For the page.
    pub fn json(&self) -> Value {
        Value::Array(self.lanes.clone())
    }
}
