//! A call with its decoded fields as one JSON object: the object of the format, and `decoded` beside it. Readers of the
//! format ignore `decoded`.

use crate::call::{Action, KernelCall};
use crate::decode::Decoder;
use crate::variables::meaning;
use cutap_rm::{Call, Form, Kind, Moment, Name, Node, StatusPlace, Subject, Target, Value};
use serde_json::{Map, Value as Json, json};

/// The line of a call, without a line break.
#[must_use]
pub fn line(call: &KernelCall, decoder: &Decoder) -> String {
    let mut object = serde_json::to_value(call).unwrap_or_default();
    if let (Some(decoded), Json::Object(map)) = (decoder.decode_call(call), &mut object) {
        map.insert("decoded".into(), tree(&decoded));
    }
    if let (Action::Getenv { name, .. }, Json::Object(map)) = (&call.action, &mut object) {
        map.extend(meaning(name).map(|text| ("meaning".to_owned(), text.into())));
    }
    cutap_printable::json(&object.to_string()).into_owned()
}

/// A decoded request.
#[must_use]
pub fn tree(call: &Call) -> Json {
    let mut map = Map::new();
    let mut put = |name: &str, value: Json| drop(map.insert(name.to_owned(), value));
    put("name", if call.name.is_empty() { Json::Null } else { call.name.into() });
    match call.subject {
        Subject::None => {}
        Subject::Control(number, control) => {
            put("control", json!({"number": format!("{number:#010x}"), "name": control.map(|c| c.name())}))
        }
        Subject::Class(number, class) => {
            put("class", json!({"number": format!("{number:#06x}"), "name": class.map(|c| c.name())}));
        }
    }
    if call.wrapped {
        put("wrapped", true.into());
    }
    put("fields", node(&call.argument));
    let statuses = call.statuses.iter().map(|status| {
        let place = match status.place {
            StatusPlace::Ioctl => "ioctl",
            StatusPlace::Struct => "struct",
            StatusPlace::Uvm => "uvm",
        };
        json!({"place": place, "code": status.code, "name": status.name})
    });
    put("statuses", statuses.collect());
    if !call.remarks.is_empty() {
        put("remarks", call.remarks.iter().map(ToString::to_string).collect());
    }
    Json::Object(map)
}

/// A field: one value, or `{"before": .., "after": ..}` where the call changed it.
fn node(of: &Node) -> Json {
    match &of.value {
        Value::Number { form, before, after, named, .. } => {
            let pair = two(number(of.kind, *form, *before), number(of.kind, *form, *after));
            match named {
                Some(name) => json!({"value": pair, "name": name}),
                None => pair,
            }
        }
        Value::Numbers { bytes, .. } if of.kind == Kind::Text => {
            let text = |bytes: &[u8]| {
                let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
                Json::from(String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()))
            };
            two(text(bytes.at(Moment::Before)), text(bytes.at(Moment::After)))
        }
        Value::Numbers { bytes, .. } | Value::Bytes(bytes) => {
            let text = |moment| Json::from(crate::hex::text(bytes.at(moment)));
            two(text(Moment::Before), text(Moment::After))
        }
        Value::Struct(nodes) => fields(nodes),
        Value::Union { readings, .. } => fields(readings),
        Value::Array(nodes) => nodes.iter().map(node).collect(),
        Value::Pointer { before, after, target } => {
            let address = two(format!("{before:#x}").into(), format!("{after:#x}").into());
            match target {
                Target::Read(inner) => json!({"pointer": address, "target": node(inner)}),
                _ => json!({"pointer": address}),
            }
        }
    }
}

fn fields(nodes: &[Node]) -> Json {
    let mut map = Map::new();
    for child in nodes {
        let name = match child.name {
            Name::Field(name) => name.to_owned(),
            Name::Index(at) => at.to_string(),
            Name::Padding => format!("(padding at {})", child.offset),
            Name::Rest => format!("(bytes at {})", child.offset),
        };
        map.insert(name, node(child));
    }
    Json::Object(map)
}

fn two(before: Json, after: Json) -> Json {
    if before == after { before } else { json!({"before": before, "after": after}) }
}

/// Ids and addresses are hexadecimal texts, for JSON's numbers have 53 bits in many readers.
fn number(kind: Kind, form: Form, value: u64) -> Json {
    let is_id = matches!(
        kind,
        Kind::Client | Kind::Object | Kind::Class | Kind::Control | Kind::Address | Kind::Flags | Kind::Status
    );
    match form {
        _ if is_id => format!("{value:#x}").into(),
        Form::F32 => f64::from(f32::from_bits(u32::try_from(value & 0xffff_ffff).unwrap_or(0))).into(),
        Form::F64 => f64::from_bits(value).into(),
        _ if form.is_signed() => value.cast_signed().into(),
        _ => value.into(),
    }
}
