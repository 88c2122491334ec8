//! What the tables have about one command of the kernel driver: an escape, an RM control, a class, a UVM command. It
//! reads no run.

use crate::select::is;
use cutap_rm::{Record, Tables};
use serde_json::{Value, json};
use std::fmt::Write;

/// A command of one release.
#[derive(Debug, Clone, Copy)]
struct Command {
    kind: &'static str,
    name: &'static str,
    number: u32,
    /// 0: unknown, or none.
    bytes: usize,
    params: Option<Record>,
}

/// Of more commands only the names are written.
const FEW: usize = 5;

/// What a name or number means, in text or as lines of JSON: all commands that have it. None where there is none.
#[must_use]
pub fn describe(word: &str, json: bool) -> Option<String> {
    // The newest release has the most commands; of those that it dropped an older one knows.
    Tables::all().collect::<Vec<_>>().into_iter().rev().find_map(|tables| {
        let commands: Vec<Command> = all(tables).filter(|c| is(word, c.name, c.number)).collect();
        let short = commands.len() > FEW;
        let write = |command: &Command| match json {
            true => format!("{}\n", object(command, tables.release())),
            false if short => format!("{}: {} {:#x}\n", command.name, command.kind, command.number),
            false => text(command, tables.release()),
        };
        let separator = if json || short { "" } else { "\n" };
        (!commands.is_empty()).then(|| commands.iter().map(write).collect::<Vec<_>>().join(separator))
    })
}

fn all(tables: Tables) -> impl Iterator<Item = Command> {
    let command = |kind, name, number, bytes, params| Command { kind, name, number, bytes, params };
    let escapes = tables.escapes().map(move |e| {
        let params = e.params(0);
        command("escape", e.name(), e.number(), params.map_or(0, Record::size), params)
    });
    let controls = tables.controls().map(move |c| command("RM control", c.name(), c.number(), c.size(), c.params()));
    let classes = tables.classes().map(move |c| command("class", c.name(), c.number(), c.size(), c.params()));
    let uvm = tables.uvm_commands().map(move |u| command("UVM command", u.name(), u.number(), u.size(), u.params()));
    escapes.chain(controls).chain(classes).chain(uvm)
}

fn text(command: &Command, release: &str) -> String {
    let Command { kind, name, number, bytes, params } = command;
    let of = params.map_or_else(String::new, |record| format!(" {}", record.name()));
    let size = if *bytes == 0 { String::new() } else { format!(", {bytes} bytes{of}") };
    let mut out = format!("{name}: {kind} {number:#x} of the kernel driver (release {release}){size}\n");
    for field in params.iter().flat_map(|record| record.fields()) {
        let counts: String = field.counts().map(|count| format!("[{count}]")).collect();
        // Writing to a string does not fail.
        let _ =
            writeln!(out, "  {:>6}  {} {}{counts}", format!("{:#x}", field.offset()), field.type_name(), field.name());
    }
    let flag = if *kind == "class" { "--class" } else { "--command" };
    let _ = writeln!(out, "  calls of it: cutap syscall trace {flag} {name} ./app");
    out
}

fn object(command: &Command, release: &str) -> Value {
    let Command { kind, name, number, bytes, params } = command;
    let fields: Vec<Value> = params
        .iter()
        .flat_map(|record| record.fields())
        .map(|f| json!({"name": f.name(), "type": f.type_name(), "offset": f.offset(), "bytes": f.size()}))
        .collect();
    json!({
        "type": "kernel_command", "kind": kind, "name": name, "number": number, "bytes": bytes, "release": release,
        "fields": fields,
    })
}

#[cfg(test)]
mod tests {
    use super::describe;

    #[test]
    fn by_name_and_by_number() {
        let said = describe("NV_ESC_RM_FREE", false).unwrap();
        assert!(said.starts_with("NV_ESC_RM_FREE: escape 0x29 of the kernel driver"), "{said}");
        let said = describe("0x2080014a", false).unwrap();
        assert!(said.starts_with("NV2080_CTRL_CMD_GPU_GET_GID_INFO: RM control 0x2080014a"), "{said}");
        assert!(said.contains("268 bytes"), "{said}");
        assert_eq!(describe("gpu_get_gid_info", false).as_deref(), Some(&*said), "the end of a name");
        let classes = describe("HOPPER_CHANNEL_GPFIFO_A", true).unwrap();
        let line: serde_json::Value = serde_json::from_str(&classes).unwrap();
        assert_eq!((line["kind"].as_str(), line["number"].as_u64()), (Some("class"), Some(0xc86f)));
        assert_eq!(describe("cudaMalloc", false), None);
    }
}
