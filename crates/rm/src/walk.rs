//! Walks the fields of a struct over its bytes.

use crate::image::Image;
use crate::place;
use crate::record::{Field, Record};
use crate::request::{Request, escape_of};
use crate::tree::{Name, Node, Remark, Subject, Value};
use crate::{Device, Kind, Memory, Tables};
use alloc::vec::Vec;

/// How deep pointers lead to further pointers.
const DEEPEST: u32 = 4;

/// Decodes one request.
pub(crate) struct Decoder<'a> {
    pub(crate) tables: Tables,
    pub(crate) memory: &'a mut dyn Memory,
    pub(crate) has_after: bool,
    pub(crate) subject: Subject,
    pub(crate) inner: Option<u32>,
    pub(crate) remarks: Vec<Remark>,
    pub(crate) nodes: usize,
    pub(crate) bytes: usize,
}

impl Decoder<'_> {
    pub(crate) fn remark(&mut self, remark: Remark) {
        if !self.remarks.contains(&remark) && self.remarks.len() < 64 {
            self.remarks.push(remark);
        }
    }

    /// The number of the request, and its argument.
    pub(crate) fn argument(&mut self, request: Request<'_>, image: Image<'_>) -> (u32, Node) {
        let (nr, said) = escape_of(request.request);
        match request.device {
            Device::Control | Device::Gpu => {
                if image.before.len() < said {
                    self.remark(Remark::Truncated);
                }
                (nr, self.escape(nr, said, image, Name::Field(""), DEEPEST))
            }
            Device::Uvm | Device::UvmTools => {
                let record = self.tables.uvm(request.request).and_then(|u| u.params());
                (request.request, self.whole(record, image, Name::Field(""), DEEPEST))
            }
            // One struct for all: command, size, address.
            Device::Modeset => {
                let command = image.before.first_chunk().map_or(0, |b| u32::from_le_bytes(*b));
                (command, self.whole(None, image, Name::Field(""), DEEPEST))
            }
            Device::Other => (request.request, self.whole(None, image, Name::Field(""), DEEPEST)),
        }
    }

    pub(crate) fn escape(&mut self, number: u32, size: usize, image: Image<'_>, name: Name, depth: u32) -> Node {
        let escape = self.tables.escape(number);
        let record = escape.and_then(|e| e.params(size));
        match (escape, record) {
            (Some(escape), Some(record)) if escape.is_array() => {
                let elements = self.elements(record, image, 0, image.before.len() / record.size().max(1), depth);
                let used = elements.last().map_or(0, |n: &Node| n.offset + n.size);
                let mut nodes = elements;
                self.rest(image, used, &mut nodes);
                let size = image.before.len();
                Node { name, ty: record.name(), offset: 0, size, kind: Kind::Number, value: Value::Array(nodes) }
            }
            (_, Some(record)) => {
                if record.size() != size {
                    self.remark(Remark::Size { expected: record.size(), sent: size });
                }
                self.whole(Some(record), image, name, depth)
            }
            _ => self.whole(None, image, name, depth),
        }
    }

    /// A whole buffer as one record, with the bytes after it.
    pub(crate) fn whole(&mut self, record: Option<Record>, image: Image<'_>, name: Name, depth: u32) -> Node {
        let size = image.before.len();
        let Some(record) = record else {
            let value = Value::Bytes(image.bytes(0, size));
            return Node { name, ty: "", offset: 0, size, kind: Kind::Number, value };
        };
        if size < record.size() {
            self.remark(Remark::Truncated);
        }
        let mut node = self.record(record, image, 0, name, depth);
        node.size = size;
        let end = record.size();
        match &mut node.value {
            Value::Struct(nodes) => self.rest(image, end, nodes),
            _ if size > end => {
                let mut nodes = Vec::new();
                self.rest(image, end, &mut nodes);
                node.size = end;
                nodes.insert(0, node);
                return Node {
                    name,
                    ty: record.name(),
                    offset: 0,
                    size,
                    kind: Kind::Number,
                    value: Value::Struct(nodes),
                };
            }
            _ => {}
        }
        node
    }

    pub(crate) fn rest(&mut self, image: Image<'_>, from: usize, nodes: &mut Vec<Node>) {
        let size = image.before.len().saturating_sub(from);
        if size > 0 {
            nodes.push(bytes(image, Name::Rest, from, size));
        }
    }

    /// A struct or union at an offset, as far as there are bytes.
    fn record(&mut self, record: Record, image: Image<'_>, at: usize, name: Name, depth: u32) -> Node {
        let size = record.size().min(image.before.len().saturating_sub(at));
        let mut nodes = Vec::new();
        let mut covered = image.uncovered(at, size);
        for field in record.fields() {
            if let Some(node) = self.field(record, field, image, at, depth) {
                if let Some(covered) = covered.as_mut() {
                    covered.cover(field.offset(), node.size, field.bits());
                }
                nodes.push(node);
            }
        }
        let value = if record.is_union() {
            Value::Union { bytes: image.bytes(at, size), readings: nodes }
        } else {
            nodes.extend(covered.into_iter().flat_map(|c| c.padding(at)));
            Value::Struct(nodes)
        };
        Node { name, ty: record.name(), offset: at, size, kind: Kind::Number, value }
    }

    pub(crate) fn elements(
        &mut self,
        record: Record,
        image: Image<'_>,
        from: usize,
        count: usize,
        depth: u32,
    ) -> Vec<Node> {
        let mut nodes = Vec::new();
        let step = record.size();
        for index in 0..count {
            let Some(at) = index.checked_mul(step).and_then(|n| from.checked_add(n)) else { break };
            if at >= image.before.len() || step == 0 {
                break;
            }
            if self.nodes == 0 {
                let end = count.saturating_mul(step).saturating_add(from).min(image.before.len());
                nodes.push(bytes(image, Name::Rest, at, end.saturating_sub(at)));
                break;
            }
            nodes.push(self.record(record, image, at, Name::Index(index), depth));
        }
        nodes
    }

    /// A field of the record that begins at `base`; none where no byte of it is there.
    fn field(&mut self, record: Record, field: Field, image: Image<'_>, base: usize, depth: u32) -> Option<Node> {
        let offset = base.checked_add(field.offset())?;
        let there = image.before.len().saturating_sub(offset);
        let size = field.size().min(there);
        if there == 0 && field.size() > 0 {
            self.remark(Remark::Truncated);
            return None;
        }
        let name = Name::Field(field.name());
        if self.nodes == 0 {
            self.remark(Remark::TooMuch);
            return Some(bytes(image, name, offset, size));
        }
        self.nodes -= 1;
        if size < field.size() {
            self.remark(Remark::Truncated);
        }
        let value = match (field.record(), field.elements()) {
            (Some(inner), None) => {
                let node = self.record(inner, image, offset, name, depth);
                return Some(Node { ty: field.type_name(), ..node });
            }
            (Some(inner), Some(count)) => Value::Array(self.elements(inner, image, offset, count, depth)),
            (None, Some(_)) => Value::Numbers { form: field.form(), bytes: image.bytes(offset, size) },
            (None, None) if size < field.size() => return Some(bytes(image, Name::Rest, offset, size)),
            (None, None) => self.number(record, field, image, base, offset, depth),
        };
        Some(Node { name, ty: field.type_name(), offset, size, kind: field.kind(), value })
    }

    fn number(
        &mut self,
        record: Record,
        field: Field,
        image: Image<'_>,
        base: usize,
        offset: usize,
        depth: u32,
    ) -> Value {
        let (form, bits) = (field.form(), field.bits());
        let of = |bytes: &[u8]| place::number(bytes.get(offset..offset + form.size()).unwrap_or_default(), form, bits);
        let before = of(image.before);
        let after = image.after.map_or(before, of);
        if field.pointer().is_some() {
            let target = self.target(record, field, before, image, base, depth);
            return Value::Pointer { before, after, target };
        }
        let named = field.value_name(after.cast_signed());
        Value::Number { form, bits, before, after, named }
    }
}

fn bytes(image: Image<'_>, name: Name, offset: usize, size: usize) -> Node {
    Node { name, ty: "", offset, size, kind: Kind::Number, value: Value::Bytes(image.bytes(offset, size)) }
}
