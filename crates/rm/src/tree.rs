//! A decoded request: a tree of fields, each with its number before and after.

use crate::{Class, Control, Device, Form, Kind, Moment};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// A request, decoded.
#[derive(Debug, Clone)]
pub struct Call {
    /// Where it went.
    pub device: Device,
    /// As the program wrote it.
    pub request: u32,
    /// The number of the escape or UVM command; of one inside `NV_ESC_IOCTL_XFER_CMD`, that one's.
    pub number: u32,
    /// Its name; empty where no table has it.
    pub name: &'static str,
    /// Whether it came inside `NV_ESC_IOCTL_XFER_CMD`.
    pub wrapped: bool,
    /// The RM control or class that it is about.
    pub subject: Subject,
    /// Its argument.
    pub argument: Node,
    /// Its statuses, from each of the places that have one.
    pub statuses: Vec<Status>,
    /// What is not as the tables say.
    pub remarks: Vec<Remark>,
}

/// What an `RM_CONTROL` or `RM_ALLOC` is about. The number is there too where no table has it.
#[derive(Debug, Clone, Copy)]
pub enum Subject {
    /// Neither.
    None,
    /// An RM control.
    Control(u32, Option<Control>),
    /// A class.
    Class(u32, Option<Class>),
}

/// One of the places that say whether a request succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// Which.
    pub place: StatusPlace,
    /// The field's name; empty for the ioctl's result.
    pub field: &'static str,
    /// Of [`StatusPlace::Ioctl`] the result, else an `NV_STATUS`.
    pub code: i64,
    /// The status's name.
    pub name: Option<&'static str>,
}

/// The three places of a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusPlace {
    /// The result of the system call.
    Ioctl,
    /// The `status` of the struct.
    Struct,
    /// The `rmStatus` of a UVM command.
    Uvm,
}

/// What is not as the tables say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remark {
    /// No table has the escape, UVM or modeset command.
    UnknownRequest(u32),
    /// No table has the RM control.
    UnknownControl(u32),
    /// No table has the class.
    UnknownClass(u32),
    /// The table's size differs from the one that was sent.
    Size {
        /// The table's.
        expected: usize,
        /// The program's.
        sent: usize,
    },
    /// Bytes were missing: the argument, or memory that a pointer leads to, was cut off.
    Truncated,
    /// The argument after the call has another length, and was left out.
    AfterLeftOut,
    /// Too much to show: the rest is bytes.
    TooMuch,
}

/// A field, an element, or bytes without a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// What it is called.
    pub name: Name,
    /// Its type as the header writes it; empty for bytes without a name.
    pub ty: &'static str,
    /// Its first byte in the argument, or in the memory that the pointer leads to.
    pub offset: usize,
    /// Its bytes.
    pub size: usize,
    /// What the number means.
    pub kind: Kind,
    /// The number, or what is inside.
    pub value: Value,
}

/// What a [`Node`] is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// A field of a struct; `*` for what a pointer leads to, empty for the argument itself.
    Field(&'static str),
    /// An element of an array.
    Index(usize),
    /// Bits that belong to no field and are not 0.
    Padding,
    /// Bytes after the last known field, or too few for one.
    Rest,
}

/// What a [`Node`] holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// One number. A negative one is its two's complement.
    Number {
        /// How it is stored.
        form: Form,
        /// First bit and number of bits, for a bit field.
        bits: Option<(u32, u32)>,
        /// Before the call.
        before: u64,
        /// After it.
        after: u64,
        /// The name of the value after the call, where the type is an enum.
        named: Option<&'static str>,
    },
    /// An array of numbers, or a text, or a UUID.
    Numbers {
        /// How each is stored.
        form: Form,
        /// The bytes.
        bytes: Bytes,
    },
    /// Fields of a struct.
    Struct(Vec<Node>),
    /// Elements of an array of structs.
    Array(Vec<Node>),
    /// A union.
    Union {
        /// The bytes.
        bytes: Bytes,
        /// The same bytes, read as each of its fields.
        readings: Vec<Node>,
    },
    /// An address of the caller.
    Pointer {
        /// Before the call.
        before: u64,
        /// After it.
        after: u64,
        /// What it leads to.
        target: Target,
    },
    /// Bytes without a form.
    Bytes(Bytes),
}

/// Bytes before and after.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bytes {
    /// Before the call.
    pub before: Vec<u8>,
    /// After it, where they differ.
    pub after: Option<Vec<u8>>,
}

/// What a pointer leads to.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// It is NULL.
    Null,
    /// Nothing is to be read there: the count is 0.
    Empty,
    /// The memory was not read.
    NotRead,
    /// There is too much of it to read: so many bytes.
    TooLarge(u64),
    /// The memory.
    Read(Box<Node>),
}

impl Bytes {
    /// Those of a moment.
    #[must_use]
    pub fn at(&self, moment: Moment) -> &[u8] {
        match (moment, &self.after) {
            (Moment::After, Some(after)) => after,
            _ => &self.before,
        }
    }
}

impl Node {
    /// The nodes inside: fields, elements, the readings of a union. Not what a pointer leads to.
    #[must_use]
    pub fn children(&self) -> &[Self] {
        match &self.value {
            Value::Struct(nodes) | Value::Array(nodes) | Value::Union { readings: nodes, .. } => nodes,
            _ => &[],
        }
    }

    /// A field inside by name: `params.status`, `perGpuAttributes[1].gpuUuid`. `*` follows a pointer.
    ///
    /// Fields of a struct without a name are reached through `_1`.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Self> {
        let mut node = self;
        for step in path.split('.') {
            let (name, indices) = step.split_once('[').map_or((step, ""), |(name, rest)| (name, rest));
            node = match &node.value {
                Value::Pointer { target: Target::Read(target), .. } if name == "*" => target,
                _ => node.children().iter().find(|n| matches!(n.name, Name::Field(own) if own == name))?,
            };
            for index in indices.split('[').filter(|i| !i.is_empty()) {
                node = node.children().get(index.strip_suffix(']')?.parse::<usize>().ok()?)?;
            }
        }
        Some(node)
    }

    /// The number of a moment, of a single number or a pointer.
    #[must_use]
    pub fn number(&self, moment: Moment) -> Option<u64> {
        match (&self.value, moment) {
            (Value::Number { before, .. } | Value::Pointer { before, .. }, Moment::Before) => Some(*before),
            (Value::Number { after, .. } | Value::Pointer { after, .. }, Moment::After) => Some(*after),
            _ => None,
        }
    }
}

impl Call {
    /// The status in the struct, or that of UVM.
    #[must_use]
    pub fn status(&self) -> Option<&Status> {
        self.statuses.iter().find(|s| s.place != StatusPlace::Ioctl)
    }

    /// The name of the control or class, where there is one, else that of the request.
    #[must_use]
    pub fn subject_name(&self) -> &'static str {
        match self.subject {
            Subject::Control(_, Some(control)) => control.name(),
            Subject::Class(_, Some(class)) => class.name(),
            _ => self.name,
        }
    }
}
