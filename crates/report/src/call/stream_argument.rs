//! The stream among the arguments of a call.

use crate::call::resource_names::handles;
use crate::format::units::decimal;
use cutap_trace::Call;
use cutap_trace::decode::Value;

/// The name of the stream that is an argument of a call.
pub(crate) fn stream(call: &Call) -> Option<String> {
    let mut name = String::new();
    stream_in(call, &mut name).map(str::to_owned)
}

/// The same, in `to` where the name has a number.
pub(crate) fn stream_in<'t>(call: &Call, to: &'t mut String) -> Option<&'t str> {
    let Value::Handle { value, kind, number, .. } = call.inputs().iter().find_map(within)? else { return None };
    if *value == 0 {
        return Some("default stream");
    }
    if let Some((_, name)) = kind.special.iter().find(|(of, _)| of == value) {
        return Some(name);
    }
    to.clear();
    to.push_str("stream#");
    decimal((*number).into(), to);
    Some(to)
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
