//! The mappings of device nodes: where, how much, what for, and which CUDA call made them.

use crate::error::{Error, Result};
use crate::objects::{Mapping, Object, Objects};
use crate::tree::bytes;
use std::fmt::Write;

/// What a mapping is for, as far as objects tell.
#[must_use]
pub fn purpose(mapping: &Mapping, objects: &Objects) -> String {
    if mapping.node.is_empty() {
        return "reserved addresses".to_owned();
    }
    if objects.is_in_pool(mapping.pid, mapping.address) {
        return "semaphores".to_owned();
    }
    let Some(object) = mapping.object.and_then(|key| objects.newest(key)) else {
        return match mapping.node.as_str() {
            "/dev/nvidia-uvm" => "UVM range".to_owned(),
            _ => "unknown: its MAP_MEMORY was not seen".to_owned(),
        };
    };
    if object.name.contains("USERMODE") {
        let bar1 = object.facts.iter().any(|(name, value)| *name == "bBar1Mapping" && *value != 0);
        return format!("doorbell, {} ({})", object.name, if bar1 { "BAR1" } else { "register BAR" });
    }
    let uses = uses(object, objects);
    let kind = match object.class {
        0x3e => "system memory",
        0x40 => "video memory, through BAR1",
        0x71 => "the program's own pages",
        _ => object.name,
    };
    match uses.is_empty() {
        true => kind.to_owned(),
        false => format!("{}; {kind}", uses.join(", ")),
    }
}

/// What channels and submitted work use a piece of memory for.
fn uses(memory: &Object, objects: &Objects) -> Vec<String> {
    let fact = |o: &Object, name: &str| o.facts.iter().find(|(n, _)| *n == name).map(|(_, value)| *value);
    let (mut userd, mut fifo, mut notifier) = (0, 0, 0);
    for channel in objects.channels_beside(memory) {
        let is = |name: &str| fact(channel, name) == Some(u64::from(memory.key.handle));
        userd += usize::from(is("hUserdMemory"));
        notifier += usize::from(is("hObjectError"));
        let at = fact(channel, "gpFifoOffset").unwrap_or(0);
        fifo += usize::from(memory.gpu.iter().any(|(from, len)| at >= *from && at - from < *len));
    }
    let named = [(fifo, "GPFIFO"), (userd, "USERD"), (notifier, "error notifiers")];
    let of_channels = named.iter().filter(|(n, _)| *n > 0);
    let of_channels =
        of_channels.map(|(n, what)| if *n == 1 { (*what).to_owned() } else { format!("{what} of {n} channels") });
    // No request says what is a pushbuffer: only what was submitted does.
    let has = |at: u64| memory.gpu.iter().any(|(from, len)| at >= *from && at - from < *len);
    let mut own = objects.submitted.iter().filter(|s| s.pid == memory.key.pid);
    let commands = own.clone().any(|s| s.commands.iter().any(|(at, _)| has(*at)));
    let semaphores = own.any(|s| s.semaphores.iter().any(|at| has(*at)));
    let submitted = [(commands, "pushbuffers"), (semaphores, "semaphores")];
    let submitted = submitted.into_iter().filter(|(is, _)| *is).map(|(_, what)| what.to_owned());
    of_channels.chain(submitted).collect()
}

/// The lines of a run.
#[must_use]
pub fn text(objects: &Objects) -> String {
    let mut out = String::new();
    let several = objects.mappings.iter().any(|m| objects.mappings.first().is_some_and(|f| f.pid != m.pid));
    for mapping in &objects.mappings {
        if several {
            let _ = write!(out, "[{}] ", mapping.pid);
        }
        let node =
            if mapping.node.is_empty() { "-" } else { mapping.node.strip_prefix("/dev/").unwrap_or(&mapping.node) };
        let right = |bit: u32, letter: char| if mapping.protection & bit == 0 { '-' } else { letter };
        let _ = write!(
            out,
            "{:#014x} {:>9} {}{} {node:<12} ",
            mapping.address,
            bytes(mapping.length),
            right(1, 'r'),
            right(2, 'w')
        );
        out.push_str(&purpose(mapping, objects));
        if let Some(key) = mapping.object {
            let _ = write!(out, ", object {:#010x}", key.handle);
        }
        if let Some(made_in) = &mapping.made_in {
            let _ = write!(out, "  [{}]", cutap_printable::printable(made_in));
        }
        out.push_str(if mapping.is_unmapped { "  unmapped\n" } else { "\n" });
    }
    if out.is_empty() {
        out.push_str("no device node was mapped\n");
    }
    out
}

/// The mappings of device nodes of a process that was not recorded.
///
/// # Errors
/// There is no such process, or it may not be read.
pub fn of_process(pid: u32) -> Result<String> {
    let file = format!("/proc/{pid}/maps");
    let text = std::fs::read_to_string(&file).map_err(|error| {
        Error::new(match error.kind() {
            std::io::ErrorKind::NotFound => format!("there is no process {pid}; give the number of one that runs"),
            std::io::ErrorKind::PermissionDenied => {
                format!(
                    "process {pid} may not be read: it belongs to another user, or this one lacks CAP_SYS_PTRACE; run \
                     cutap syscall maps as its user, or as root"
                )
            }
            _ => format!("cannot read {file}: {error}; give the number of a process that runs"),
        })
    })?;
    let mut out = String::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(range), Some(rights), Some(path)) = (words.next(), words.next(), words.nth(3)) else { continue };
        if !path.starts_with("/dev/nvidia") {
            continue;
        }
        let bounds = range.split_once('-').map(|(a, b)| (u64::from_str_radix(a, 16), u64::from_str_radix(b, 16)));
        let Some((Ok(from), Ok(to))) = bounds else { continue };
        let (rights, node) = (rights.get(..2).unwrap_or("--"), path.strip_prefix("/dev/").unwrap_or(path));
        let _ = writeln!(out, "{from:#014x} {:>9} {rights} {node}", bytes(to.saturating_sub(from)));
    }
    if out.is_empty() {
        let _ = writeln!(out, "process {pid} maps no device node of NVIDIA");
    }
    Ok(out)
}
