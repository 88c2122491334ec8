//! The table of `report --by stream`. It needs decoded arguments, to know which of them is the stream.

use crate::call_stats::CallEnd;
use crate::open_calls::OpenCalls;
use crate::resource_names::handles;
use crate::tables::{By, Tables};
use cutap_trace::decode::Value;
use cutap_trace::{Call, EventVisitor, Exit};

/// Adds up calls by their stream argument.
#[derive(Debug)]
pub struct Streams {
    open_calls: OpenCalls,
    tables: Tables,
}

impl Default for Streams {
    fn default() -> Streams {
        Streams { open_calls: OpenCalls::default(), tables: Tables::new(By::Stream) }
    }
}

impl EventVisitor for Streams {
    fn enter(&mut self, call: &Call) {
        self.open_calls.enter(call);
    }

    fn exit(&mut self, exit: &Exit) {
        let inside = self.open_calls.exit(exit);
        // A nested call of another layer has the same stream. Only the outermost one counts.
        let counted = self.open_calls.open_calls(exit.call.thread.key).any(|call| stream(call).is_some());
        if let Some(name) = name(exit).filter(|_| !counted) {
            self.tables.named(&name, CallEnd::of(exit, inside));
        }
    }
}

impl Streams {
    /// The table.
    pub fn tables_mut(&mut self) -> &mut Tables {
        &mut self.tables
    }

    /// The table.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }
}

fn name(exit: &Exit) -> Option<String> {
    let pid = exit.call.thread.process.pid;
    stream(&exit.call).map(|name| format!("process {pid} {name}"))
}

/// The name of the stream that is an argument of a call.
pub(crate) fn stream(call: &Call) -> Option<String> {
    let Value::Handle { value, kind, number, .. } = call.inputs().iter().find_map(within)? else { return None };
    let special = kind.special.iter().find(|(of, _)| of == value).map(|(_, name)| (*name).to_owned());
    Some(match (value, special) {
        (0, _) => "default stream".to_owned(),
        (_, Some(name)) => name,
        _ => format!("stream#{number}"),
    })
}

/// The handle of the stream that is an argument of a call; none for the default streams.
pub(crate) fn handle(call: &Call) -> Option<u64> {
    handles(call.inputs().iter().find_map(within)?).first().map(|(_, handle)| *handle)
}

/// The stream in a value: itself, or a field of what it points to.
fn within(value: &Value) -> Option<&Value> {
    match value {
        Value::Handle { kind, .. } if kind.short == "stream" => Some(value),
        Value::Pointee(_, to) => within(to),
        Value::Struct(fields) => fields.values.iter().find_map(|(_, value)| within(value)),
        _ => None,
    }
}
