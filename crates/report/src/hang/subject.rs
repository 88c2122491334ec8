//! What a call is about: its stream, its event, and whether it submits work, waits for it or asks for its end.

use cutap_calls::{Role, blocks, is_chatter};
use cutap_trace::decode::Value;
use cutap_trace::{Call, Exit, Function, Layer, Returned, submits_work};

/// Roles of functions that put something into a stream.
const SUBMIT: [Role; 9] = [
    Role::Launch,
    Role::LaunchesReported,
    Role::LaunchOfDriver,
    Role::LaunchesGraph,
    Role::HostFunction,
    Role::AsyncCopy,
    Role::AsyncFill,
    Role::Fill,
    Role::MakesNodeInCapture,
];

/// A stream as a call names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StreamName {
    Handle(u64),
    /// The default stream, which waits for others and they for it.
    Legacy,
    /// The default stream of the thread.
    PerThread,
}

/// How much a call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitScope {
    Event(u64),
    Stream(StreamName),
    Device,
}

pub fn has(function: &Function, role: Role) -> bool {
    function.roles.has(role)
}

/// Whether the function does nothing but ask: a thread that does it again and again may wait for what never comes.
pub fn only_asks(function: &Function) -> bool {
    function.range.is_some() || has(function, Role::AsksForEnd) || is_chatter(&function.name)
}

/// The first handle of this kind in the arguments, also 0.
fn handle_in(value: &Value, wanted: &str) -> Option<u64> {
    match value {
        Value::Handle { value, kind, .. } if kind.short == wanted => Some(*value),
        Value::Pointee(_, to) => handle_in(to, wanted),
        Value::Struct(fields) => fields.values.iter().find_map(|(_, value)| handle_in(value, wanted)),
        _ => None,
    }
}

fn handle(call: &Call, wanted: &str) -> Option<u64> {
    call.inputs().iter().find_map(|value| handle_in(value, wanted))
}

/// The event among the arguments.
pub fn event(call: &Call) -> Option<u64> {
    handle(call, "event")
}

/// The context among the arguments.
pub fn context(call: &Call) -> Option<u64> {
    handle(call, "context")
}

/// The stream among the arguments.
pub fn stream(call: &Call) -> Option<StreamName> {
    const LEGACY: u64 = 1;
    const PER_THREAD: u64 = 2;
    handle(call, "stream").map(|handle| match handle {
        0 => default_stream(&call.function),
        LEGACY => StreamName::Legacy,
        PER_THREAD => StreamName::PerThread,
        other => StreamName::Handle(other),
    })
}

/// The default stream of a function: those with `_ptds` and `_ptsz` in their names have that of the thread.
pub fn default_stream(function: &Function) -> StreamName {
    match function.name.ends_with("_ptsz") || function.name.ends_with("_ptds") {
        true => StreamName::PerThread,
        false => StreamName::Legacy,
    }
}

/// A handle that a call wrote.
pub fn written(exit: &Exit, wanted: &str) -> Option<u64> {
    exit.outputs.iter().find_map(|(_, value)| handle_in(value, wanted))
}

/// The handle of this kind that a call has destroyed.
pub fn destroyed(call: &Call, wanted: &str) -> Option<u64> {
    use cutap_calls::known::Effect;
    let effects = call.function.described?.function.effects;
    effects.iter().find_map(|effect| match effect {
        Effect::Destroys(n) => handle_in(call.inputs().get(usize::from(*n))?, wanted),
        _ => None,
    })
}

/// The number in the parameter of this name.
pub fn parameter(call: &Call, name: &str) -> Option<f64> {
    let named = call.function.params().iter().zip(call.inputs());
    named.into_iter().find_map(|(param, value)| param.name.eq_ignore_ascii_case(name).then(|| value.number())?)
}

/// Whether the call puts work into a stream that may not be done when it returns.
pub fn submits(call: &Call) -> bool {
    let function = &*call.function;
    blocks(&function.name).is_none() && (submits_work(call) || SUBMIT.iter().any(|role| has(function, *role)))
}

/// Whether the call succeeded, as far as its result says.
pub fn has_succeeded(exit: &Exit) -> bool {
    match exit.returned() {
        Some(Returned::Status(status)) => status == 0,
        Some(_) => true,
        None => false,
    }
}

/// What a call waits for while it is open; none if it does not wait for the device. One that submits may wait for room.
pub fn waits_for(call: &Call) -> Option<WaitScope> {
    let function = &*call.function;
    if function.range.is_some() || function.layer == Layer::SYSCALL {
        return None;
    }
    let reason = blocks(&function.name);
    if reason.is_none() && !submits(call) {
        return None;
    }
    let of_stream = stream(call).map(WaitScope::Stream);
    let of_event = event(call).map(WaitScope::Event).filter(|_| of_stream.is_none());
    let is_copy = reason.is_none() || reason.is_some_and(|reason| reason.contains("copy"));
    let otherwise = if is_copy { WaitScope::Stream(default_stream(function)) } else { WaitScope::Device };
    Some(of_event.or(of_stream).unwrap_or(otherwise))
}

/// What is complete when the call has returned with success.
pub fn completes(call: &Call) -> Option<WaitScope> {
    let function = &*call.function;
    let reason = blocks(&function.name);
    let is_sure = match reason {
        Some("waits for the device" | "ending a context waits for its work") => true,
        // A copy inside a device returns early; one from or to memory of the host does not.
        Some("returns when the copy is done") => {
            let is_to_host = function.params().iter().any(|param| param.name.ends_with("Host"));
            is_to_host || matches!(parameter(call, "kind"), Some(1.0 | 2.0))
        }
        Some(_) => false,
        None => has(function, Role::AsksForEnd),
    };
    if !is_sure {
        return None;
    }
    match (event(call), stream(call)) {
        (Some(event), None) => Some(WaitScope::Event(event)),
        (_, Some(stream)) => Some(WaitScope::Stream(stream)),
        (None, None) if reason.is_some_and(|reason| reason.contains("copy")) => {
            Some(WaitScope::Stream(default_stream(function)))
        }
        (None, None) => Some(WaitScope::Device),
    }
}

/// The event among the arguments, for people.
pub fn event_text(call: &Call) -> String {
    fn within(value: &Value) -> Option<String> {
        match value {
            Value::Handle { value, kind, number, .. } if kind.short == "event" => Some(match number {
                0 => format!("event {value:#x}"),
                number => format!("event#{number}"),
            }),
            Value::Pointee(_, to) => within(to),
            _ => None,
        }
    }
    call.inputs().iter().find_map(within).unwrap_or_else(|| "an event".to_owned())
}
