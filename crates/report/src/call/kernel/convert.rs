//! An ended call of the layer `syscall` as a `KernelCall`.

use cutap_kernel::{Action, Ioctl, KernelCall, OpenFlags, Parent, Piece, SystemCall};
use cutap_rm::{DEFAULT_RELEASE, Device, Tables, escape_of};
use cutap_trace::decode::Value;
use cutap_trace::{Call, Exit, Frame, Layer, Pieces, State};
use std::collections::BTreeMap;

/// The call, with its time counted from `begin_ns`. None where it belongs to another layer.
#[must_use]
pub fn kernel_call(exit: &Exit, begin_ns: u64) -> Option<KernelCall> {
    let call = &exit.call;
    if call.function.layer != Layer::SYSCALL {
        return None;
    }
    let pieces = call.pieces();
    let words = call.args.words();
    let word = |n: usize| words.get(n).copied().unwrap_or(0);
    let file = pieces.file.as_deref().map_or_else(String::new, |file| node(file).to_owned());
    let name = &*call.function.name;
    let action = match SystemCall::of_function(name) {
        Some(SystemCall::File(file_call)) => file_call.action(std::array::from_fn(word), file),
        Some(SystemCall::Ioctl) => Action::Ioctl(ioctl(words, file, &pieces)),
        Some(SystemCall::Open(open)) => {
            let flags = if let OpenFlags::Word(n) = open.flags { word(n) } else { 0 };
            let path = text(call.inputs().get(open.path)).unwrap_or_default();
            Action::Open { path, flags: flags & 0xffff_ffff, stream: String::new() }
        }
        None => library_action(exit, name, &pieces),
    };
    Some(KernelCall {
        pid: call.thread.process.pid,
        tid: call.thread.tid,
        time_ns: Some(call.start_ns.saturating_sub(begin_ns)),
        duration_ns: exit.duration_ns,
        result: (exit.state == State::Returned).then(|| result(exit, &pieces)),
        parent: call.enclosing_call().map(parent),
        stack: call.stack().map(|stack| stack.frames.iter().map(frame).collect()).unwrap_or_default(),
        ..KernelCall::new(action)
    })
}

/// The action of a function of the C library that is no system call.
fn library_action(exit: &Exit, name: &str, pieces: &Pieces) -> Action {
    let inputs = exit.call.inputs();
    let first = text(inputs.first()).unwrap_or_default();
    match name {
        "getenv" | "secure_getenv" => Action::Getenv {
            name: first,
            value: text(exit.value.as_deref()),
            reader: pieces.caller.as_deref().unwrap_or_default().to_owned(),
        },
        // fopen, fopen64
        _ => Action::Open {
            path: first,
            flags: 0,
            stream: text(inputs.get(1)).filter(|mode| !mode.is_empty()).unwrap_or_else(|| "?".to_owned()),
        },
    }
}

/// The device node of a file. A model of the driver hands out memory files that have the names of nodes.
fn node(file: &str) -> &str {
    let memory = file.strip_prefix("/memfd:/dev/").map(|_| &file["/memfd:".len()..]);
    memory.map_or(file, |name| name.strip_suffix(" (deleted)").unwrap_or(name))
}

/// An error as a negative number.
fn result(exit: &Exit, pieces: &Pieces) -> i64 {
    let low = exit.result as u32 as i32;
    match (&*exit.call.function.name, pieces.errno) {
        (_, Some(errno)) if low == -1 => -i64::from(errno),
        ("mmap" | "mmap64" | "getenv" | "secure_getenv", _) => exit.result.cast_signed(),
        // A stream is no descriptor, and why it could not be opened is in errno alone.
        ("fopen" | "fopen64", errno) => {
            if exit.result == 0 {
                -i64::from(errno.unwrap_or(2))
            } else {
                0
            }
        }
        _ => i64::from(low),
    }
}

fn frame(frame: &Frame) -> String {
    let object = frame.object.as_deref().unwrap_or("?");
    match &frame.function {
        Some((name, Some(offset))) => format!("{name}+{offset:#x} ({object})"),
        Some((name, None)) => format!("{name} ({object})"),
        None => format!("{object}+{:#x}", frame.offset),
    }
}

fn parent(around: &Call) -> Parent {
    Parent { name: around.function.name.to_string(), id: Some(around.start_ns) }
}

/// The text that a value leads to.
fn text(value: Option<&Value>) -> Option<String> {
    match value?.target() {
        Value::Text(text) => Some(text.text.to_string()),
        _ => None,
    }
}

fn ioctl(words: &[u64], path: String, pieces: &Pieces) -> Ioctl {
    let word = |n: usize| words.get(n).copied().unwrap_or(0);
    let (fd, request, argument) = (word(0) as u32 as i32, word(1) & 0xffff_ffff, word(2));
    let size = match Device::of_path(&path) {
        Some(device @ (Device::Uvm | Device::UvmTools)) => {
            let size = tables(pieces).and_then(|tables| tables.argument_size(device, request as u32));
            size.unwrap_or(usize::MAX)
        }
        _ => escape_of(request as u32).1,
    };
    let before = pieces.before(argument, size);
    let after = pieces.after(argument, size).filter(|after| before.as_ref() != Some(after));
    // What pointers lead to: each piece once, with what it became.
    let mut memory: BTreeMap<u64, Piece> = BTreeMap::new();
    for piece in pieces.memory.iter().filter(|p| p.address != argument) {
        let len = piece.bytes.len();
        let before = pieces.before(piece.address, len).unwrap_or_else(|| vec![0; len]);
        let after = pieces.after(piece.address, before.len().max(len)).filter(|after| *after != before);
        let entry = memory.entry(piece.address).or_default();
        if entry.before.len() <= before.len() {
            *entry = Piece { address: piece.address, before, after };
        }
    }
    let memory = memory.into_values().collect();
    Ioctl { fd, path, request, argument, before, after, memory, partial: false }
}

fn tables(pieces: &Pieces) -> Option<Tables> {
    let version = pieces.driver.as_deref().unwrap_or(DEFAULT_RELEASE);
    cutap_rm::Tables::select(version).map(|found| found.tables)
}
