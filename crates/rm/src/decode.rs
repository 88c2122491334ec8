//! From the bytes of a request to its tree. Any bytes give a tree; what is missing or unknown is remarked.

use crate::image::{Image, Source};
use crate::place;
use crate::record::{Field, Pointee, Pointer, Record};
use crate::request::escape_of;
use crate::tree::{Call, Name, Node, Remark, Status, StatusPlace, Subject, Target, Value};
use crate::{Device, Form, Kind, Memory, Moment, Tables};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// The most bytes that are read behind one pointer, and behind all of one request.
const MOST_BEHIND_ONE: usize = 1 << 20;
const MOST_BEHIND_ALL: usize = 4 << 20;
/// The most nodes of a tree.
const MOST_NODES: usize = 200_000;
/// How deep pointers lead to further pointers.
const DEEPEST: u32 = 4;

/// A request as it was seen.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Where it went.
    pub device: Device,
    /// The request of the ioctl.
    pub request: u32,
    /// The argument before the call. Of UVM [`Tables::argument_size`] says how much there is.
    pub before: &'a [u8],
    /// The argument after it, of the same length.
    pub after: Option<&'a [u8]>,
    /// What the ioctl returned; an error as a negative number.
    pub result: Option<i64>,
}

struct Decoder<'a> {
    tables: Tables,
    memory: &'a mut dyn Memory,
    has_after: bool,
    subject: Subject,
    inner: Option<u32>,
    remarks: Vec<Remark>,
    nodes: usize,
    bytes: usize,
}

impl Tables {
    /// Decodes a request.
    #[must_use]
    pub fn decode(self, request: Request<'_>, memory: &mut dyn Memory) -> Call {
        let image = Image::of(request.before, request.after);
        let mut decoder = Decoder {
            tables: self,
            memory,
            has_after: request.after.is_some(),
            subject: Subject::None,
            inner: None,
            remarks: Vec::new(),
            nodes: MOST_NODES,
            bytes: MOST_BEHIND_ALL,
        };
        if request.after.is_some() && image.after.is_none() {
            decoder.remark(Remark::AfterLeftOut);
        }
        let (number, argument) = decoder.argument(request, image);
        let wrapped = decoder.inner.is_some();
        let number = decoder.inner.unwrap_or(number);
        let name = match request.device {
            Device::Control | Device::Gpu => self.escape(number).map(|e| e.name()),
            Device::Uvm | Device::UvmTools => self.uvm(number).map(|u| u.name()),
            Device::Modeset => self.modeset(number),
            Device::Other => None,
        };
        if name.is_none() {
            decoder.remark(Remark::UnknownRequest(number));
        }
        let (subject, remarks) = (decoder.subject, decoder.remarks);
        let mut statuses = Vec::new();
        if let Some(code) = request.result {
            statuses.push(Status { place: StatusPlace::Ioctl, field: "", code, name: None });
        }
        if request.after.is_some() {
            let place = if request.device.is_uvm() { StatusPlace::Uvm } else { StatusPlace::Struct };
            self.find_statuses(&argument, place, wrapped, &mut statuses);
        }
        let (device, request, name) = (request.device, request.request, name.unwrap_or(""));
        Call { device, request, number, name, wrapped, subject, argument, statuses, remarks }
    }

    /// The statuses of the struct itself; of an unwrapped one those of the struct inside.
    fn find_statuses(self, node: &Node, place: StatusPlace, wrapped: bool, out: &mut Vec<Status>) {
        match (&node.value, node.name) {
            (Value::Number { after, .. }, Name::Field(field)) if node.kind == Kind::Status => {
                let code = u32::try_from(*after & 0xffff_ffff).unwrap_or(0);
                out.push(Status { place, field, code: i64::from(code), name: self.status(code) });
            }
            (Value::Pointer { target: Target::Read(inner), .. }, _) if wrapped => {
                self.find_statuses(inner, place, false, out);
            }
            (Value::Struct(nodes), _) => nodes.iter().for_each(|n| self.find_statuses(n, place, wrapped, out)),
            _ => {}
        }
    }
}

impl Decoder<'_> {
    fn remark(&mut self, remark: Remark) {
        if !self.remarks.contains(&remark) && self.remarks.len() < 64 {
            self.remarks.push(remark);
        }
    }

    /// The number of the request, and its argument.
    fn argument(&mut self, request: Request<'_>, image: Image<'_>) -> (u32, Node) {
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

    fn escape(&mut self, number: u32, size: usize, image: Image<'_>, name: Name, depth: u32) -> Node {
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
    fn whole(&mut self, record: Option<Record>, image: Image<'_>, name: Name, depth: u32) -> Node {
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

    fn rest(&mut self, image: Image<'_>, from: usize, nodes: &mut Vec<Node>) {
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

    fn elements(&mut self, record: Record, image: Image<'_>, from: usize, count: usize, depth: u32) -> Vec<Node> {
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
        if let Some(pointer) = field.pointer() {
            let target = self.target(record, pointer, before, image, base, depth);
            return Value::Pointer { before, after, target };
        }
        let named = field.value_name(after.cast_signed());
        Value::Number { form, bits, before, after, named }
    }

    fn target(
        &mut self,
        record: Record,
        pointer: Pointer,
        address: u64,
        image: Image<'_>,
        base: usize,
        depth: u32,
    ) -> Target {
        if address == 0 {
            return Target::Null;
        }
        let Some(depth) = depth.checked_sub(1) else { return Target::NotRead };
        let sibling = |name: &str| {
            let (field, offset) = record.field(name)?;
            let from = base.checked_add(offset)?;
            let bytes = image.before.get(from..from.checked_add(field.form().size())?)?;
            Some(place::number(bytes, field.form(), field.bits()))
        };
        let mut counts = pointer.counted_by().peekable();
        let count = match counts.peek() {
            Some(_) => counts.fold(1_u64, |all, name| all.saturating_mul(sibling(name).unwrap_or(0))),
            None => pointer.fixed_count() as u64,
        };
        let selected = |name: &str| u32::try_from(sibling(name).unwrap_or(0) & 0xffff_ffff).unwrap_or(0);
        let (step, what) = match pointer.pointee() {
            Pointee::Numbers(form) => (form.size(), What::Numbers(form, pointer.type_name())),
            Pointee::Text => (1, What::Numbers(Form::Char, "char")),
            Pointee::Records(inner) => (inner.size(), What::Records(inner)),
            Pointee::Escape(by) => (1, What::Escape(selected(by))),
            Pointee::Control(by) => (1, What::Whole(self.control(selected(by), count))),
            Pointee::Class(by) => {
                let class = self.class(selected(by));
                // The driver takes its own size where the caller says none.
                let size = class.map_or(0, Record::size);
                return self.read(address, if count == 0 { size as u64 } else { count }, What::Whole(class), depth);
            }
        };
        self.read(address, count.saturating_mul(step as u64), what, depth)
    }

    fn control(&mut self, number: u32, size: u64) -> Option<Record> {
        let control = self.tables.control(number);
        self.subject = Subject::Control(number, control);
        match control {
            None => self.remark(Remark::UnknownControl(number)),
            // Of one that is only in a header even the parameters may be unknown.
            Some(control) if !control.is_registered() && control.params().is_none() => {}
            Some(control) if control.size() as u64 != size => {
                let sent = usize::try_from(size).unwrap_or(usize::MAX);
                self.remark(Remark::Size { expected: control.size(), sent });
            }
            _ => {}
        }
        control.and_then(|c| c.params())
    }

    fn class(&mut self, number: u32) -> Option<Record> {
        let class = self.tables.class(number);
        self.subject = Subject::Class(number, class);
        if class.is_none() {
            self.remark(Remark::UnknownClass(number));
        }
        class.and_then(|c| c.params())
    }

    fn read(&mut self, address: u64, size: u64, what: What, depth: u32) -> Target {
        if size == 0 {
            return Target::Empty;
        }
        let Some(size) = usize::try_from(size).ok().filter(|s| *s <= MOST_BEHIND_ONE.min(self.bytes)) else {
            return Target::TooLarge(size);
        };
        self.bytes -= size;
        let Some(source) = Source::read(self.memory, address, size, self.has_after) else { return Target::NotRead };
        if source.is_short() {
            self.remark(Remark::Truncated);
        }
        let image = source.image();
        let name = Name::Field("*");
        let node = match what {
            What::Numbers(form, ty) => {
                let value = Value::Numbers { form, bytes: image.bytes(0, image.before.len()) };
                let kind = if form == Form::Char { Kind::Text } else { Kind::Number };
                Node { name, ty, offset: 0, size: image.before.len(), kind, value }
            }
            What::Records(record) => {
                let mut nodes = self.elements(record, image, 0, size / record.size().max(1), depth);
                let used = nodes.last().map_or(0, |n| n.offset + n.size);
                self.rest(image, used, &mut nodes);
                let size = image.before.len();
                Node { name, ty: record.name(), offset: 0, size, kind: Kind::Number, value: Value::Array(nodes) }
            }
            What::Whole(record) => self.whole(record, image, name, depth),
            What::Escape(number) => {
                self.inner = Some(number);
                self.escape(number, size, image, name, depth)
            }
        };
        Target::Read(Box::new(node))
    }
}

/// What memory is read as.
enum What {
    Numbers(Form, &'static str),
    Records(Record),
    Whole(Option<Record>),
    Escape(u32),
}

fn bytes(image: Image<'_>, name: Name, offset: usize, size: usize) -> Node {
    Node { name, ty: "", offset, size, kind: Kind::Number, value: Value::Bytes(image.bytes(offset, size)) }
}

/// So that both moments are named here.
impl Source {
    fn read(memory: &mut dyn Memory, address: u64, size: usize, has_after: bool) -> Option<Self> {
        let before = Self::one(memory, Moment::Before, address, size)?;
        let after = if has_after { Self::one(memory, Moment::After, address, size) } else { None };
        Some(Self::of(before, after, size))
    }

    fn one(memory: &mut dyn Memory, moment: Moment, address: u64, size: usize) -> Option<Vec<u8>> {
        let mut bytes = alloc::vec![0; size];
        let read = memory.read(moment, address, &mut bytes).min(size);
        bytes.truncate(read);
        (read > 0).then_some(bytes)
    }
}
