//! Values as JSON. Each kind of value has one shape, which `docs/reference/json.md` lists.

use crate::call::values::write_value;
use crate::format::units::Hex;
use cutap_calls::known::{Dir, Memory, Param};
use cutap_trace::decode::{MemoryPlace, Standing, TypeName, Value, flags_of, name_of};
use cutap_trace::{Call, DriverArgs, Exit};
use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};
use std::borrow::Cow;

/// The arguments of a call. After the call, they have the values that it wrote.
pub struct Arguments<'a>(pub &'a Call, pub Option<&'a Exit>);

/// An argument.
#[derive(Serialize)]
struct Argument<'a> {
    name: &'static str,
    r#type: Cow<'static, str>,
    value: Json<'a>,
    /// The value before the call, if the call reads and writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Json<'a>>,
}

/// A value that can be serialised.
pub struct Json<'a> {
    value: &'a Value,
    launched: Option<&'a DriverArgs>,
}

impl<'a> Json<'a> {
    /// A value that is not an argument of a launch.
    pub fn new(value: &'a Value) -> Json<'a> {
        Json { value, launched: None }
    }
    fn part(&self, value: &'a Value) -> Json<'a> {
        Json { value, launched: self.launched }
    }
}

impl Serialize for Arguments<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Arguments(call, exit) = self;
        let Some(described) = call.function.described else { return to.collect_seq([(); 0]) };
        let params = described.function.params.iter().zip(call.inputs());
        let mut list = to.serialize_seq(Some(call.inputs().len()))?;
        for (n, (param, input)) in params.enumerate() {
            let (value, before) = value(call, *exit, n, param, input);
            let r#type = TypeName(described.tables, param.ty).text();
            list.serialize_element(&Argument { name: param.name, r#type, value, before })?;
        }
        list.end()
    }
}

fn value<'a>(
    call: &'a Call,
    exit: Option<&'a Exit>,
    n: usize,
    param: &Param,
    input: &'a Value,
) -> (Json<'a>, Option<Json<'a>>) {
    let json = |value| Json { value, launched: call.driver_args() };
    match exit.and_then(|e| e.output(n)) {
        Some(output) if param.dir == Dir::InOut => (json(output), Some(json(input))),
        Some(output) => (json(output), None),
        None => (json(input), None),
    }
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.value {
            Value::Missing | Value::Null => to.serialize_none(),
            Value::Bool(b) => to.serialize_bool(*b),
            Value::Int(n) | Value::Version(n) | Value::Release(n, _) => to.serialize_i64(*n),
            Value::Uint(n) | Value::Hex(n) => to.serialize_u64(*n),
            Value::Single(f) if f.is_finite() => to.serialize_f32(*f),
            Value::Double(f) if f.is_finite() => to.serialize_f64(*f),
            Value::Single(_) | Value::Double(_) | Value::Uuid(_) => {
                let mut text = String::new();
                write_value(self.value, &mut text);
                to.serialize_str(&text)
            }
            Value::Enum(n, of) => {
                let mut map = to.serialize_map(Some(2))?;
                map.serialize_entry("enum", &name_of(of, *n))?;
                map.serialize_entry("number", n)?;
                map.end()
            }
            Value::Flags(n, of) => {
                let mut map = to.serialize_map(Some(2))?;
                map.serialize_entry("flags", &flags_of(of, *n).0)?;
                map.serialize_entry("number", n)?;
                map.end()
            }
            Value::Text(text) => to.serialize_str(&text.text),
            Value::Handle { value, kind, .. } if kind.number => to.serialize_i64(*value as i64),
            Value::Handle { value, kind, number, standing } => {
                let mut name = String::new();
                let plain = Value::Handle { value: *value, kind, number: *number, standing: Standing::Live };
                write_value(&plain, &mut name);
                let mut map = to.serialize_map(None)?;
                map.serialize_entry("handle", &name)?;
                map.serialize_entry("kind", kind.short)?;
                map.serialize_entry("address", &Hexadecimal(*value))?;
                match standing {
                    Standing::Live => {}
                    Standing::Destroyed => map.serialize_entry("state", "destroyed")?,
                    Standing::Unseen => map.serialize_entry("state", "unseen")?,
                }
                map.end()
            }
            Value::Wild(address) => {
                let mut map = to.serialize_map(Some(2))?;
                map.serialize_entry("address", &Hexadecimal(*address))?;
                map.serialize_entry("memory", "none")?;
                map.end()
            }
            Value::Address(address, place) => {
                if let Some(told) = self.launched.and_then(|l| l.value_at(self.value)) {
                    return Json::new(told).serialize(to);
                }
                let mut map = to.serialize_map(None)?;
                map.serialize_entry("address", &Hexadecimal(*address))?;
                if let Some(place) = place {
                    entries(&mut map, place)?;
                }
                map.end()
            }
            Value::Opaque(address) | Value::Code(address) => {
                let mut map = to.serialize_map(Some(1))?;
                map.serialize_entry("address", &Hexadecimal(*address))?;
                map.end()
            }
            Value::Pointee(address, target) => {
                let mut map = to.serialize_map(Some(2))?;
                map.serialize_entry("address", &Hexadecimal(*address))?;
                map.serialize_entry("to", &self.part(target))?;
                map.end()
            }
            Value::Struct(fields) => {
                let mut map = to.serialize_map(None)?;
                map.serialize_entry("struct", fields.of.name)?;
                map.serialize_entry("fields", &Fields(fields, self.launched))?;
                if fields.cut {
                    map.serialize_entry("cut", &true)?;
                }
                if fields.more > 0 {
                    map.serialize_entry("more_bytes", &fields.more)?;
                }
                map.end()
            }
            Value::Array(items) => {
                let mut map = to.serialize_map(Some(2))?;
                map.serialize_entry("items", &items.values.iter().map(|v| self.part(v)).collect::<Vec<_>>())?;
                map.serialize_entry("total", &items.total)?;
                map.end()
            }
            Value::List(list) => {
                let mut map = to.serialize_map(None)?;
                map.serialize_entry("items", &list.values.iter().map(|v| self.part(v)).collect::<Vec<_>>())?;
                map.serialize_entry("total", &list.total)?;
                if list.more > 0 {
                    map.serialize_entry("more_bytes", &list.more)?;
                }
                let names: Vec<_> = (0..list.values.len()).map(|n| list.name(n)).collect();
                if names.iter().any(Option::is_some) {
                    map.serialize_entry("names", &names)?;
                }
                map.end()
            }
            Value::Id(bytes) | Value::Bytes(bytes) => {
                let mut map = to.serialize_map(Some(1))?;
                map.serialize_entry("bytes", &bytes.iter().map(|b| format!("{b:02x}")).collect::<String>())?;
                map.end()
            }
        }
    }
}

struct Fields<'a>(&'a cutap_trace::decode::Fields, Option<&'a DriverArgs>);

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        for (name, value) in self.0.named() {
            map.serialize_entry(name, &Json { value, launched: self.1 })?;
        }
        map.end()
    }
}

fn entries<M: SerializeMap>(map: &mut M, place: &MemoryPlace) -> Result<(), M::Error> {
    let memory = match place.memory {
        Memory::Device => "device",
        Memory::Host => "host",
        Memory::Managed => "managed",
        Memory::Reserved => "reserved",
        Memory::Mapped => "mapped",
        Memory::Graph => "graph",
        Memory::External => "external",
        Memory::Unknown => "unknown",
    };
    map.serialize_entry("memory", memory)?;
    if let Some(device) = place.device {
        map.serialize_entry("device", &device)?;
    }
    if place.size > 0 {
        map.serialize_entry("offset", &place.offset)?;
        if let Some(bytes) = place.bytes {
            map.serialize_entry("bytes", &bytes)?;
        }
        map.serialize_entry("size", &place.size)?;
    }
    if place.bytes_beyond() > 0 {
        map.serialize_entry("bytes_past_end", &place.bytes_beyond())?;
    }
    if let Some(of) = place.of {
        map.serialize_entry("owner", &format!("{}#{}", of.short, of.number))?;
    }
    if place.freed {
        map.serialize_entry("freed", &true)?;
    }
    Ok(())
}

struct Hexadecimal(u64);

impl Serialize for Hexadecimal {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(Hex::of(self.0).text())
    }
}
