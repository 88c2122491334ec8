//! Structs and unions: their fields, and what each of them is.

use crate::blob::{Bytes, NONE, Section};

/// A struct or union of one release.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Record {
    at: u32,
}

/// A field of a [`Record`].
#[derive(Clone, Copy)]
pub struct Field {
    bytes: Bytes,
}

/// How a number is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Form {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    /// One byte of a text.
    Char,
    /// Eight bytes: an address of the caller.
    Pointer,
    F32,
    F64,
}

/// What a number means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Nothing more is known of it.
    Number,
    /// An `NV_STATUS`.
    Status,
    /// A file descriptor of the caller.
    Fd,
    /// The handle of a client.
    Client,
    /// The handle of another object.
    Object,
    /// The number of a class.
    Class,
    /// The number of an RM control.
    Control,
    /// The number of an escape.
    Escape,
    /// The number by which RM knows a GPU.
    Gpu,
    /// 0 or 1.
    Bool,
    /// A byte of a UUID.
    Uuid,
    /// An address or offset, of the CPU or of a GPU.
    Address,
    /// A number of bytes.
    Bytes,
    /// A set of bits.
    Flags,
    /// A process.
    Pid,
    /// A byte of a text.
    Text,
}

/// Memory of the caller that a field leads to.
#[derive(Clone, Copy)]
pub struct Pointer {
    bytes: Bytes,
}

/// What such memory holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pointee {
    /// Numbers of one form.
    Numbers(Form),
    /// Structs.
    Records(Record),
    /// A text.
    Text,
    /// The parameters of the RM control whose number is in this sibling.
    Control(&'static str),
    /// The allocation parameters of the class whose number is in this sibling.
    Class(&'static str),
    /// The struct of the escape whose number is in this sibling.
    Escape(&'static str),
}

/// Who writes such memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The caller.
    In,
    /// The driver.
    Out,
    /// Both.
    InOut,
}

impl Form {
    pub(crate) const fn of(number: u8) -> Self {
        match number {
            0 => Self::U8,
            1 => Self::I8,
            2 => Self::U16,
            3 => Self::I16,
            4 => Self::U32,
            5 => Self::I32,
            6 => Self::U64,
            7 => Self::I64,
            8 => Self::Char,
            9 => Self::Pointer,
            10 => Self::F32,
            _ => Self::F64,
        }
    }

    /// Its bytes.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::U8 | Self::I8 | Self::Char => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::Pointer | Self::F64 => 8,
        }
    }

    /// Whether a number below 0 is possible.
    #[must_use]
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }
}

impl Kind {
    pub(crate) const fn of(number: u8) -> Self {
        match number {
            1 => Self::Status,
            2 => Self::Fd,
            3 => Self::Client,
            4 => Self::Object,
            5 => Self::Class,
            6 => Self::Control,
            7 => Self::Escape,
            8 => Self::Gpu,
            9 => Self::Bool,
            10 => Self::Uuid,
            11 => Self::Address,
            12 => Self::Bytes,
            13 => Self::Flags,
            14 => Self::Pid,
            15 => Self::Text,
            _ => Self::Number,
        }
    }
}

impl Record {
    pub(crate) fn of(at: u32) -> Option<Self> {
        Section::Structs.get(at).map(|_| Self { at })
    }

    fn word(self, at: usize) -> u32 {
        Section::Structs.get(self.at).map_or(0, |b| b.word(at))
    }

    /// Its name in NVIDIA's headers; `OUTER.FIELD` where it has none there.
    #[must_use]
    pub fn name(self) -> &'static str {
        Section::Structs.get(self.at).map_or("", |b| b.text(0))
    }

    /// Its bytes.
    #[must_use]
    pub fn size(self) -> usize {
        self.word(4) as usize
    }

    /// Whether its fields lie over each other.
    #[must_use]
    pub fn is_union(self) -> bool {
        self.word(16) != 0
    }

    /// Its fields, in the order of the header.
    pub fn fields(self) -> impl Iterator<Item = Field> + Clone {
        let first = self.word(8);
        (first..first.saturating_add(self.word(12)))
            .filter_map(|at| Section::Fields.get(at))
            .map(|bytes| Field { bytes })
    }

    /// A field by name. Fields of unnamed structs and unions inside are found too; their offsets count from this
    /// record.
    #[must_use]
    pub fn field(self, name: &str) -> Option<(Field, usize)> {
        self.find(name, 8)
    }

    fn find(self, name: &str, depth: u32) -> Option<(Field, usize)> {
        if let Some(field) = self.fields().find(|f| f.name() == name) {
            return Some((field, field.offset()));
        }
        let depth = depth.checked_sub(1)?;
        self.fields().filter(|f| f.is_unnamed()).find_map(|outer| {
            let (field, offset) = outer.record()?.find(name, depth)?;
            Some((field, outer.offset().checked_add(offset)?))
        })
    }
}

impl core::fmt::Debug for Record {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Record({}, {} bytes)", self.name(), self.size())
    }
}

impl Field {
    /// Its name; `_1`, `_2` and so on for a struct or union without a name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.bytes.text(0)
    }

    /// Its type as the header writes it, without the counts of an array.
    #[must_use]
    pub fn type_name(self) -> &'static str {
        self.bytes.text(4)
    }

    /// Where it begins in its record.
    #[must_use]
    pub fn offset(self) -> usize {
        self.bytes.word(8) as usize
    }

    /// How its number is stored, or that of each element; of no meaning for a [`Field::record`].
    #[must_use]
    pub fn form(self) -> Form {
        Form::of(self.bytes.byte(12))
    }

    /// What its number means.
    #[must_use]
    pub fn kind(self) -> Kind {
        Kind::of(self.bytes.byte(13))
    }

    /// First bit and number of bits in the number, for a bit field.
    #[must_use]
    pub fn bits(self) -> Option<(u32, u32)> {
        let (bit, bits) = (self.bytes.byte(14), self.bytes.byte(15));
        (bits != 0).then(|| (u32::from(bit).min(63), u32::from(bits).min(64)))
    }

    /// The counts of an array, from the outside in.
    pub fn counts(self) -> impl Iterator<Item = usize> + Clone {
        [16, 20, 24].into_iter().map(move |at| self.bytes.word(at)).take_while(|c| *c != NONE).map(|c| c as usize)
    }

    /// All elements of an array; none: it is no array.
    #[must_use]
    pub fn elements(self) -> Option<usize> {
        self.counts().next()?;
        Some(self.counts().fold(1, usize::saturating_mul))
    }

    /// The struct or union that it is, or that each element is.
    #[must_use]
    pub fn record(self) -> Option<Record> {
        Record::of(self.bytes.word(28))
    }

    /// The bytes of one element.
    #[must_use]
    pub fn element_size(self) -> usize {
        self.record().map_or(self.form().size(), Record::size)
    }

    /// All its bytes.
    #[must_use]
    pub fn size(self) -> usize {
        self.element_size().saturating_mul(self.elements().unwrap_or(1))
    }

    /// The name of a value, where its type is an enum.
    #[must_use]
    pub fn value_name(self, value: i64) -> Option<&'static str> {
        let names = Section::Enums.get(self.bytes.word(32))?;
        let first = names.word(4);
        let mut values = (first..first.saturating_add(names.word(8))).filter_map(|at| Section::Values.get(at));
        values.find(|v| v.long(4) == value).map(|v| v.text(0))
    }

    /// The memory that it leads to, where that is known.
    #[must_use]
    pub fn pointer(self) -> Option<Pointer> {
        Section::Pointers.get(self.bytes.word(36)).map(|bytes| Pointer { bytes })
    }

    fn is_unnamed(self) -> bool {
        let digits = self.name().strip_prefix('_').unwrap_or("");
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    }
}

impl core::fmt::Debug for Field {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Field({} {} at {})", self.type_name(), self.name(), self.offset())
    }
}

impl Pointer {
    /// What the memory holds.
    #[must_use]
    pub fn pointee(self) -> Pointee {
        match (self.bytes.byte(0), Record::of(self.bytes.word(8))) {
            (1, Some(record)) => Pointee::Records(record),
            (2, _) => Pointee::Text,
            (3, _) => Pointee::Control(self.bytes.text(12)),
            (4, _) => Pointee::Class(self.bytes.text(12)),
            (5, _) => Pointee::Escape(self.bytes.text(12)),
            _ => Pointee::Numbers(Form::of(self.bytes.byte(1))),
        }
    }

    /// Who writes it.
    #[must_use]
    pub fn direction(self) -> Direction {
        match self.bytes.byte(2) {
            0 => Direction::In,
            1 => Direction::Out,
            _ => Direction::InOut,
        }
    }

    /// The type of an element as the header writes it.
    #[must_use]
    pub fn type_name(self) -> &'static str {
        self.bytes.text(4)
    }

    /// The siblings whose product counts the elements; without any [`Pointer::fixed_count`] does. For parameters of
    /// controls, classes and escapes the count is in bytes.
    pub fn counted_by(self) -> impl Iterator<Item = &'static str> + Clone {
        [16, 20].into_iter().map(move |at| self.bytes.text(at)).filter(|name| !name.is_empty())
    }

    /// How many elements there always are.
    #[must_use]
    pub fn fixed_count(self) -> usize {
        self.bytes.word(24) as usize
    }
}

impl core::fmt::Debug for Pointer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Pointer({:?}, {:?})", self.pointee(), self.direction())
    }
}
