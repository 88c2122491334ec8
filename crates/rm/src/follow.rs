//! Follows embedded pointers: how much is to be read there, and as what.

use crate::image::{Image, Source};
use crate::place;
use crate::record::{Pointee, Pointer, Record};
use crate::tree::{Name, Node, Remark, Subject, Target, Value};
use crate::walk::Decoder;
use crate::{Field, Form, Kind, Memory, Moment};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// The most bytes that are read behind one pointer.
const MOST_BEHIND_ONE: usize = 1 << 20;

impl Decoder<'_> {
    /// What a pointer leads to: `address` is its value. Its siblings are those of the record that begins at `base`.
    pub(crate) fn target(
        &mut self,
        record: Record,
        field: Field,
        address: u64,
        image: Image<'_>,
        base: usize,
        depth: u32,
    ) -> Target {
        let Some(pointer) = field.pointer() else { return Target::NotRead };
        if address == 0 {
            self.subject_without_parameters(record, pointer, image, base);
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
            Pointee::Numbers(form) => {
                let kind = match field.kind() {
                    kind @ (Kind::Client | Kind::Object | Kind::Class) => kind,
                    _ => Kind::Number,
                };
                (form.size(), What::Numbers(form, pointer.type_name(), kind))
            }
            Pointee::Text => (1, What::Numbers(Form::Char, "char", Kind::Text)),
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

    /// A control or an allocation without parameters has a subject too.
    fn subject_without_parameters(&mut self, record: Record, pointer: Pointer, image: Image<'_>, base: usize) {
        let number = |name: &str| {
            let (field, offset) = record.field(name)?;
            let from = base.checked_add(offset)?;
            let bytes = image.before.get(from..from.checked_add(field.form().size())?)?;
            u32::try_from(place::number(bytes, field.form(), field.bits())).ok()
        };
        match pointer.pointee() {
            Pointee::Control(by) => drop(number(by).map(|n| self.control(n, 0))),
            Pointee::Class(by) => drop(number(by).map(|n| self.class(n))),
            _ => {}
        }
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

    pub(crate) fn class(&mut self, number: u32) -> Option<Record> {
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
            What::Numbers(form, ty, kind) => {
                let value = Value::Numbers { form, bytes: image.bytes(0, image.before.len()) };
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
    Numbers(Form, &'static str, Kind),
    Records(Record),
    Whole(Option<Record>),
    Escape(u32),
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
