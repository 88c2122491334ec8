//! The arguments of a call as a text that is the same in each run of a deterministic program: handles by number, device
//! addresses by their allocation, no host addresses.

use crate::call::resource_names::word;
use crate::call::values::write_value;
use cutap_calls::known::Memory;
use cutap_trace::Exit;
use cutap_trace::decode::{MemoryPlace, Value};
use std::fmt::Write;

/// `a=1, p=ptr`: the arguments that the call was given, and the name of an error. With `ignores_handles` a handle is
/// its kind, without its number.
pub fn arguments(exit: &Exit, ignores_handles: bool) -> String {
    let call = &exit.call;
    let mut text = Normal { text: String::new(), ignores_handles };
    for (n, value) in call.effective_args().iter().enumerate() {
        if n > 0 {
            text.text.push_str(", ");
        }
        if let Some(param) = call.function.params().get(n) {
            text.text.push_str(param.name);
            text.text.push('=');
        }
        text.value(value);
    }
    let mut text = text.text;
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

/// Writes values to a text.
struct Normal {
    text: String,
    ignores_handles: bool,
}

impl Normal {
    fn value(&mut self, value: &Value) {
        match value {
            Value::Address(_, Some(place)) if place.memory != Memory::Unknown && place.size > 0 => self.place(place),
            Value::Address(..) | Value::Wild(_) | Value::Opaque(_) | Value::Code(_) | Value::Id(_) => {
                self.text.push_str("ptr");
            }
            Value::Pointee(_, target) => {
                self.text.push('&');
                self.value(target);
            }
            Value::Handle { value, kind, number, .. }
                if self.is_written_as_kind(*value, *number) && !kind.special.iter().any(|(v, _)| v == value) =>
            {
                self.text.push_str(kind.short);
            }
            Value::Struct(fields) => {
                self.text.push('{');
                for (n, (name, value)) in fields.named().into_iter().enumerate() {
                    let _ = write!(self.text, "{}{name}=", if n > 0 { ", " } else { "" });
                    self.value(value);
                }
                self.text.push('}');
            }
            Value::Array(items) => self.list(items.values.iter(), items.total),
            Value::List(list) => self.list(list.values.iter(), list.total),
            // Words without a description may be addresses.
            Value::Hex(n) if *n > u64::from(u32::MAX) => self.text.push_str("ptr"),
            Value::Bytes(bytes) => {
                let _ = write!(self.text, "{} bytes", bytes.len());
            }
            other => write_value(other, &mut self.text),
        }
    }

    /// A handle is written as its kind. One that no call of the run has made is an address.
    fn is_written_as_kind(&self, value: u64, number: u32) -> bool {
        match number {
            0 => value > 0xffff,
            _ => self.ignores_handles,
        }
    }

    /// `device memory of 4096+16`: the size of the allocation, and the place in it.
    fn place(&mut self, place: &MemoryPlace) {
        let to = &mut self.text;
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

    fn list<'a>(&mut self, values: impl Iterator<Item = &'a Value>, total: u64) {
        self.text.push('[');
        let mut written = 0;
        for value in values {
            if written > 0 {
                self.text.push_str(", ");
            }
            self.value(value);
            written += 1;
        }
        if total > written {
            let _ = write!(self.text, ", {} more", total - written);
        }
        self.text.push(']');
    }
}
