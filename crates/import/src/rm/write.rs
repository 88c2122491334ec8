//! The text of `numbers.toml` and `structs.toml`: the same for the same facts, and of a release that differs little
//! from another one only the difference.

use super::release::{Record, Release, Rows, SECTIONS};
use std::fmt::Write;

impl Release {
    /// `numbers.toml` and `structs.toml`, as the difference from `base` where one is given.
    pub(crate) fn texts(&self, base: Option<&Self>) -> (String, String) {
        let empty = Self::default();
        let old = base.unwrap_or(&empty);
        let head = |what: &str| {
            let mut text = format!(
                "# {what} of NVIDIA's open kernel modules. Written by `cargo xtask import-rm`; corrections go to overlay.toml.\n\n\
                 release = \"{}\"\n",
                self.version
            );
            if let Some(base) = base {
                let _ = writeln!(text, "base = \"{}\"", base.version);
            }
            text
        };
        let mut numbers = head("Names and numbers");
        let none = Rows::new();
        let mut removed = String::new();
        for (section, words) in SECTIONS {
            let (was, is) = (old.rows.get(section).unwrap_or(&none), self.rows.get(section).unwrap_or(&none));
            let changed: Vec<(&String, &String)> = is.iter().filter(|(k, v)| was.get(*k) != Some(v)).collect();
            let gone: Vec<&String> = was.keys().filter(|k| !is.contains_key(*k)).collect();
            if !changed.is_empty() {
                let rows = sorted(changed.iter().map(|(k, v)| format!("{k} {v}").trim_end().to_owned()));
                list(&mut numbers, &format!("# {words}\n{section}"), &rows);
            }
            if !gone.is_empty() {
                list(&mut removed, section, &sorted(gone.into_iter().cloned()));
            }
        }
        if !removed.is_empty() {
            numbers.push_str("\n[removed]\n");
            numbers.push_str(removed.trim_start());
        }
        let mut structs = head("Layouts of structs and unions");
        let gone: Vec<String> = old.records.keys().filter(|k| !self.records.contains_key(*k)).cloned().collect();
        if !gone.is_empty() {
            list(&mut structs, "removed", &gone);
        }
        for (name, record) in self.records.iter().filter(|(k, v)| old.records.get(*k) != Some(v)) {
            record.write(name, &mut structs);
        }
        (numbers, structs)
    }
}

impl Record {
    fn write(&self, name: &str, text: &mut String) {
        let word = if self.union { "union" } else { "struct" };
        let _ = writeln!(text, "\n[[{word}]]\nname = \"{name}\"");
        if !self.also.is_empty() {
            let _ = writeln!(text, "also = {:?}", self.also);
        }
        let _ = writeln!(text, "size = {}", self.size);
        match self.fields[..] {
            [] => text.push_str("fields = []\n"),
            [ref one] => {
                let _ = writeln!(text, "fields = [\"{one}\"]");
            }
            _ => list(text, "fields", &self.fields),
        }
    }
}

fn list(text: &mut String, key: &str, rows: &[String]) {
    if !text.is_empty() && key != "fields" {
        text.push('\n');
    }
    let _ = writeln!(text, "{key} = [");
    for row in rows {
        let _ = writeln!(text, "  \"{row}\",");
    }
    text.push_str("]\n");
}

/// By number where the first words are numbers.
fn sorted(rows: impl Iterator<Item = String>) -> Vec<String> {
    let number = |row: &String| {
        let word = row.split(' ').next().unwrap_or("");
        word.strip_prefix("0x").map_or_else(|| word.parse().ok(), |hex| u64::from_str_radix(hex, 16).ok())
    };
    let mut rows: Vec<String> = rows.collect();
    rows.sort_by(|a, b| number(a).cmp(&number(b)).then_with(|| a.cmp(b)));
    rows
}
