//! The arguments of a call as a text that is the same in each run of a deterministic program: handles by number, device
//! addresses by their allocation, no host addresses.

use crate::resource_names::word;
use crate::values::write_value;
use cutap_calls::known::Memory;
use cutap_trace::Exit;
use cutap_trace::decode::{MemoryPlace, Value};
use std::fmt::Write;

/// `a=1, p=ptr`: the arguments that the call was given, and the name of an error.
pub fn arguments(exit: &Exit) -> String {
    let call = &exit.call;
    let mut text = String::new();
    for (n, value) in call.effective_args().iter().enumerate() {
        if n > 0 {
            text.push_str(", ");
        }
        if let Some(param) = call.function.params().get(n) {
            text.push_str(param.name);
            text.push('=');
        }
        write_normal(value, &mut text);
    }
    if let Some(kernel) = exit.kernel() {
        text.push_str("; kernel=");
        text.push_str(kernel);
    }
    if exit.is_error() {
        text.push_str("; ");
        text.push_str(exit.status_name().unwrap_or("failed"));
    }
    text
}

fn write_normal(value: &Value, to: &mut String) {
    // Writing to a string does not fail.
    let _ = match value {
        Value::Address(_, Some(place)) if place.memory != Memory::Unknown && place.size > 0 => {
            write_place(place, to);
            Ok(())
        }
        Value::Address(..) | Value::Wild(_) | Value::Opaque(_) | Value::Code(_) | Value::Id(_) => write!(to, "ptr"),
        Value::Pointee(_, target) => {
            to.push('&');
            write_normal(target, to);
            Ok(())
        }
        // A handle that no call of the run has made is an address.
        Value::Handle { value, kind, number: 0, .. }
            if *value > 0xffff && !kind.special.iter().any(|(v, _)| v == value) =>
        {
            write!(to, "{}", kind.short)
        }
        Value::Struct(fields) => {
            to.push('{');
            for (n, (name, value)) in fields.named().into_iter().enumerate() {
                let _ = write!(to, "{}{name}=", if n > 0 { ", " } else { "" });
                write_normal(value, to);
            }
            to.push('}');
            Ok(())
        }
        Value::Array(items) => {
            write_list(items.values.iter(), items.total, to);
            Ok(())
        }
        Value::List(list) => {
            write_list(list.values.iter(), list.total, to);
            Ok(())
        }
        // Words without a description may be addresses.
        Value::Hex(n) if *n > u64::from(u32::MAX) => write!(to, "ptr"),
        Value::Bytes(bytes) => write!(to, "{} bytes", bytes.len()),
        other => {
            write_value(other, to);
            Ok(())
        }
    };
}

/// `device memory of 4096+16`: the size of the allocation, and the place in it.
fn write_place(place: &MemoryPlace, to: &mut String) {
    let _ = write!(to, "{}", word(place.memory));
    if let Some(device) = place.device {
        let _ = write!(to, " {device}");
    }
    let _ = write!(to, " of {}", place.size);
    if place.offset > 0 {
        let _ = write!(to, "+{}", place.offset);
    }
    if let Some(bytes) = place.bytes {
        let _ = write!(to, ", {bytes} bytes");
    }
}

fn write_list<'a>(values: impl Iterator<Item = &'a Value>, total: u64, to: &mut String) {
    to.push('[');
    let mut shown = 0;
    for value in values {
        if shown > 0 {
            to.push_str(", ");
        }
        write_normal(value, to);
        shown += 1;
    }
    if total > shown {
        let _ = write!(to, ", {} more", total - shown);
    }
    to.push(']');
}
