//! The text of `functions.toml` and `types.toml`: compact, and the same for the same facts.

use crate::defines::Value;
use crate::merge::{Function, Param};
use crate::merge_types::{Layout, Types};
use crate::naming::Naming;
use crate::write_shared;
use std::collections::BTreeMap;
use std::fmt::Write;

const WIDTH: usize = 118;

/// What stands at the top of a file.
pub(crate) struct Head<'a> {
    pub(crate) versions: &'a [String],
    pub(crate) headers: &'a [String],
    pub(crate) title: &'a str,
}

impl Head<'_> {
    fn text(&self) -> String {
        let mut text =
            format!("# {}. Written by `cargo xtask import`; corrections go to overlay.toml.\n\n", self.title);
        let versions: Vec<String> = self.versions.iter().map(|v| format!("\"{v}\"")).collect();
        filled(&mut text, "versions = [", &versions, "]");
        let _ = writeln!(text, "source = \"{}; wheels: api/sources.toml\"", self.headers.join(", "));
        text
    }

    /// `first` and `last` where they are not the ends.
    pub(crate) fn span(&self, text: &mut String, first: usize, last: usize) {
        for (word, at, end) in [("first", first, 0), ("last", last, self.versions.len() - 1)] {
            if at != end {
                let version = self.versions.get(at).map_or("", String::as_str);
                let _ = writeln!(text, "{word} = \"{version}\"");
            }
        }
    }
}

/// `functions.toml`; with `shared`, prototypes with the names that have them.
pub(crate) fn functions(head: &Head<'_>, functions: &[Function], shared: bool) -> String {
    let mut text = head.text();
    let (together, alone) =
        if shared { write_shared::split(functions) } else { (Vec::new(), functions.iter().collect()) };
    together.iter().for_each(|group| write_shared::prototype(&mut text, head, group));
    for function in alone {
        let _ = writeln!(text, "\n[[function]]\nname = \"{}\"", function.name);
        if let Some(base) = &function.base {
            let _ = writeln!(text, "base = \"{base}\"");
        }
        head.span(&mut text, function.first, function.last);
        if !function.forms.is_empty() {
            let forms: Vec<String> = function.forms.iter().map(|f| format!("\"{f}\"")).collect();
            let _ = writeln!(text, "forms = [{}]", forms.join(", "));
        }
        let _ = writeln!(text, "returns = \"{}\"", function.returns);
        let params: Vec<String> = function.params.iter().map(param).collect();
        filled(&mut text, "params = [", &params, "]");
        for (form, ids) in &function.callbacks {
            let key = if form.is_empty() { "callback".to_owned() } else { format!("callback{form}") };
            let _ = writeln!(text, "{key} = {}", callback(head, ids));
        }
    }
    text
}

fn param(param: &Param) -> String {
    let mut text = format!("{{ name = \"{}\", type = \"{}\"", param.name, param.ty);
    if let Some(dir) = param.facts.dir {
        let _ = write!(text, ", dir = \"{dir}\"");
    }
    if param.facts.bytes {
        text.push_str(", unit = \"bytes\"");
    }
    text.push_str(" }");
    text
}

/// One number, or the number by version where it changed (each from that version on).
fn callback(head: &Head<'_>, ids: &BTreeMap<usize, u32>) -> String {
    let mut changes: Vec<(usize, u32)> = Vec::new();
    for (at, id) in ids {
        if changes.last().is_none_or(|last| last.1 != *id) {
            changes.push((*at, *id));
        }
    }
    match changes[..] {
        [(_, id)] => id.to_string(),
        _ => {
            let rows = changes.iter().map(|(at, id)| format!("\"{}\" = {id}", head.versions[*at]));
            format!("{{ {} }}", rows.collect::<Vec<_>>().join(", "))
        }
    }
}

/// `types.toml`.
pub(crate) fn types(head: &Head<'_>, types: &Types, naming: &Naming) -> String {
    let mut text = head.text();
    for (name, found) in &types.enums {
        let _ = writeln!(text, "\n[[enum]]\nname = \"{name}\"");
        also(&mut text, naming, name);
        if is_flags(name, &found.values) {
            text.push_str("flags = true\n");
        }
        if found.bytes != 4 {
            let _ = writeln!(text, "bytes = {}", found.bytes);
        }
        let values = found.values.iter().map(|(name, value, since)| match since {
            0 => format!("[\"{name}\", {value}]"),
            since => format!("[\"{name}\", {value}, \"{}\"]", head.versions[*since]),
        });
        filled(&mut text, "values = [", &values.collect::<Vec<_>>(), "]");
    }
    for (name, tag) in &types.handles {
        let _ = writeln!(text, "\n[[handle]]\nname = \"{name}\"\ntag = \"{tag}\"");
    }
    for (name, layouts) in &types.records {
        for layout in layouts {
            record(&mut text, head, naming, name, layout);
        }
    }
    for (name, ty) in &types.typedefs {
        let _ = writeln!(text, "\n[[typedef]]\nname = \"{name}\"\ntype = \"{ty}\"");
    }
    for (name, value) in &types.defines {
        let value = match value {
            Value::Number(n) => n.to_string(),
            Value::Text(t) => format!("\"{t}\""),
        };
        let _ = writeln!(text, "\n[[define]]\nname = \"{name}\"\nvalue = {value}");
    }
    text
}

fn record(text: &mut String, head: &Head<'_>, naming: &Naming, name: &str, layout: &Layout) {
    let _ = writeln!(text, "\n[[{}]]\nname = \"{name}\"", if layout.union { "union" } else { "struct" });
    also(text, naming, name);
    head.span(text, layout.first, layout.last);
    let _ = writeln!(text, "size = {}", layout.size);
    let fields = layout.fields.iter().map(|(name, ty, place)| {
        let bits = place.bits.map_or(String::new(), |(at, width)| format!(", bit = {at}, bits = {width}"));
        format!("{{ name = \"{name}\", type = \"{ty}\", offset = {}{bits} }}", place.offset)
    });
    filled(text, "fields = [", &fields.collect::<Vec<_>>(), "]");
}

fn also(text: &mut String, naming: &Naming, name: &str) {
    let names: Vec<String> = naming.also(name).into_iter().map(|n| format!("\"{n}\"")).collect();
    if !names.is_empty() {
        filled(text, "also = [", &names, "]");
    }
}

/// A set of bits: named so, or at least four single bits and not more than one sum of them. Values that count
/// (1, 2, 3) are no bits, whatever the name is.
fn is_flags(name: &str, values: &[(String, i64, usize)]) -> bool {
    let single = |v: i64| v > 0 && v.count_ones() == 1;
    let bits: std::collections::BTreeSet<i64> = values.iter().map(|v| v.1).filter(|v| single(*v)).collect();
    let all = bits.iter().fold(0, |all, bit| all | bit);
    let combined = || values.iter().map(|v| v.1).filter(|v| *v != 0 && !single(*v));
    if bits.is_empty() || combined().any(|v| v & !all != 0 || v == 3) {
        return false;
    }
    let name = name.to_lowercase();
    let named = name.contains("flag") || name.contains("mask");
    named || (bits.len() >= 4 && bits.iter().any(|b| *b >= 8) && combined().count() <= 1)
}

/// A list on one line where it fits, else on lines filled up to the width.
pub(crate) fn filled(text: &mut String, open: &str, items: &[String], close: &str) {
    let line = format!("{open}{}{close}", items.join(", "));
    if line.len() <= WIDTH {
        text.push_str(&line);
        text.push('\n');
        return;
    }
    text.push_str(open);
    text.push('\n');
    let mut line = String::new();
    for item in items {
        if !line.is_empty() && line.len() + item.len() + 4 > WIDTH {
            text.push_str(&line);
            text.push('\n');
            line.clear();
        }
        line.push_str(if line.is_empty() { "  " } else { " " });
        line.push_str(item);
        line.push(',');
    }
    text.push_str(&line);
    text.push('\n');
    text.push_str(close);
    text.push('\n');
}
