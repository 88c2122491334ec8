//! A request on one line. For people; whoever needs another form walks the tree.

use crate::place;
use crate::tree::{Bytes, Call, Name, Node, Remark, Status, StatusPlace, Target, Value};
use crate::{Form, Kind, Moment};
use core::fmt::{Display, Formatter, Result, Write};

/// How many elements of an array are shown.
const SHOWN: usize = 8;

impl Display for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if self.wrapped {
            f.write_str("NV_ESC_IOCTL_XFER_CMD ")?;
        }
        match self.name {
            "" => write!(f, "request {:#x}", self.request)?,
            name => f.write_str(name)?,
        }
        match self.subject_name() {
            name if name != self.name => write!(f, " {name}")?,
            _ => {}
        }
        write!(f, " {}", self.argument)?;
        for (n, status) in self.statuses.iter().enumerate() {
            write!(f, "{} {status}", if n == 0 { " =" } else { "," })?;
        }
        for remark in &self.remarks {
            write!(f, " [{remark}]")?;
        }
        Ok(())
    }
}

impl Display for Status {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match (self.place, self.name) {
            (StatusPlace::Ioctl, _) => write!(f, "{}", self.code),
            (_, Some(name)) => f.write_str(name),
            (_, None) => write!(f, "status {:#x}", self.code),
        }
    }
}

impl Display for Remark {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::UnknownRequest(number) => write!(f, "no table has request {number:#x}"),
            Self::UnknownControl(number) => write!(f, "no table has control {number:#010x}"),
            Self::UnknownClass(number) => write!(f, "no table has class {number:#06x}"),
            Self::Size { expected, sent } => write!(f, "{sent} bytes were sent, the table has {expected}"),
            Self::Truncated => f.write_str("cut off"),
            Self::AfterLeftOut => f.write_str("the argument has another length after the call"),
            Self::TooMuch => f.write_str("too long to show in full"),
        }
    }
}

impl Display for Node {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &self.value {
            Value::Number { form, before, after, named, .. } => {
                change(f, self.kind, *form, *before, *after)?;
                named.map_or(Ok(()), |name| write!(f, " {name}"))
            }
            Value::Numbers { form, bytes } => numbers(f, self.kind, *form, bytes),
            Value::Struct(nodes) => list(f, '{', nodes, usize::MAX, '}'),
            Value::Array(nodes) => list(f, '[', nodes, SHOWN, ']'),
            Value::Union { readings, .. } => list(f, '<', readings, usize::MAX, '>'),
            Value::Pointer { before, after, target } => {
                change(f, Kind::Address, Form::Pointer, *before, *after)?;
                match target {
                    Target::Null | Target::Empty => Ok(()),
                    Target::NotRead => f.write_str(" (not read)"),
                    Target::TooLarge(size) => write!(f, " ({size} bytes, not read)"),
                    Target::Read(node) => write!(f, " {node}"),
                }
            }
            Value::Bytes(bytes) => hex(f, bytes.at(Moment::After)),
        }
    }
}

fn list(f: &mut Formatter<'_>, open: char, nodes: &[Node], shown: usize, close: char) -> Result {
    f.write_char(open)?;
    // Of a long array, the elements up to the last that is not 0.
    let used = match nodes.len() > shown {
        true => nodes.iter().rposition(|n| !is_zero(n)).map_or(0, |last| last + 1),
        false => nodes.len(),
    };
    for (n, node) in nodes.iter().take(shown.min(used)).enumerate() {
        if n > 0 {
            f.write_str(", ")?;
        }
        match node.name {
            Name::Field(name) => write!(f, "{name}: {node}")?,
            Name::Index(_) => write!(f, "{node}")?,
            Name::Padding => write!(f, "(padding at {}) {node}", node.offset)?,
            Name::Rest => write!(f, "(further bytes) {node}")?,
        }
    }
    if used > shown {
        write!(f, ", ... {} more", used - shown)?;
    } else if nodes.len() > used {
        write!(f, "{}{{0}} x {}", if used == 0 { "" } else { ", " }, nodes.len() - used)?;
    }
    f.write_char(close)
}

fn is_zero(node: &Node) -> bool {
    match &node.value {
        Value::Number { before, after, .. } | Value::Pointer { before, after, .. } => *before == 0 && *after == 0,
        Value::Numbers { bytes, .. } | Value::Bytes(bytes) | Value::Union { bytes, .. } => {
            bytes.before.iter().chain(bytes.after.iter().flatten()).all(|b| *b == 0)
        }
        Value::Struct(nodes) | Value::Array(nodes) => nodes.iter().all(is_zero),
    }
}

fn change(f: &mut Formatter<'_>, kind: Kind, form: Form, before: u64, after: u64) -> Result {
    one(f, kind, form, before)?;
    if before != after {
        f.write_str(" -> ")?;
        one(f, kind, form, after)?;
    }
    Ok(())
}

fn one(f: &mut Formatter<'_>, kind: Kind, form: Form, value: u64) -> Result {
    match (kind, form) {
        (Kind::Bool, _) if value < 2 => write!(f, "{}", value == 1),
        (Kind::Fd | Kind::Pid, Form::U32) => write!(f, "{}", (value & 0xffff_ffff) as u32 as i32),
        (Kind::Number | Kind::Bytes | Kind::Gpu | Kind::Fd | Kind::Pid, form) if form.is_signed() => {
            write!(f, "{}", value.cast_signed())
        }
        (_, Form::F32) => write!(f, "{}", f32::from_bits((value & 0xffff_ffff) as u32)),
        (_, Form::F64) => write!(f, "{}", f64::from_bits(value)),
        (Kind::Number | Kind::Bytes | Kind::Gpu | Kind::Bool | Kind::Fd | Kind::Pid, _) if form != Form::Pointer => {
            write!(f, "{value}")
        }
        _ => write!(f, "{value:#x}"),
    }
}

fn numbers(f: &mut Formatter<'_>, kind: Kind, form: Form, bytes: &Bytes) -> Result {
    let all = bytes.at(Moment::After);
    match (kind, form.size()) {
        (Kind::Text, _) => {
            let text = all.split(|b| *b == 0).next().unwrap_or_default();
            write!(f, "\"{}\"", text.escape_ascii())
        }
        (Kind::Uuid, _) => hex(f, all),
        (_, size) => {
            let used = all.iter().rposition(|b| *b != 0).map_or(0, |last| last / size + 1);
            f.write_char('[')?;
            for (n, chunk) in all.chunks(size).take(used.min(SHOWN)).enumerate() {
                if n > 0 {
                    f.write_str(", ")?;
                }
                one(f, kind, form, place::number(chunk, form, None))?;
            }
            match all.len() / size {
                _ if used > SHOWN => write!(f, ", ... {} more", used - SHOWN)?,
                count if count > used => write!(f, "{}0 x {}", if used == 0 { "" } else { ", " }, count - used)?,
                _ => {}
            }
            f.write_char(']')
        }
    }
}

fn hex(f: &mut Formatter<'_>, bytes: &[u8]) -> Result {
    bytes.iter().take(64).try_for_each(|b| write!(f, "{b:02x}"))?;
    if bytes.len() > 64 { write!(f, "... {} bytes", bytes.len()) } else { Ok(()) }
}
