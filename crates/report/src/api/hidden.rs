//! `cutap api` of the tables that cuGetExportTable returns, and of their slots.

use super::Unknown;
use cutap_calls::generated::export_tables::TABLES;
use cutap_calls::hidden::{DRIVERS, Owner, Slot, Table, Treatment, parse, source, table_named};
use serde_json::{Value, json};
use std::fmt::Write;

/// The word for all tables, as a library.
pub(super) const FAMILY: &str = "hidden";

/// All tables and the slots of which something is known, one a line.
pub(super) fn list(json: bool) -> String {
    let mut out = String::new();
    for table in TABLES {
        match json {
            true => writeln!(out, "{}", table_object(table)),
            false => writeln!(out, "{}  {:18} {}", table.text, lengths(table), table.about),
        }
        .unwrap_or_default();
        for slot in table.slots {
            match json {
                true => writeln!(out, "{}", slot_object(table, slot)),
                false => writeln!(out, "  {:16} {}", format!("{}[{}]", table.short(), slot.number), summary(slot)),
            }
            .unwrap_or_default();
        }
    }
    out
}

fn summary(slot: &Slot) -> String {
    format!("{}: {}", if slot.name.is_empty() { "unknown" } else { slot.name }, slot.about)
}

/// A slot, or a table by the first digits of its UUID; `None`: the name is of neither form. Both may be written as in a
/// filter: `hidden:21318c60[51]`, `21318c60[*]`.
pub(super) fn describe(name: &str, json: bool) -> Option<Result<String, Unknown>> {
    let name = name.strip_prefix("hidden:").unwrap_or(name);
    let name = name.strip_suffix("[*]").unwrap_or(name);
    let refused = |why: String| Some(Err(Unknown { near: Vec::new(), why: Some(why) }));
    let (short, number) = match parse(name) {
        Some((short, number)) => (short, Some(number)),
        None if name.len() >= 8 && name.bytes().all(|c| c == b'-' || c.is_ascii_hexdigit()) => (name, None),
        None => return None,
    };
    let Some(table) = table_named(short) else {
        return refused(format!(
            "cutap knows no export table {short}; cutap api --list hidden lists those that it knows"
        ));
    };
    let Some(number) = number else {
        return Some(Ok(if json { format!("{}\n", table_object(table)) } else { table_text(table) }));
    };
    let longest = table.words.into_iter().max().unwrap_or(0);
    if longest > 0 && number >= longest {
        let short = table.short();
        return refused(format!(
            "nothing is known of {short}[{number}]: table {short} has at most {longest} words in the known drivers"
        ));
    }
    const NOTHING: Slot = Slot { number: 0, name: "", parameters: "", status: false, about: "", source: "" };
    let nothing = Slot { number, ..NOTHING };
    let slot = table.slot(number).unwrap_or(&nothing);
    Some(Ok(if json { format!("{}\n", slot_object(table, slot)) } else { slot_text(table, slot) }))
}

fn slot_text(table: &Table, slot: &Slot) -> String {
    let mut out = format!("{}[{}] (hidden)\n", table.short(), slot.number);
    let mut line = |text: String| writeln!(out, "  {text}").unwrap_or_default();
    if slot.name.is_empty() && slot.about.is_empty() {
        line("unknown".to_owned());
    } else {
        let returns = if slot.status { "CUresult" } else { "?" };
        let parameters = if slot.parameters.is_empty() { "?" } else { slot.parameters };
        line(format!("{returns} {}({parameters})", slot.name));
        line(slot.about.to_owned());
        line(format!("source: {}", source(slot.source)));
    }
    line(format!("table {}: {}", table.text, if table.about.is_empty() { "unknown" } else { table.about }));
    out
}

fn table_text(table: &Table) -> String {
    let mut out = format!("{} (hidden)\n", table.text);
    let mut line = |text: String| writeln!(out, "  {text}").unwrap_or_default();
    line(if table.about.is_empty() { "unknown".to_owned() } else { table.about.to_owned() });
    line(format!("words: {}", lengths(table)));
    if !table.asked_by.is_empty() {
        line(format!("requested by: {}", table.asked_by.join(", ")));
    }
    line(treatment(table).to_owned());
    for slot in table.slots {
        line(format!("[{}] {}", slot.number, summary(slot)));
    }
    out
}

/// How cutap treats it.
fn treatment(table: &Table) -> &'static str {
    match (table.owner, table.treatment) {
        (Owner::Runtime, _) => "answered by each copy of the runtime, not by the driver; never changed",
        (_, Treatment::Wrapped) => "its words are replaced in place with -e hidden",
        (_, Treatment::Runtime) => "it is how the runtime layer sees calls",
        (_, Treatment::Left) => "never changed",
    }
}

/// `470: 68, 535: 77`.
fn lengths(table: &Table) -> String {
    let known_tables = DRIVERS.into_iter().zip(table.words).filter(|(_, words)| *words > 0);
    let text: Vec<String> = known_tables.map(|(driver, words)| format!("{driver}: {words}")).collect();
    if text.is_empty() { "length unknown".to_owned() } else { text.join(", ") }
}

fn table_object(table: &Table) -> Value {
    let words = DRIVERS.into_iter().zip(table.words).filter(|(_, words)| *words > 0);
    let words: serde_json::Map<String, Value> = words.map(|(driver, n)| (driver.to_string(), n.into())).collect();
    json!({
        "type": "table",
        "uuid": table.text,
        "about": (!table.about.is_empty()).then_some(table.about),
        "sized": table.sized,
        "words": words,
        "requested_by": table.asked_by,
        "treatment": treatment(table),
    })
}

fn slot_object(table: &Table, slot: &Slot) -> Value {
    let text = |text: &'static str| (!text.is_empty()).then_some(text);
    json!({
        "type": "function",
        "family": FAMILY,
        "name": format!("{}[{}]", table.short(), slot.number),
        "known_as": text(slot.name),
        "parameters": text(slot.parameters),
        "returns": slot.status.then_some("CUresult"),
        "about": text(slot.about),
        "source": text(source(slot.source)),
        "table": table.text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_and_tables() {
        let said = describe("21318c60[51]", false).unwrap().unwrap();
        assert!(said.contains("CUresult inner_stream(CUcontext ctx, CUstream stream"), "{said}");
        assert!(said.contains("source: ") && said.contains("21318c60-9714-3248-8ca6-41ff7324c8f2"), "{said}");
        assert!(describe("21318c60[50]", false).unwrap().unwrap().contains("\n  unknown\n"));
        let why = |name| describe(name, false).unwrap().unwrap_err().why.unwrap();
        assert_eq!(
            why("21318c60[93]"),
            "nothing is known of 21318c60[93]: table 21318c60 has at most 93 words in the known drivers"
        );
        assert!(why("00000000[1]").starts_with("cutap knows no export table 00000000; "));
        assert_eq!(describe("hidden:21318c60[51]", false).unwrap().unwrap(), said);
        assert_eq!(describe("21318c60[*]", true), describe("21318c60", true));
        assert!(describe("cuInit", false).is_none());
        let table = describe("21318c60", false).unwrap().unwrap();
        assert!(table.contains("470: 68") && table.contains("[51] inner_stream"), "{table}");
        let object: Value = serde_json::from_str(&describe("21318c60[51]", true).unwrap().unwrap()).unwrap();
        assert_eq!(object["known_as"], "inner_stream");
        let all = list(false);
        assert!(all.lines().count() > 100 && all.contains("  21318c60[51]"), "{all}");
        assert!(list(true).lines().all(|l| serde_json::from_str::<Value>(l).is_ok()));
    }
}
