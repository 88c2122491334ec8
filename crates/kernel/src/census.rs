//! Counts of a run by command and class, with time and route, and every number that no table explains.

use crate::call::{Action, Run};
use crate::decode::Decoder;
use crate::formats::{is_of_system, without_ids};
use crate::nvproxy::{Answer, Nvproxy};
use cutap_rm::{Call, Device, Remark, Subject};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// One kind of request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Count {
    /// How often.
    pub calls: u64,
    /// How often with a status or result other than success.
    pub failed: u64,
    /// Nanoseconds in it.
    pub ns: u64,
    /// The GSP handles it.
    pub gsp: bool,
    /// The open kernel module's word on who may.
    pub privilege: &'static str,
}

/// The counts of one or several runs.
#[derive(Debug, Clone, Default)]
pub struct Census {
    /// By kind (`escape`, `control`, `class`, `older class`, `uvm`, `modeset`) and number: the name.
    pub rows: BTreeMap<(&'static str, u32), (String, Count)>,
    /// Numbers that no table explains, with how often each was sent.
    pub unknown: BTreeMap<(&'static str, u32), u64>,
    /// Controls whose size is not the table's: number, the table's bytes, the bytes that were sent.
    pub sizes: BTreeSet<(u32, usize, usize)>,
    /// Device nodes.
    pub nodes: BTreeSet<String>,
    /// Files under /proc, /sys and /dev that are no device nodes of NVIDIA.
    pub files: BTreeSet<String>,
    /// Environment variables, mappings and other calls.
    pub other_actions: BTreeMap<&'static str, u64>,
    /// Whether any call has a duration.
    pub has_times: bool,
    /// Whether opening of files was recorded.
    pub has_opens: bool,
    /// Whether a run was recorded from inside, where only opens by CUDA's libraries are seen.
    pub from_inside: bool,
}

/// How all of it is recorded.
const RECORD: &str = "cutap record -e syscall PROG keeps them";

impl Census {
    /// Adds a run.
    pub fn add(&mut self, run: &Run, decoder: &Decoder) {
        self.from_inside |= run.head.source.as_deref() == Some("preload");
        for call in &run.calls {
            self.has_times |= call.duration_ns.is_some();
            self.has_opens |= matches!(call.action, Action::Open { .. });
            match &call.action {
                Action::Ioctl(ioctl) if Device::of_path(&ioctl.path).is_some() => {
                    self.nodes.insert(ioctl.path.clone());
                    let decoded = decoder.decode(ioctl, call.result);
                    self.request(&decoded, call.duration_ns.unwrap_or(0));
                }
                Action::Ioctl(_) => *self.other_actions.entry("ioctls of other files").or_default() += 1,
                Action::Open { path, .. } => {
                    let into = if path.starts_with("/dev/nvidia") { &mut self.nodes } else { &mut self.files };
                    if is_of_system(path) && call.result.is_none_or(|r| r >= 0) {
                        into.insert(without_ids(path));
                    }
                }
                Action::Close { .. } | Action::Dup { .. } => {}
                Action::Mmap { path, .. } => {
                    let of_node = path.starts_with("/dev/nvidia");
                    *self
                        .other_actions
                        .entry(if of_node { "mappings of nodes" } else { "other mappings" })
                        .or_default() += 1;
                }
                Action::Munmap { .. } => *self.other_actions.entry("unmappings").or_default() += 1,
                Action::Getenv { .. } => *self.other_actions.entry("variables read").or_default() += 1,
            }
        }
    }

    fn request(&mut self, call: &Call, ns: u64) {
        let kind = match call.device {
            Device::Control | Device::Gpu => "escape",
            Device::Uvm | Device::UvmTools => "uvm",
            Device::Modeset => "modeset",
            Device::Other => "other",
        };
        let failed = call.statuses.iter().any(|status| status.code != 0);
        self.count(kind, call.number, call.name, failed, ns, false, "");
        match call.subject {
            Subject::Control(number, control) => {
                let gsp = control.is_some_and(|c| c.goes_to_gsp());
                let privilege = control.map_or("", |c| privilege(c.privilege()));
                self.count("control", number, control.map_or("", |c| c.name()), failed, ns, gsp, privilege);
            }
            Subject::Class(number, class) => {
                let gsp = class.is_some_and(|c| c.goes_to_gsp());
                let privilege = class.map_or("", |c| privilege(c.privilege()));
                // Of nvproxy's list of classes only those of NV_ESC_RM_ALLOC are meant.
                let kind = if call.name == "NV_ESC_RM_ALLOC" { "class" } else { "older class" };
                self.count(kind, number, class.map_or("", |c| c.name()), failed, ns, gsp, privilege);
            }
            Subject::None => {}
        }
        for remark in &call.remarks {
            let (kind, number) = match *remark {
                Remark::UnknownControl(number) => ("control", number),
                Remark::UnknownClass(number) => ("class", number),
                Remark::UnknownRequest(number) => (kind, number),
                Remark::Size { expected, sent } => {
                    if let Subject::Control(number, _) = call.subject {
                        self.sizes.insert((number, expected, sent));
                    }
                    continue;
                }
                _ => continue,
            };
            *self.unknown.entry((kind, number)).or_default() += 1;
        }
    }

    #[allow(clippy::too_many_arguments)] // The words of one row.
    fn count(
        &mut self,
        kind: &'static str,
        number: u32,
        name: &str,
        failed: bool,
        ns: u64,
        gsp: bool,
        privilege: &'static str,
    ) {
        let (_, count) = self.rows.entry((kind, number)).or_insert_with(|| (name.to_owned(), Count::default()));
        count.calls += 1;
        count.failed += u64::from(failed);
        count.ns += ns;
        (count.gsp, count.privilege) = (gsp, privilege);
    }

    /// The table, with the numbers that are not understood.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::new();
        for (kind, title) in [
            ("escape", "escapes"),
            ("control", "RM controls"),
            ("class", "classes"),
            ("older class", "classes of older escapes, such as NV_ESC_RM_ALLOC_MEMORY"),
            ("uvm", "UVM commands"),
            ("modeset", "modeset commands"),
            ("other", "requests of other nodes"),
        ] {
            let mut rows: Vec<_> = self.rows.iter().filter(|((k, _), _)| *k == kind).collect();
            if rows.is_empty() {
                continue;
            }
            rows.sort_by_key(|(_, (_, count))| std::cmp::Reverse(count.calls));
            let calls: u64 = rows.iter().map(|(_, (_, c))| c.calls).sum();
            let _ = writeln!(out, "{title}: {} in {calls} calls", rows.len());
            out.push_str("   calls  failed     time us  route      number  name\n");
            for ((_, number), (name, count)) in rows {
                let route = match (count.gsp, count.privilege) {
                    (true, "") => "GSP".to_owned(),
                    (true, privilege) => format!("GSP {privilege}"),
                    (false, privilege) => privilege.to_owned(),
                };
                let name = if name.is_empty() { "(no table has it)" } else { name };
                let _ = writeln!(
                    out,
                    "{:>8} {:>7} {:>11}  {route:<9} {number:>#10x}  {name}",
                    count.calls,
                    count.failed,
                    if self.has_times { format!("{:.1}", micro(count.ns)) } else { "-".to_owned() }
                );
            }
        }
        for (what, n) in &self.other_actions {
            let _ = writeln!(out, "{what}: {n}");
        }
        if self.rows.is_empty() {
            let _ = writeln!(out, "no request went to a device node: {RECORD}, on a machine with a GPU");
        } else if !self.has_times {
            let _ = writeln!(out, "no times: the input has none; {RECORD}");
        }
        let _ = writeln!(out, "not understood: {}", self.unknown.len());
        for ((kind, number), n) in &self.unknown {
            let _ = writeln!(out, "  {kind} {number:#010x}, {n} times{}", why(kind, *number));
        }
        for (number, expected, sent) in &self.sizes {
            let _ = writeln!(out, "  control {number:#010x}: {sent} bytes were sent, the table has {expected}");
        }
        out
    }

    /// What a sandbox must permit, in the terms of gVisor's nvproxy, and what this nvproxy refuses.
    #[must_use]
    pub fn allow_list(&self, nvproxy: Nvproxy) -> String {
        let mut out = format!(
            "# What a sandbox must permit for these runs, in the terms of gVisor's nvproxy.\n\
             # nvproxy here: {}.\n\
             # After each request: the sandbox needs one of these capabilities.\n",
            nvproxy.description()
        );
        let (mut refused, mut more) = (Vec::new(), Vec::new());
        let sections = [
            ("escape", "frontend ioctls"),
            ("uvm", "uvm ioctls"),
            ("control", "control commands"),
            ("class", "allocation classes"),
            ("modeset", "modeset commands"),
        ];
        for (kind, title) in sections {
            let _ = writeln!(out, "[{title}]");
            if !self.rows.keys().any(|(k, _)| *k == kind) {
                out.push_str("# none in these runs\n");
            }
            for ((_, number), (name, _)) in self.rows.iter().filter(|((k, _), _)| *k == kind) {
                let name = match name.as_str() {
                    "" => Nvproxy::name(kind, *number).unwrap_or("(unknown)"),
                    name => name,
                };
                let answer = nvproxy.answer(kind, *number);
                let _ = writeln!(out, "{number:#010x} {name}  # {answer}");
                let row = format!("{number:#010x} {name} ({kind})\n");
                match answer {
                    Answer::Refuses => refused.push(row),
                    Answer::Permits(capabilities) if !capabilities.contains("compute") => more.push(row),
                    Answer::Permits(_) | Answer::Opaque => {}
                }
            }
        }
        out.push_str("[device nodes]\n");
        let mut put = |line: &str| out.extend([&*cutap_printable::printable(line), "\n"]);
        self.nodes.iter().for_each(|node| put(node));
        put("[files]");
        if self.from_inside {
            put("# opened by CUDA's libraries; cutap syscall trace --ptrace --json has all files of the program");
        }
        self.files.iter().for_each(|file| put(file));
        match (self.has_opens, self.files.is_empty()) {
            (false, _) => put(&format!("# not known: the input has no call that opens a file; {RECORD}")),
            (true, true) => put("# none in these runs"),
            (true, false) => {}
        }
        for (title, rows) in [("refused by nvproxy", refused), ("needs more than compute and utility", more)] {
            let _ = writeln!(out, "[{title}: {}]", rows.len());
            out.extend(rows);
        }
        out
    }
}

fn privilege(of: cutap_rm::Privilege) -> &'static str {
    match of {
        cutap_rm::Privilege::Unknown | cutap_rm::Privilege::Any => "",
        cutap_rm::Privilege::Admin => "root",
        cutap_rm::Privilege::Rights => "rights",
        cutap_rm::Privilege::Kernel => "kernel",
        cutap_rm::Privilege::Internal => "internal",
    }
}

/// Why no table explains a number, where that is known.
fn why(kind: &str, number: u32) -> &'static str {
    match (kind, number) {
        ("control", n) if n >> 16 == 0x2081 || n >> 16 == 0x2082 => {
            ": BINAPI, forwarded to the GSP, named nowhere in public"
        }
        ("control", n) if n & 0x8000 != 0 => ": GSS legacy, forwarded to the GSP, named nowhere in public",
        _ => "",
    }
}

#[allow(clippy::cast_precision_loss)] // A sum of times in a table.
fn micro(ns: u64) -> f64 {
    ns as f64 / 1e3
}
