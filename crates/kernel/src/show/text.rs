//! One line a call: time, thread, device, request, fields by name, statuses, duration.

use super::brief;
use crate::call::{Action, Ioctl, KernelCall, Run};
use crate::decode::Decoder;
use crate::{hex, variables};
use cutap_printable::printable;
use cutap_rm::{Call, Remark, Subject};
use std::fmt::Write;

/// What a line contains.
#[derive(Debug, Clone, Copy, Default)]
pub struct Style {
    /// All fields, also those that are 0; all remarks.
    pub verbose: bool,
    /// The bytes before and after, in hexadecimal, on separate lines.
    pub hex: bool,
    /// The thread on each line.
    pub threads: bool,
    /// The CUDA call on a line before the first of its system calls.
    pub parents: bool,
    /// What a variable of the environment means, behind its line.
    pub meanings: bool,
}

/// Writes the lines of a run, one call after the other.
#[derive(Debug)]
pub struct Text {
    pub(super) style: Style,
    headings: Headings,
}

/// The lines that name the CUDA call around the system calls behind them.
#[derive(Debug, Default)]
struct Headings {
    /// The CUDA call of the last line, by thread.
    parent: Option<(u32, String, Option<u64>)>,
}

impl Headings {
    /// The line before this call, with its line break, where it has another CUDA call than the one before.
    fn line(&mut self, call: &KernelCall) -> Option<String> {
        let parent = call.parent.as_ref().map(|p| (call.tid, p.name.clone(), p.id));
        if parent == self.parent {
            return None;
        }
        let line = match &parent {
            Some((_, name, _)) => format!("{}:\n", printable(name)),
            None => "outside of CUDA calls:\n".to_owned(),
        };
        self.parent = parent;
        Some(line)
    }
}

impl Text {
    /// Writes with these columns.
    #[must_use]
    pub fn new(style: Style) -> Self {
        Self { style, headings: Headings::default() }
    }

    /// The line of a call, with its line break; before it the CUDA call, where that changed.
    pub fn line(&mut self, call: &KernelCall, decoder: &Decoder) -> String {
        let mut out = String::new();
        if self.style.parents {
            out.extend(self.headings.line(call));
        }
        if let Some(time) = call.time_ns {
            let _ = write!(out, "{:>12.6} ", seconds(time));
        }
        if self.style.threads {
            let _ = match call.pid {
                0 => write!(out, "[{}] ", call.tid),
                pid if pid == call.tid => write!(out, "[{pid}] "),
                pid => write!(out, "[{pid}/{}] ", call.tid),
            };
        }
        self.action(call, decoder, &mut out);
        if let Some(duration) = call.duration_ns {
            let _ = write!(out, " <{:.6}>", seconds(duration));
        }
        if let (true, Action::Getenv { name, .. }) = (self.style.meanings, &call.action)
            && let Some(meaning) = variables::meaning(name)
        {
            let _ = write!(out, "  # {meaning}");
        }
        out.push('\n');
        if let (true, Action::Ioctl(ioctl)) = (self.style.hex, &call.action) {
            dump_ioctl(ioctl, call.result.is_some(), &mut out);
        }
        for frame in &call.stack {
            let _ = writeln!(out, "             > {}", printable(frame));
        }
        out
    }

    fn action(&self, call: &KernelCall, decoder: &Decoder, out: &mut String) {
        let result = call.result;
        let plain = |out: &mut String| match result {
            Some(error) if (-4095..0).contains(&error) => drop(write!(out, " = {}", error_name(error))),
            Some(number) => drop(write!(out, " = {number}")),
            None => out.push_str(" = ? (did not return)"),
        };
        match &call.action {
            Action::Ioctl(ioctl) => return self.ioctl(ioctl, result, decoder, out),
            Action::Open { path, stream, .. } if !stream.is_empty() => {
                let _ = write!(out, "fopen {} {{mode: {}}}", printable(path), printable(stream));
                if result == Some(0) {
                    return;
                }
            }
            Action::Open { path, flags, .. } => drop(write!(out, "open {} {{flags: {flags:#x}}}", printable(path))),
            Action::Close { fd, path } => drop(write!(out, "close {}", file(*fd, path))),
            Action::Dup { fd, path } => drop(write!(out, "dup {}", file(*fd, path))),
            Action::Mmap { fd, path, address, length, protection, flags, offset } => {
                let shared = if flags & 1 == 0 { "private" } else { "shared" };
                let at = if *address == 0 { String::new() } else { format!(", address: {address:#x}") };
                let _ =
                    write!(out, "mmap {} {{length: {length:#x}, {}, {shared}", file(*fd, path), access(*protection));
                let _ = write!(out, ", offset: {offset:#x}{at}}}");
                if let Some(address) = result.filter(|r| !(-4095..0).contains(r)) {
                    let _ = write!(out, " = {:#x}", address.cast_unsigned());
                    return;
                }
            }
            Action::Munmap { address, length } => {
                let _ = write!(out, "munmap {{address: {address:#x}, length: {length:#x}}}");
            }
            Action::Getenv { name, value, reader } => {
                let _ = write!(out, "getenv {}", printable(name));
                if !reader.is_empty() {
                    let _ = write!(out, " by {}", printable(reader));
                }
                match value {
                    Some(value) => drop(write!(out, " = \"{}\"", printable(value))),
                    None => out.push_str(" (not set)"),
                }
                return;
            }
        }
        plain(out);
    }

    fn ioctl(&self, ioctl: &Ioctl, result: Option<i64>, decoder: &Decoder, out: &mut String) {
        let call = decoder.decode(ioctl, result);
        let path = if ioctl.path.is_empty() { "(unknown device)" } else { &ioctl.path };
        let _ = write!(out, "{} ", file(ioctl.fd, path));
        if call.wrapped {
            out.push_str("NV_ESC_IOCTL_XFER_CMD ");
        }
        match call.name {
            "" => drop(write!(out, "request {:#x}", call.request)),
            name => out.push_str(name),
        }
        out.push_str(&subject(&call));
        if ioctl.before.is_none() {
            out.push_str(" (argument not captured)");
        } else if self.style.verbose {
            let _ = write!(out, " {}", printable(&call.argument.to_string()));
        } else {
            out.push(' ');
            brief::push(&call.argument, out);
        }
        match result {
            None => out.push_str(" = ? (did not return)"),
            Some(_) => {
                for (n, status) in call.statuses.iter().enumerate() {
                    let _ = match (status.field, status.code) {
                        ("", error @ -4095..0) => write!(out, " = {}", error_name(error)),
                        _ if n == 0 => write!(out, " = {status}"),
                        _ => write!(out, ", {status}"),
                    };
                }
            }
        }
        for remark in &call.remarks {
            // Without bytes everything is cut off.
            if !(ioctl.before.is_none() && matches!(remark, Remark::Truncated)) {
                let _ = write!(out, " [{remark}]");
            }
        }
        if ioctl.partial && self.style.verbose {
            out.push_str(" [the input does not have all bytes]");
        }
    }
}

/// The control or class of a request, with its number where no table has a name.
fn subject(call: &Call) -> String {
    match call.subject {
        Subject::None => String::new(),
        Subject::Control(_, Some(control)) => format!(" {}", control.name()),
        Subject::Control(number, None) => format!(" control {number:#010x}"),
        Subject::Class(_, Some(class)) => format!(" {}", class.name()),
        Subject::Class(number, None) => format!(" class {number:#06x}"),
    }
}

#[allow(clippy::cast_precision_loss)] // Nanoseconds of a run need less than 53 bits.
fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// `nvidiactl(9)`.
fn file(fd: i32, path: &str) -> String {
    let name = printable(path.strip_prefix("/dev/").unwrap_or(path)).into_owned();
    if fd < 0 && name.is_empty() {
        return "anonymous".to_owned();
    }
    if fd < 0 { name } else { format!("{name}({fd})") }
}

fn access(protection: u32) -> String {
    let bit = |bit: u32, letter: char| if protection & bit == 0 { '-' } else { letter };
    [bit(1, 'r'), bit(2, 'w'), bit(4, 'x')].iter().collect()
}

/// `EINVAL (Invalid argument)`, as the system's text without its number.
fn error_name(error: i64) -> String {
    let code = i32::try_from(-error).unwrap_or(0);
    let text = crate::error::reason(&std::io::Error::from_raw_os_error(code));
    format!("{error} ({text})")
}

fn dump_ioctl(ioctl: &Ioctl, returned: bool, out: &mut String) {
    if let Some(before) = &ioctl.before {
        dump("argument", ioctl.argument, before, ioctl.after.as_deref(), returned, out);
    }
    for piece in &ioctl.memory {
        dump("memory", piece.address, &piece.before, piece.after.as_deref(), returned, out);
    }
}

/// Rows of 16 bytes. Rows that are 0 and do not change are left out and counted.
fn dump(what: &str, address: u64, before: &[u8], after: Option<&[u8]>, returned: bool, out: &mut String) {
    let moment = if returned { "before -> after" } else { "before" };
    let _ = writeln!(out, "    {what} at {address:#x}, {} bytes, {moment}", before.len());
    let mut zeros = 0;
    for (n, row) in before.chunks(16).enumerate() {
        let same_after = after.and_then(|a| a.get(n * 16..n * 16 + row.len())).filter(|a| *a != row);
        if row.iter().all(|b| *b == 0) && same_after.is_none() {
            zeros += row.len();
            continue;
        }
        let _ = write!(out, "      {:04x}  {}", n * 16, hex::text(row));
        if let Some(after) = same_after {
            let _ = write!(out, " -> {}", hex::text(after));
        }
        out.push('\n');
    }
    if zeros > 0 {
        let _ = writeln!(out, "      ({zeros} further bytes are 0)");
    }
}

/// The lines after the calls: what could not be read.
#[must_use]
pub fn footer(run: &Run) -> String {
    let mut out = String::new();
    for reason in &run.skipped {
        let _ = writeln!(out, "not read: {}", printable(reason));
    }
    if run.skipped_count > run.skipped.len() {
        let _ = writeln!(out, "not read: {} more lines", run.skipped_count - run.skipped.len());
    }
    out
}
