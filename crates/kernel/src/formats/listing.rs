//! Reads the two logs of the cudest proof. One has lines `IO ...` with hexadecimal bytes without their last zeros. The
//! other is a listing made from it: `3 0.987 9.6 fd9 nvidiactl CONTROL 00000101 NAME obj=... size=40 st=0 pin=...`. A
//! listing does not have all bytes, so what it lacks is 0 and the call is marked as partial.

use super::argument_size;
use crate::call::{Action, Head, Ioctl, KernelCall, Parent, Piece, Run};
use crate::hex;
use cutap_rm::{Params, Tables, escape_request};
use std::collections::BTreeMap;

/// A listing has no addresses: the one of all parameters.
const PARAMETERS: u64 = 0x1000;
/// Digits after which the listing cuts off the parameters of a control, of a class, of a UVM command.
const CUT: [usize; 4] = [160, 420, 128, 100];

pub(super) fn is_line(line: &str) -> bool {
    line.starts_with("MARK ") || line.starts_with("IO ") || Line::of(line).is_some()
}

pub(super) fn read(text: &str) -> Run {
    let source = Some("listing".to_owned());
    let mut run = Run { head: Head { source, ..Head::default() }, ..Run::default() };
    let mut mark: Option<String> = None;
    for (number, line) in text.lines().enumerate() {
        let call = match line.split(' ').next() {
            Some("MARK") => {
                mark = line.split(' ').nth(3).map(str::to_owned);
                continue;
            }
            Some("MAP" | "DUMP" | "DUMPED" | "") | None => continue,
            Some("MMAP") => mapping(line),
            _ => Line::of(line).and_then(|line| line.call()),
        };
        match call {
            Some(mut call) => {
                call.parent = mark.clone().map(|name| Parent { name, id: None });
                run.calls.push(call);
            }
            // Output of the program itself is between the lines.
            None if line.contains(" fd") || line.starts_with("IO ") => run.skip(number + 1, "no complete call"),
            None => {}
        }
    }
    run
}

fn milliseconds(text: &str) -> Option<u64> {
    nanoseconds(text, 1e6)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // The range is checked.
fn nanoseconds(text: &str, unit: f64) -> Option<u64> {
    let value: f64 = text.parse().ok()?;
    (0.0..1e12).contains(&value).then_some((value * unit) as u64)
}

fn mapping(line: &str) -> Option<KernelCall> {
    let fields = fields(line);
    let get = |name: &str| fields.get(name).and_then(|text| u64::from_str_radix(text, 16).ok());
    let words: Vec<&str> = line.split(' ').collect();
    let node = words.iter().position(|w| w.starts_with("fd=")).and_then(|at| words.get(at + 1))?;
    let address = fields.get("ad").and_then(|text| hex::number(text)).unwrap_or(0);
    let action = Action::Mmap {
        fd: fields.get("fd")?.parse().ok()?,
        path: if *node == "anon" { String::new() } else { format!("/dev/{node}") },
        address,
        length: get("len")?,
        protection: u32::try_from(get("prot")?).ok()?,
        flags: u32::try_from(get("flags")?).ok()?,
        offset: get("off")?,
    };
    let result = words.last().and_then(|w| hex::number(w)).map(u64::cast_signed);
    let time_ns = words.get(1).and_then(|w| milliseconds(w));
    Some(KernelCall { result, time_ns, ..KernelCall::new(action) })
}

/// `name=value` words.
fn fields(line: &str) -> BTreeMap<&str, &str> {
    line.split(' ').filter_map(|word| word.split_once('=')).collect()
}

/// The parts that both logs have.
struct Line<'a> {
    time_ns: Option<u64>,
    duration_ns: Option<u64>,
    fd: i32,
    path: String,
    /// The words after the node: of the listing its name for the request.
    rest: Vec<&'a str>,
    fields: BTreeMap<&'a str, &'a str>,
}

impl<'a> Line<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let mut words = line.split(' ');
        let fields = fields(line);
        let first = words.next()?;
        if first == "IO" {
            let time_ns = words.nth(1).and_then(milliseconds);
            let mut rest = words.skip_while(|w| !w.starts_with("fd="));
            let fd = rest.next()?.strip_prefix("fd=")?.parse().ok()?;
            let path = format!("/dev/{}", rest.next()?);
            let duration_ns = fields.get("us").and_then(|t| nanoseconds(t, 1e3));
            return Some(Self { time_ns, duration_ns, fd, path, rest: Vec::new(), fields });
        }
        first.parse::<u64>().ok()?;
        let time_ns = Some(milliseconds(words.next()?)?);
        let duration_ns = Some(nanoseconds(words.next()?, 1e3)?);
        let fd = words.next()?.strip_prefix("fd")?.parse().ok()?;
        let path = format!("/dev/{}", words.next().filter(|n| n.starts_with("nvidia"))?);
        Some(Self { time_ns, duration_ns, fd, path, rest: words.collect(), fields })
    }

    fn call(&self) -> Option<KernelCall> {
        let mut ioctl = Ioctl { fd: self.fd, path: self.path.clone(), argument: 1, ..Ioctl::default() };
        let result = if self.rest.is_empty() { self.raw(&mut ioctl)? } else { self.listed(&mut ioctl)? };
        let (time_ns, duration_ns) = (self.time_ns, self.duration_ns);
        Some(KernelCall { result: Some(result), time_ns, duration_ns, ..KernelCall::new(Action::Ioctl(ioctl)) })
    }

    /// Of the log with all bytes.
    fn raw(&self, ioctl: &mut Ioctl) -> Option<i64> {
        ioctl.argument = 0;
        ioctl.request = u64::from_str_radix(self.fields.get("rq")?, 16).ok()?;
        let size = argument_size(&self.path, ioctl.request)?;
        let mut before = self.bytes("in")?;
        // 64 bytes of a UVM argument were captured.
        if !self.path.contains("uvm") || size <= 64 {
            before.resize(size, 0);
        }
        let mut after = self.bytes("out")?;
        after.resize(before.len(), 0);
        if let (Some(mut own), Some((address, wanted))) = (self.bytes("pin"), parameters(ioctl.request, &before)) {
            own.resize(wanted.clamp(own.len(), 4096), 0);
            let after = self.bytes("pout").map(|mut after| {
                after.resize(own.len(), 0);
                after
            });
            ioctl.memory.push(Piece { address, before: own, after });
        }
        ioctl.after = (after != before).then_some(after);
        ioctl.before = Some(before);
        self.fields.get("ret")?.parse().ok()
    }

    fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        // The proof replaced the UUID of its GPU.
        hex::bytes(&self.fields.get(name)?.replace("UUID", &"0".repeat(32)))
    }

    fn hex(&self, name: &str) -> u64 {
        let text = self.fields.get(name).copied().unwrap_or("0");
        u64::from_str_radix(text.split("->").next().unwrap_or_default(), 16).unwrap_or(0)
    }

    /// Of the listing.
    fn listed(&self, ioctl: &mut Ioctl) -> Option<i64> {
        ioctl.partial = true;
        let tables = Tables::of_default_release()?;
        let kind = *self.rest.first()?;
        if kind == "UVM" {
            let command = tables.uvm_named(self.rest.get(1)?)?;
            ioctl.request = command.number().into();
            ioctl.before = Some(padded(self.bytes("in")?, command.size(), CUT[2] / 2));
            return Some(0);
        }
        let number = match kind {
            "CONTROL" => 0x2a,
            "ALLOC" => 0x2b,
            "FREE" => 0x29,
            "MAP_MEMORY" => 0x4e,
            "ALLOC_MEMORY" => 0x27,
            "UPD_MAP" => 0x5e,
            "CARD_INFO" => 200,
            "REGISTER_FD" => 201,
            "ALLOC_OS_EVENT" => 206,
            "SYS_PARAMS" => 214,
            "NUMA_INFO" => 215,
            _ => return None,
        };
        // RM_ALLOC has two forms; libcuda sends the one with 48 bytes.
        let escape = tables.escape(number)?;
        let record = match kind {
            "ALLOC" => tables.record("NVOS64_PARAMETERS")?,
            _ => escape.params(0)?,
        };
        let size = if kind == "CARD_INFO" { record.size() * 32 } else { record.size() };
        ioctl.request = escape_request(u8::try_from(number).ok()?, size).into();
        let mut params = Params::of(record);
        let after;
        let fd = self.fields.get("fd").and_then(|t| t.parse::<i32>().ok()).unwrap_or(-1);
        let mut set = |pairs: &[(&str, u64)]| {
            for (name, value) in pairs {
                // A field that the release does not have stays 0.
                let _ = params.set(name, *value);
            }
            params.clone()
        };
        match kind {
            "CONTROL" => {
                let cmd = u64::from_str_radix(self.rest.get(1)?, 16).ok()?;
                let size = self.fields.get("size")?.parse::<usize>().ok()?;
                set(&[("hObject", self.hex("obj")), ("cmd", cmd), ("paramsSize", size as u64)]);
                self.parameters(ioctl, size, CUT[0] / 2);
                let at = ioctl.memory.first().map_or(0, |m| m.address);
                set(&[("params", at)]);
                after = set(&[("status", self.hex("st"))]);
                set(&[("status", 0)]);
            }
            "ALLOC" => {
                let class = u64::from_str_radix(self.rest.get(1)?, 16).ok()?;
                set(&[("hObjectParent", self.hex("parent")), ("hObjectNew", self.hex("new")), ("hClass", class)]);
                let size = tables.class(u32::try_from(class).ok()?).map_or(0, |c| c.size());
                self.parameters(ioctl, size, CUT[1] / 2);
                let at = ioctl.memory.first().map_or(0, |m| m.address);
                let before = set(&[("pAllocParms", at)]);
                let new = self.fields.get("new").and_then(|t| t.split("->").nth(1));
                let new = new.and_then(|t| u64::from_str_radix(t, 16).ok()).unwrap_or(0);
                after = set(&[("hObjectNew", new), ("status", self.hex("st"))]);
                params = before;
            }
            "MAP_MEMORY" => {
                set(&[("params.hDevice", self.hex("dev")), ("params.hMemory", self.hex("mem"))]);
                set(&[("params.offset", self.hex("off")), ("params.length", self.hex("len"))]);
                set(&[("params.flags", self.hex("flags")), ("fd", fd.cast_unsigned().into())]);
                after = set(&[("params.status", self.hex("st"))]);
                set(&[("params.status", 0)]);
            }
            "ALLOC_MEMORY" => {
                set(&[("params.hClass", self.hex("cls")), ("params.hObjectNew", self.hex("new"))]);
                set(&[("params.flags", self.hex("flags")), ("params.pMemory", self.hex("p"))]);
                set(&[("params.limit", self.hex("limit")), ("fd", fd.cast_unsigned().into())]);
                after = set(&[("params.status", self.hex("st"))]);
                set(&[("params.status", 0)]);
            }
            _ => {
                ioctl.before = Some(padded(self.bytes("in")?, size, CUT[3] / 2));
                return Some(0);
            }
        }
        ioctl.before = Some(params.bytes().to_vec());
        ioctl.after = Some(after.bytes().to_vec()).filter(|a| Some(a) != ioctl.before.as_ref());
        Some(0)
    }

    /// The memory to which the request's pointer leads.
    fn parameters(&self, ioctl: &mut Ioctl, size: usize, cut: usize) {
        let Some(before) = self.bytes("pin").filter(|b| !b.is_empty() || self.fields.contains_key("size")) else {
            return;
        };
        if size == 0 {
            return;
        }
        let before = padded(before, size, cut);
        let after = self.bytes("pout").filter(|b| !b.is_empty()).map(|b| padded(b, size, cut.min(150)));
        ioctl.memory.push(Piece { address: PARAMETERS, before, after });
    }
}

/// The bytes with their zeros again, unless the listing cut them off. Never more than `size`.
fn padded(mut bytes: Vec<u8>, size: usize, cut: usize) -> Vec<u8> {
    if bytes.len() < cut {
        bytes.resize(size.max(bytes.len()), 0);
    }
    bytes.truncate(size);
    bytes
}

/// Address and size of the parameters of a control or a class.
fn parameters(request: u64, argument: &[u8]) -> Option<(u64, usize)> {
    let tables = Tables::all().last()?;
    let (record, pointer, size) = match (request & 0xff, argument.len()) {
        (0x2a, _) => ("NVOS54_PARAMETERS", "params", "paramsSize"),
        (0x2b, 48) => ("NVOS64_PARAMETERS", "pAllocParms", "paramsSize"),
        (0x2b, _) => ("NVOS21_PARAMETERS", "pAllocParms", "paramsSize"),
        _ => return None,
    };
    let number = |field| tables.place(record, field).ok()?.take(argument);
    Some((number(pointer)?, usize::try_from(number(size)?).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_with_all_bytes() {
        let text = "MARK 0.001 ioctls=0 cuInit\nIO 3 1.5 us=9.6 fd=9 nvidiactl rq=c020462a nr=2a ret=0 \
            in=1b00d0c11b00d0c10101000000000000001000000000000028 \
            out=1b00d0c11b00d0c10101000000000000001000000000000028 \
            pin=50 pout=51\nMMAP 11.453 ad=(nil) len=10000 prot=2 flags=1 fd=16 nvidia0 off=0 -> 0x7fc5289a3000\n";
        let run = read(text);
        assert_eq!((run.calls.len(), run.skipped_count), (2, 0));
        let Action::Ioctl(ioctl) = &run.calls[0].action else { panic!() };
        assert_eq!((ioctl.before.as_ref().unwrap().len(), ioctl.after.as_ref()), (32, None));
        assert_eq!((ioctl.memory[0].address, ioctl.memory[0].before.len()), (0x1000, 40));
        assert_eq!((run.calls[0].time_ns, run.calls[0].duration_ns), (Some(1_500_000), Some(9_600)));
        assert_eq!(run.calls[0].parent.as_ref().unwrap().name, "cuInit");
        assert!(
            matches!(&run.calls[1].action, Action::Mmap { fd: 16, length: 0x10000, path, .. } if path == "/dev/nvidia0")
        );
    }
}
