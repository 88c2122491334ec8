//! Until when the work of a call has ended, by the calls that waited for it: for its stream, for its context, or for a
//! copy to the host. A row that ends later is not a row of that call.
//!
//! Waits for events are left out: a graph or another process may have recorded the event again.

use crate::decode::Devices;
use crate::event::call::{Call, Exit};
use crate::event::value::Value;
use cutap_calls::{Layer, blocks};
use std::collections::{BTreeMap, HashMap};

/// Handles of the default stream and of the default stream of a thread.
const DEFAULT_STREAM: u64 = 1;
const STREAM_OF_THREAD: u64 = 2;
/// The forms of functions whose default stream is that of the thread.
const PER_THREAD: [&str; 2] = ["_ptsz", "_ptds"];

/// Work that a call may wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Queue {
    /// A stream by its handle, and how many with this handle were destroyed before.
    Stream(u64, u32),
    /// The default stream of a context, as a thread uses it.
    Default { context: u64, thread: Option<u32> },
    /// All work of a context.
    Context(u64),
}

/// The queues that a call puts its work into.
#[derive(Debug, Clone, Copy, Default)]
pub struct Queues([Option<Queue>; 2]);

/// The waits of a process.
#[derive(Debug, Default)]
pub struct Waits {
    devices: Devices,
    /// By the handle of a stream: how many with it were destroyed.
    destroyed: HashMap<u64, u32>,
    /// By the handle of a stream: its context, where a call has shown it.
    contexts: HashMap<u64, u64>,
    /// By queue: the end of each wait by its beginning.
    ends_by_start: HashMap<Queue, BTreeMap<u64, u64>>,
}

impl Waits {
    /// A call has ended, in the order of ends.
    pub fn exit(&mut self, exit: &Exit) {
        let call = &exit.call;
        if call.function.layer != Layer::DRIVER || exit.has_failed() || exit.duration_ns.is_none() {
            return;
        }
        if let Some(role) = call.function.by_name.device {
            self.devices.follow(role, exit);
        }
        if let Some(stream) = destroyed_stream(call) {
            *self.destroyed.entry(stream).or_default() += 1;
            self.contexts.remove(&stream);
        } else if let Some(stream) = made_stream(exit) {
            self.contexts.remove(&stream);
            self.contexts.extend(self.current(call).filter(|_| !is_of_other_object(call)).map(|of| (stream, of)));
        }
        if blocks(&call.function.name) == Some("waits for the device") {
            let waited = match (stream(call), has_event(call)) {
                (_, true) => None,
                (Some(_), false) => self.stream_queue(call),
                (None, false) => argument(call, "context").or(self.current(call)).map(Queue::Context),
            };
            if let Some(queue) = waited {
                self.ends_by_start.entry(queue).or_default().insert(call.start_ns, exit.end_ns);
            }
        }
    }

    /// Where a call that submits work puts it.
    pub fn queues(&self, call: &Call) -> Queues {
        Queues([self.stream_queue(call), self.context_queue(call)])
    }

    /// When the work of a call had ended at the latest, for a call that returned at `from_ns`.
    pub fn latest_end(&self, queues: Queues, from_ns: u64) -> Option<u64> {
        let first_end = |queue| self.ends_by_start.get(&queue)?.range(from_ns..).next().map(|(_, end)| *end);
        queues.0.into_iter().flatten().filter_map(first_end).min()
    }

    /// The context in which a call puts its work: that of its stream, which need not be the current one.
    fn context_queue(&self, call: &Call) -> Option<Queue> {
        let context = match stream(call).filter(|handle| *handle > STREAM_OF_THREAD) {
            Some(handle) => self.contexts.get(&handle).copied(),
            None => self.current(call),
        };
        context.map(Queue::Context)
    }

    fn current(&self, call: &Call) -> Option<u64> {
        self.devices.context(call.thread.key)
    }

    fn stream_queue(&self, call: &Call) -> Option<Queue> {
        let is_per_thread = PER_THREAD.iter().any(|form| call.function.name.ends_with(form));
        let thread = call.thread.key;
        let default = |thread| Some(Queue::Default { context: self.current(call)?, thread });
        match stream(call) {
            Some(STREAM_OF_THREAD) => default(Some(thread)),
            None | Some(0) if is_per_thread => default(Some(thread)),
            None | Some(0 | DEFAULT_STREAM) => default(None),
            Some(handle) => Some(Queue::Stream(handle, self.destroyed.get(&handle).copied().unwrap_or(0))),
        }
    }
}

fn handle(value: &Value, short: &str) -> Option<u64> {
    match value.target() {
        Value::Handle { value, kind, .. } if kind.short == short => Some(*value),
        Value::Struct(fields) => fields.values.iter().find_map(|(_, value)| handle(value, short)),
        _ => None,
    }
}

/// The handle of the stream among the arguments, also in a structure of a launch.
fn stream(call: &Call) -> Option<u64> {
    call.effective_args().iter().find_map(|value| handle(value, "stream"))
}

/// The handle among the arguments, if it is not 0.
fn argument(call: &Call, short: &str) -> Option<u64> {
    call.effective_args().iter().find_map(|value| handle(value, short)).filter(|handle| *handle != 0)
}

/// The stream that a call made.
fn made_stream(exit: &Exit) -> Option<u64> {
    let written = exit.outputs.iter().find_map(|(_, value)| handle(value, "stream"));
    written.filter(|_| !exit.call.function.hands_out)
}

/// The call makes a stream of an object, which may have another context than the current one.
fn is_of_other_object(call: &Call) -> bool {
    let is_other = |value: &Value| matches!(value, Value::Handle { kind, .. } if kind.short != "stream");
    call.effective_args().iter().any(is_other)
}

fn has_event(call: &Call) -> bool {
    call.effective_args().iter().any(|value| handle(value, "event").is_some())
}

fn destroyed_stream(call: &Call) -> Option<u64> {
    use cutap_calls::known::Effect;
    let effects = call.function.described?.function.effects;
    effects.iter().find_map(|effect| match effect {
        Effect::Destroys(n) => handle(call.effective_args().get(usize::from(*n))?, "stream"),
        _ => None,
    })
}
