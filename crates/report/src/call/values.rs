//! Values as text: `NULL`, `stream#1`, `&{x=1, y=2}`, `[1, 2, ... 64 in all]`. Long values are cut here. Nothing is
//! decoded here.

use crate::format::units::{decimal, exactly, hex, write_exactly};
use cutap_calls::known::Memory;
use cutap_trace::decode::{Fields, MemoryPlace, Standing, Text, Value, flags_of, name_of};
use cutap_trace::{DriverArgs, Exit};
use std::fmt::Write;

/// The largest number of elements of an array in text.
const ELEMENTS: usize = 16;
/// The largest number of characters of a text.
const CHARACTERS: usize = 256;

/// Writes a value. Writing to a string does not fail.
pub fn write_value(value: &Value, to: &mut String) {
    write_launched(value, None, to);
}

/// Writes a value. The parameters of a kernel, which the driver's call has, replace the pointer to them.
pub fn write_launched(value: &Value, launched: Option<&DriverArgs>, to: &mut String) {
    let _ = match value {
        Value::Missing => return to.push('?'),
        Value::Null => return to.push_str("NULL"),
        Value::Bool(b) => write!(to, "{b}"),
        Value::Int(n @ 0..) => return decimal(n.unsigned_abs(), to),
        Value::Int(n) => write!(to, "{n}"),
        // All bits set is a mark, not a number.
        Value::Uint(n) if [u32::MAX.into(), u64::MAX].contains(n) => return hex(*n, to),
        Value::Uint(n) => return decimal(*n, to),
        Value::Hex(n) | Value::Opaque(n) | Value::Code(n) => return hex(*n, to),
        Value::Version(v) => write!(to, "{v} [{}.{}]", v / 1000, v % 1000 / 10),
        Value::Release(v, major) => write!(to, "{v} [{}.{}.{}]", v / major, v % major / 100, v % 100),
        Value::Single(f) => write!(to, "{f:?}"),
        Value::Double(f) => write!(to, "{f:?}"),
        Value::Enum(n, of) => match name_of(of, *n) {
            Some(name) => return to.push_str(name),
            None => write!(to, "{n}"),
        },
        Value::Flags(n, of) => {
            let (names, left) = flags_of(of, *n);
            to.push_str(&names.join("|"));
            match (names.is_empty(), left) {
                (true, 0) => write!(to, "0"),
                (true, left) => write!(to, "{left:#x}"),
                (false, 0) => return,
                (false, left) => write!(to, "|{left:#x}"),
            }
        }
        Value::Text(text) => return write_text(text, to),
        Value::Handle { value, kind, number, standing } => {
            if let Some((_, name)) = kind.special.iter().find(|(v, _)| v == value) {
                return to.push_str(name);
            }
            match (*value, number) {
                (n, _) if kind.number => write!(to, "{}", n as i64),
                // 0 is the default stream, not NULL.
                (0, _) => return to.push_str(if kind.short == "stream" { "0" } else { "NULL" }),
                (_, 1..) if !kind.short.is_empty() => {
                    to.push_str(kind.short);
                    to.push('#');
                    decimal((*number).into(), to);
                    return write_standing(*standing, to);
                }
                (n, _) => return hex(n, to),
            }
        }
        Value::Wild(n) => write!(to, "{n:#x} [no memory]"),
        Value::Address(n, place) => {
            if let Some(told) = launched.and_then(|l| l.value_at(value)) {
                return write_value(told, to);
            }
            hex(*n, to);
            match place {
                Some(place) => return write_place(place, to),
                None => return,
            }
        }
        Value::Pointee(_, target) => {
            if !matches!(**target, Value::Text(_) | Value::Array(_) | Value::List(_)) {
                to.push('&');
            }
            return write_launched(target, launched, to);
        }
        Value::Struct(fields) => return write_fields(fields, launched, to),
        Value::Array(items) => {
            let each = Each { most: ELEMENTS, brackets: ['[', ']'], name: &|_| None, launched };
            return write_all(&items.values, items.total, &each, to);
        }
        Value::List(list) => {
            let each = Each { most: usize::MAX, brackets: ['{', '}'], name: &|n| list.name(n), launched: None };
            write_all(&list.values, list.total, &each, to);
            if list.more > 0 {
                to.pop();
                let comma = if list.values.is_empty() { "" } else { ", " };
                let _ = write!(to, "{comma}...+{} bytes}}", list.more);
            }
            return;
        }
        Value::Uuid(b) => {
            for (n, byte) in b.iter().enumerate() {
                let dash = if matches!(n, 4 | 6 | 8 | 10) { "-" } else { "" };
                let _ = write!(to, "{dash}{byte:02x}");
            }
            return;
        }
        Value::Id(all) => {
            for byte in all {
                let _ = write!(to, "{byte:02x}");
            }
            return;
        }
        Value::Bytes(all) => return write_bytes(all, to),
    };
}

fn write_standing(standing: Standing, to: &mut String) {
    to.push_str(match standing {
        Standing::Live => "",
        Standing::Destroyed => " [destroyed]",
        Standing::Unseen => " [not seen created]",
    });
}

/// ` [device 0, 4 KiB of 2 MiB]`.
fn write_place(place: &MemoryPlace, to: &mut String) {
    to.push_str(if place.freed { " [freed " } else { " [" });
    to.push_str(match place.memory {
        Memory::Device => "device",
        Memory::Host => "host",
        Memory::Managed => "managed",
        Memory::Reserved if place.freed => "reservation",
        Memory::Reserved => "reserved",
        Memory::Mapped => "mapped",
        Memory::Graph => "graph memory",
        Memory::External => "external",
        Memory::Unknown => "no known allocation",
    });
    if let Some(device) = place.device {
        to.push(' ');
        decimal(device.into(), to);
    }
    if place.size > 0 {
        match place.bytes {
            Some(meant) if meant != place.size || place.bytes_beyond() > 0 => {
                let _ = write!(to, ", {} of {}", exactly(meant), exactly(place.size));
            }
            _ => {
                to.push_str(", ");
                write_exactly(place.size, to);
            }
        }
        if place.offset > 0 {
            let _ = write!(to, ", +{}", exactly(place.offset));
        }
        if place.bytes_beyond() > 0 {
            let _ = write!(to, ", {} beyond the end", exactly(place.bytes_beyond()));
        }
    }
    // Host memory that no traced call allocated.
    if let (0, Memory::Host, Some(bytes)) = (place.size, place.memory, place.bytes) {
        let _ = write!(to, ", {}", exactly(bytes));
    }
    if let Some(of) = place.of {
        to.push_str(", of ");
        to.push_str(of.short);
        to.push('#');
        decimal(of.number.into(), to);
        write_standing(of.standing, to);
    }
    to.push(']');
}

/// ` error_log="..."` for each log that a call has added to.
pub fn write_logs(exit: &Exit, to: &mut String) {
    for log in &exit.logs {
        to.push(' ');
        to.push_str(log.name);
        to.push('=');
        write_text(&log.text, to);
    }
}

fn write_text(text: &Text, to: &mut String) {
    to.push('"');
    let mut characters = text.text.chars();
    for c in characters.by_ref().take(CHARACTERS) {
        match c {
            '"' => to.push_str("\\\""),
            '\\' => to.push_str("\\\\"),
            c => cutap_printable::push(c, to),
        }
    }
    to.push('"');
    if text.cut || characters.next().is_some() {
        to.push_str("...");
    }
}

fn write_fields(fields: &Fields, launched: Option<&DriverArgs>, to: &mut String) {
    to.push('{');
    for (n, (name, value)) in fields.named().into_iter().enumerate() {
        if n > 0 {
            to.push_str(", ");
        }
        to.push_str(name);
        to.push('=');
        write_launched(value, launched, to);
    }
    let comma = if fields.values.is_empty() { "" } else { ", " };
    if fields.more > 0 {
        let _ = write!(to, "{comma}...+{} bytes", fields.more);
    } else if fields.cut {
        let _ = write!(to, "{comma}...");
    }
    to.push('}');
}

/// How to write the values of a list.
struct Each<'a> {
    most: usize,
    brackets: [char; 2],
    name: &'a dyn Fn(usize) -> Option<&'a str>,
    launched: Option<&'a DriverArgs>,
}

fn write_all(values: &[Value], total: u64, each: &Each<'_>, to: &mut String) {
    to.push(each.brackets[0]);
    for (n, value) in values.iter().take(each.most).enumerate() {
        if n > 0 {
            to.push_str(", ");
        }
        if let Some(name) = (each.name)(n) {
            to.push_str(name);
            to.push('=');
        }
        write_launched(value, each.launched, to);
    }
    if values.len().min(each.most) as u64 != total {
        let comma = if values.is_empty() { "" } else { ", " };
        let _ = write!(to, "{comma}... {total} in all");
    }
    to.push(each.brackets[1]);
}

/// Writes bytes of an unknown type as words.
fn write_bytes(all: &[u8], to: &mut String) {
    to.push('{');
    for (n, chunk) in all.chunks(8).take(4).enumerate() {
        let word = chunk.iter().rev().fold(0u64, |w, b| w << 8 | u64::from(*b));
        let _ = write!(to, "{}{word:#x}", if n > 0 { ", " } else { "" });
    }
    if all.len() > 32 {
        to.push_str(", ...");
    }
    to.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutap_calls::generated::known::TABLES;

    #[test]
    fn no_struct_of_the_registry_is_cut() {
        for of in TABLES.structs {
            let values = (0..of.fields.len()).map(|n| (n as u8, Value::Null)).collect();
            let mut text = String::new();
            write_value(&Value::Struct(Box::new(Fields { of, values, cut: false, more: 0 })), &mut text);
            assert_eq!(text.matches("=NULL").count(), of.fields.len(), "{}: {text}", of.name);
            assert!(!text.contains("..."), "{}: {text}", of.name);
        }
    }
}
