//! Ranges and marks of NVTX: what their records say beside the name.

use crate::call::values::write_value;
use cutap_trace::decode::Value;
use cutap_trace::{Call, NAMELESS_END, RangeMoment};
use std::borrow::Cow;
use std::fmt::Write as _;

/// What the program gave with a range in the layout of a schema, or bytes where the schema is not known.
pub fn structured_payload(call: &Call) -> Option<&Value> {
    call.function.range.and(call.inputs().first())
}

/// What the program gave with a range: a number, by the types of NVTX (nvtxPayloadType_t), or a structure.
pub fn payload(call: &Call) -> Option<String> {
    const UNSIGNED_LONG: u32 = 1;
    const LONG: u32 = 2;
    const DOUBLE: u32 = 3;
    const UNSIGNED: u32 = 4;
    const INT: u32 = 5;
    const FLOAT: u32 = 6;
    if let Some(value) = structured_payload(call) {
        let mut text = String::new();
        write_value(value, &mut text);
        return Some(text);
    }
    let [value, kind, ..] = call.args.words() else { return None };
    call.function.range.filter(|moment| *moment != RangeMoment::End)?;
    match *kind as u32 {
        UNSIGNED_LONG => Some(value.to_string()),
        LONG => Some((*value as i64).to_string()),
        DOUBLE => Some(f64::from_bits(*value).to_string()),
        UNSIGNED => Some((*value as u32).to_string()),
        INT => Some((*value as i32).to_string()),
        FLOAT => Some(f32::from_bits(*value as u32).to_string()),
        _ => None,
    }
}

/// The category, if there is one.
pub fn category(call: &Call) -> Option<u64> {
    let [_, kind, ..] = call.args.words() else { return None };
    call.function.range.filter(|moment| *moment != RangeMoment::End)?;
    Some(kind >> 32).filter(|category| *category != 0)
}

/// The id by which the end of a range is found that may end in another thread.
pub fn id(call: &Call) -> Option<u64> {
    match (call.function.range?, call.args.words()) {
        (RangeMoment::Start, [.., id]) | (RangeMoment::End, [id, ..]) => Some(*id),
        _ => None,
    }
}

/// The word of JSON.
pub fn word(moment: RangeMoment) -> &'static str {
    match moment {
        RangeMoment::Range => "range",
        RangeMoment::Mark => "mark",
        RangeMoment::Start => "start",
        RangeMoment::End => "end",
    }
}

/// A name for between quotes.
fn quotable(name: &str) -> Cow<'_, str> {
    if name.contains('"') { name.replace('"', "\\\"").into() } else { name.into() }
}

/// Writes it in the place of a function and its arguments. False: the call is none of these.
pub fn write(call: &Call, to: &mut String) -> bool {
    let Some(moment) = call.function.range else { return false };
    let name = quotable(call.function.display_name());
    let _ = match moment {
        RangeMoment::Range => write!(to, "range \"{name}\""),
        RangeMoment::Mark => write!(to, "mark \"{name}\""),
        RangeMoment::Start => write!(to, "start of range {} \"{name}\"", id(call).unwrap_or(0)),
        RangeMoment::End if name == NAMELESS_END => write!(to, "end of range {}", id(call).unwrap_or(0)),
        RangeMoment::End => write!(to, "end of range {} \"{name}\"", id(call).unwrap_or(0)),
    };
    if let Some(payload) = payload(call) {
        let _ = write!(to, " payload {payload}");
    }
    true
}
