//! A call in a form that two runs share. Handles become class and count, such as `NV01_DEVICE_0#1`. Addresses,
//! descriptors and processes are left out.

use crate::call::{Action, KernelCall};
use crate::decode::Decoder;
use crate::formats::without_ids;
use cutap_rm::{Call, Form, Kind, Moment, Name, Node, Subject, Target, Value};
use std::collections::{BTreeMap, HashMap};

/// A call in the common form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Normal {
    /// What was asked: calls with the same key are compared with each other.
    pub(super) key: String,
    /// Fields by path, with the values before and after.
    pub(super) fields: BTreeMap<String, String>,
}

/// Names handles in the order of a run.
pub(super) struct Normalizer<'a> {
    decoder: &'a Decoder,
    names: HashMap<u64, String>,
    counts: HashMap<String, usize>,
}

impl<'a> Normalizer<'a> {
    pub(super) fn new(decoder: &'a Decoder) -> Self {
        Self { decoder, names: HashMap::new(), counts: HashMap::new() }
    }

    /// A call; none where it is compared with nothing, such as a close.
    pub(super) fn call(&mut self, call: &KernelCall) -> Option<Normal> {
        let mut fields = BTreeMap::new();
        let mut put = |name: &str, value: String| drop(fields.insert(name.to_owned(), value));
        let error = call.result.filter(|r| (-4095..0).contains(r));
        let key = match &call.action {
            Action::Ioctl(ioctl) => {
                let decoded = self.decoder.decode(ioctl, call.result);
                self.name_new(&decoded);
                self.node(&decoded.argument, "", &mut fields);
                for status in &decoded.statuses {
                    let text = status.name.map_or_else(|| status.code.to_string(), str::to_owned);
                    fields.insert(if status.field.is_empty() { "result" } else { "status" }.to_owned(), text);
                }
                return Some(Normal { key: key(&decoded, &ioctl.path), fields });
            }
            // A stream and a descriptor of a file are one: ptrace sees no difference.
            Action::Open { path, flags, stream } => {
                match stream.is_empty() {
                    true => put("flags", format!("{flags:#x}")),
                    false => put("mode", stream.clone()),
                }
                format!("open {}", without_ids(path))
            }
            Action::Mmap { path, length, protection, flags, .. } => {
                put("length", format!("{length:#x}"));
                put("protection", protection.to_string());
                put("flags", format!("{flags:#x}"));
                format!("mmap {path}")
            }
            Action::Getenv { name, value, .. } => {
                put("value", value.clone().unwrap_or_else(|| "(not set)".into()));
                format!("getenv {name}")
            }
            Action::Close { .. } | Action::Dup { .. } | Action::Munmap { .. } => return None,
        };
        if let Some(error) = error {
            fields.insert("result".into(), error.to_string());
        }
        Some(Normal { key, fields })
    }

    /// The object that an allocation made.
    fn name_new(&mut self, call: &Call) {
        let argument = &call.argument;
        let number = |path: &str| argument.get(path).and_then(|node| node.number(Moment::After));
        let class = match call.subject {
            Subject::Class(_, Some(class)) => class.name().to_owned(),
            Subject::Class(number, None) => format!("class {number:#06x}"),
            _ => return,
        };
        if let Some(handle) = number("hObjectNew").or_else(|| number("params.hObjectNew")).filter(|h| *h != 0) {
            let name = self.count(&class);
            self.names.insert(handle, name);
        }
    }

    fn count(&mut self, class: &str) -> String {
        let count = self.counts.entry(class.to_owned()).or_default();
        *count += 1;
        format!("{class}#{count}")
    }

    fn handle(&mut self, handle: u64) -> String {
        if handle == 0 {
            return "0".to_owned();
        }
        if let Some(name) = self.names.get(&handle) {
            return name.clone();
        }
        let name = self.count("object");
        self.names.insert(handle, name.clone());
        name
    }

    fn node(&mut self, node: &Node, path: &str, fields: &mut BTreeMap<String, String>) {
        // Headers declare some handles as plain numbers, such as the owner of memory.
        let plain = |number: u64| self.names.get(&number).cloned().unwrap_or_else(|| format!("{number:#x}"));
        let pair = |before: u64, after: u64| match before == after {
            true => plain(after),
            false => format!("{} -> {}", plain(before), plain(after)),
        };
        let number = match &node.value {
            Value::Number { before, after, .. } => pair(*before, *after),
            _ => String::new(),
        };
        let mut put = |value: String| drop(fields.insert(path.to_owned(), value));
        match &node.value {
            Value::Number { after, .. } => match node.kind {
                Kind::Client | Kind::Object => {
                    let after = self.handle(*after);
                    put(after);
                }
                Kind::Address | Kind::Fd | Kind::Pid | Kind::Status => {}
                _ => put(number),
            },
            Value::Numbers { bytes, form: Form::U32 } if matches!(node.kind, Kind::Client | Kind::Object) => {
                let words = bytes.at(Moment::After).as_chunks::<4>().0;
                let used = words.iter().rposition(|word| *word != [0; 4]).map_or(0, |at| at + 1);
                let names: Vec<String> =
                    words.iter().take(used).map(|word| self.handle(u32::from_le_bytes(*word).into())).collect();
                fields.insert(path.to_owned(), names.join(", "));
            }
            Value::Numbers { bytes, .. } | Value::Bytes(bytes) | Value::Union { bytes, .. } => {
                let end = |bytes: &[u8]| bytes.iter().rposition(|b| *b != 0).map_or(0, |at| at + 1);
                let (before, after) = (bytes.at(Moment::Before), bytes.at(Moment::After));
                let text = |bytes: &[u8]| crate::hex::text(bytes.get(..end(bytes)).unwrap_or_default());
                // Padding is memory of the caller that was never set.
                match (node.name, before == after) {
                    (Name::Padding, _) => {}
                    (_, true) => put(text(before)),
                    (_, false) => put(format!("{} -> {}", text(before), text(after))),
                }
            }
            Value::Struct(nodes) | Value::Array(nodes) => {
                for child in nodes {
                    let name = match child.name {
                        Name::Field(name) => format!(".{name}"),
                        Name::Index(at) => format!("[{at}]"),
                        Name::Padding => continue,
                        Name::Rest => ".(further bytes)".to_owned(),
                    };
                    let path = format!("{path}{name}");
                    self.node(child, path.strip_prefix('.').unwrap_or(&path), fields);
                }
            }
            Value::Pointer { before, target, .. } => match target {
                Target::Read(inner) => self.node(inner, path, fields),
                _ => put(if *before == 0 { "NULL" } else { "(pointer)" }.to_owned()),
            },
        }
    }
}

fn key(call: &Call, path: &str) -> String {
    // All GPUs have the same requests.
    let path = path.trim_end_matches(|c: char| c.is_ascii_digit());
    let name = if call.name.is_empty() { format!("request {:#x}", call.request) } else { call.name.to_owned() };
    match call.subject {
        Subject::None => format!("{path} {name}"),
        Subject::Control(number, _) => format!("{path} {name} {number:#010x} {}", call.subject_name()),
        Subject::Class(number, _) => format!("{path} {name} {number:#06x} {}", call.subject_name()),
    }
}
