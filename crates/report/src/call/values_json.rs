//! Values as JSON. Each kind of value has one shape, which `docs/reference/json.md` lists. They are appended to a line
//! by hand, since names and brackets are most of it and the same for each call.

use crate::call::values::write_value;
use crate::format::json_text::{address, text, truth, whole};
use cutap_calls::known::{Dir, Memory};
use cutap_trace::decode::{Fields, MemoryPlace, Standing, TypeName, Value, flags_of, name_of};
use cutap_trace::{Call, DriverArgs, Exit, Function};

/// What stands before the value of each argument of a function: `{"name":"n","type":"int","value":`.
pub type ArgumentHeads = Box<[Box<[u8]>]>;

/// Those of this function.
pub fn argument_heads(function: &Function) -> ArgumentHeads {
    let Some(described) = function.described else { return ArgumentHeads::default() };
    let head = |param: &cutap_calls::known::Param| {
        let mut head = br#"{"name":"#.to_vec();
        text(param.name, &mut head);
        head.extend_from_slice(br#","type":"#);
        text(&TypeName(described.tables, param.ty).text(), &mut head);
        head.extend_from_slice(br#","value":"#);
        head.into()
    };
    described.function.params.iter().map(head).collect()
}

/// The arguments of a call. After the call, they have the values that it wrote.
pub fn write_arguments(call: &Call, exit: Option<&Exit>, heads: &ArgumentHeads, to: &mut Vec<u8>) {
    to.push(b'[');
    let launched = call.driver_args();
    for (n, ((param, input), head)) in call.function.params().iter().zip(call.inputs()).zip(heads).enumerate() {
        if n > 0 {
            to.push(b',');
        }
        to.extend_from_slice(head);
        match exit.and_then(|exit| exit.output(n)) {
            // The value before the call too, if the call reads and writes it.
            Some(output) if param.dir == Dir::InOut => {
                write(output, launched, to);
                to.extend_from_slice(br#","before":"#);
                write(input, launched, to);
            }
            Some(output) => write(output, launched, to),
            None => write(input, launched, to),
        }
        to.push(b'}');
    }
    to.push(b']');
}

/// A value that is not an argument of a launch.
pub fn write_json(value: &Value, to: &mut Vec<u8>) {
    write(value, None, to);
}

fn write(value: &Value, launched: Option<&DriverArgs>, to: &mut Vec<u8>) {
    match value {
        Value::Missing | Value::Null => to.extend_from_slice(b"null"),
        Value::Bool(b) => truth(*b, to),
        Value::Int(n) | Value::Version(n) | Value::Release(n, _) => whole(*n, to),
        Value::Uint(n) | Value::Hex(n) => whole(*n, to),
        // Writing to memory does not fail.
        Value::Single(f) if f.is_finite() => _ = serde_json::to_writer(to, f),
        Value::Double(f) if f.is_finite() => _ = serde_json::to_writer(to, f),
        Value::Single(_) | Value::Double(_) | Value::Uuid(_) => {
            let mut as_text = String::new();
            write_value(value, &mut as_text);
            text(&as_text, to);
        }
        Value::Enum(n, of) => {
            to.extend_from_slice(br#"{"enum":"#);
            match name_of(of, *n) {
                Some(name) => text(name, to),
                None => to.extend_from_slice(b"null"),
            }
            number_end(*n, to);
        }
        Value::Flags(n, of) => {
            to.extend_from_slice(br#"{"flags":"#);
            list(&flags_of(of, *n).0, to, |name, to| text(name, to));
            number_end(*n, to);
        }
        Value::Text(of) => text(&of.text, to),
        Value::Handle { value, kind, .. } if kind.number => whole(*value as i64, to),
        Value::Handle { value, kind, number, standing } => {
            to.extend_from_slice(br#"{"handle":"#);
            let mut name = String::new();
            let plain = Value::Handle { value: *value, kind, number: *number, standing: Standing::Live };
            write_value(&plain, &mut name);
            text(&name, to);
            to.extend_from_slice(br#","kind":"#);
            text(kind.short, to);
            to.extend_from_slice(br#","address":"#);
            address(*value, to);
            to.extend_from_slice(match standing {
                Standing::Live => b"}",
                Standing::Destroyed => br#","state":"destroyed"}"#,
                Standing::Unseen => br#","state":"unseen"}"#,
            });
        }
        Value::Wild(at) => {
            to.extend_from_slice(br#"{"address":"#);
            address(*at, to);
            to.extend_from_slice(br#","memory":"none"}"#);
        }
        Value::Address(at, place) => {
            if let Some(at_launch) = launched.and_then(|launched| launched.value_at(value)) {
                return write(at_launch, None, to);
            }
            to.extend_from_slice(br#"{"address":"#);
            address(*at, to);
            place.iter().for_each(|place| write_place(place, to));
            to.push(b'}');
        }
        Value::Opaque(at) | Value::Code(at) => {
            to.extend_from_slice(br#"{"address":"#);
            address(*at, to);
            to.push(b'}');
        }
        Value::Pointee(at, target) => {
            to.extend_from_slice(br#"{"address":"#);
            address(*at, to);
            to.extend_from_slice(br#","to":"#);
            write(target, launched, to);
            to.push(b'}');
        }
        Value::Struct(fields) => write_struct(fields, launched, to),
        Value::Array(items) => {
            to.extend_from_slice(br#"{"items":"#);
            list(&items.values, to, |value, to| write(value, launched, to));
            to.extend_from_slice(br#","total":"#);
            whole(items.total, to);
            to.push(b'}');
        }
        Value::List(of) => {
            to.extend_from_slice(br#"{"items":"#);
            list(&of.values, to, |value, to| write(value, launched, to));
            to.extend_from_slice(br#","total":"#);
            whole(of.total, to);
            if of.more > 0 {
                to.extend_from_slice(br#","more_bytes":"#);
                whole(of.more, to);
            }
            if (0..of.values.len()).any(|n| of.name(n).is_some()) {
                to.extend_from_slice(br#","names":"#);
                let names: Vec<_> = (0..of.values.len()).map(|n| of.name(n)).collect();
                list(&names, to, |name, to| match name {
                    Some(name) => text(name, to),
                    None => to.extend_from_slice(b"null"),
                });
            }
            to.push(b'}');
        }
        Value::Id(bytes) | Value::Bytes(bytes) => {
            to.extend_from_slice(br#"{"bytes":""#);
            for byte in bytes {
                to.extend([byte >> 4, byte & 15].map(|digit| b"0123456789abcdef"[usize::from(digit)]));
            }
            to.extend_from_slice(br#""}"#);
        }
    }
}

/// The number behind a name, and the end of both.
fn number_end(number: impl itoa::Integer, to: &mut Vec<u8>) {
    to.extend_from_slice(br#","number":"#);
    whole(number, to);
    to.push(b'}');
}

fn list<T>(items: &[T], to: &mut Vec<u8>, each: impl Fn(&T, &mut Vec<u8>)) {
    to.push(b'[');
    for (n, item) in items.iter().enumerate() {
        if n > 0 {
            to.push(b',');
        }
        each(item, to);
    }
    to.push(b']');
}

fn write_struct(fields: &Fields, launched: Option<&DriverArgs>, to: &mut Vec<u8>) {
    to.extend_from_slice(br#"{"struct":"#);
    text(fields.of.name, to);
    to.extend_from_slice(br#","fields":{"#);
    for (n, (name, value)) in fields.named().into_iter().enumerate() {
        if n > 0 {
            to.push(b',');
        }
        text(name, to);
        to.push(b':');
        write(value, launched, to);
    }
    to.push(b'}');
    if fields.cut {
        to.extend_from_slice(br#","cut":true"#);
    }
    if fields.more > 0 {
        to.extend_from_slice(br#","more_bytes":"#);
        whole(fields.more, to);
    }
    to.push(b'}');
}

fn write_place(place: &MemoryPlace, to: &mut Vec<u8>) {
    let memory: &[u8] = match place.memory {
        Memory::Device => b"\"device\"",
        Memory::Host => b"\"host\"",
        Memory::Managed => b"\"managed\"",
        Memory::Reserved => b"\"reserved\"",
        Memory::Mapped => b"\"mapped\"",
        Memory::Graph => b"\"graph\"",
        Memory::External => b"\"external\"",
        Memory::Unknown => b"\"unknown\"",
    };
    to.extend_from_slice(br#","memory":"#);
    to.extend_from_slice(memory);
    let mut number = |key: &[u8], of: u64| {
        to.extend_from_slice(key);
        whole(of, to);
    };
    if let Some(device) = place.device {
        number(br#","device":"#, device.into());
    }
    if place.size > 0 {
        number(br#","offset":"#, place.offset);
        if let Some(bytes) = place.bytes {
            number(br#","bytes":"#, bytes);
        }
        number(br#","size":"#, place.size);
    }
    if place.bytes_beyond() > 0 {
        number(br#","bytes_past_end":"#, place.bytes_beyond());
    }
    if let Some(of) = place.of {
        to.extend_from_slice(br#","owner":"#);
        text(&format!("{}#{}", of.short, of.number), to);
    }
    if place.freed {
        to.extend_from_slice(br#","freed":true"#);
    }
}
