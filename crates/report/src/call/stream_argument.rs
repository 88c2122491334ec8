//! The stream among the arguments of a call.

use crate::call::resource_names::handles;
use cutap_trace::Call;
use cutap_trace::decode::Value;

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
