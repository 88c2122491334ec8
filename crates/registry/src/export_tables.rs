//! `api/export-tables/tables.toml`: what is known of the tables that cuGetExportTable hands out.

use crate::error::{Error, Source};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::Path;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    table: Vec<RawTable>,
}

/// All fields are read so that a wrong word in any of them is an error.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
struct RawTable {
    #[serde(rename = "const")]
    constant: Spanned<String>,
    uuid: Spanned<String>,
    owner: Owner,
    sized: bool,
    words: Vec<u32>,
    copy: Copy,
    about: String,
    #[serde(default)]
    slot: Vec<Slot>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Owner {
    Driver,
    Runtime,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Copy {
    Yes,
    No,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
struct Slot {
    n: Spanned<u32>,
    about: String,
}

pub(crate) struct Table {
    pub(crate) constant: String,
    pub(crate) uuid: [u8; 16],
    pub(crate) text: String,
    pub(crate) about: String,
}

pub(crate) fn read(path: &Path) -> Result<Vec<Table>, Error> {
    tables(&Source::read(path)?)
}

fn tables(source: &Source) -> Result<Vec<Table>, Error> {
    let raw: Raw = source.parse()?;
    let mut seen = BTreeSet::new();
    let mut out = Vec::new();
    for table in raw.table {
        let (constant, at) = (table.constant.get_ref(), table.constant.span().start);
        if constant.is_empty() || !constant.bytes().all(|b| b.is_ascii_uppercase() || b == b'_') {
            return Err(source.error(at, format!("const is \"{constant}\", expected a name like CALLBACK_TABLE")));
        }
        let (text, at) = (table.uuid.get_ref(), table.uuid.span().start);
        let Some(uuid) = parse_uuid(text) else {
            let message = format!("uuid is \"{text}\", expected 8-4-4-4-12 hexadecimal digits");
            return Err(source.error(at, message));
        };
        if !seen.insert(text.clone()) || !seen.insert(constant.clone()) {
            return Err(source.error(at, format!("{constant} or its uuid stands here a second time")));
        }
        let words = table.words.iter().max().copied().unwrap_or(u32::MAX);
        if let Some(slot) = table.slot.iter().find(|s| *s.n.get_ref() >= words) {
            let message = format!("slot {} of a table of {words} words", slot.n.get_ref());
            return Err(source.error(slot.n.span().start, message));
        }
        out.push(Table { constant: constant.clone(), uuid, text: text.clone(), about: table.about });
    }
    Ok(out)
}

fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let groups: Vec<&str> = text.split('-').collect();
    if groups.iter().map(|g| g.len()).ne([8, 4, 4, 4, 12]) {
        return None;
    }
    let digits = groups.concat();
    let mut uuid = [0; 16];
    for (n, byte) in uuid.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(2 * n..2 * n + 2)?, 16).ok()?;
    }
    Some(uuid)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[[table]]\nconst = \"A_TABLE\"\nuuid = \"a094798c-2e74-2e74-93f2-0800200c0a66\"\n\
        owner = \"driver\"\nsized = true\nwords = [7]\ncopy = \"yes\"\nabout = \"x\"\n";

    fn outcome(text: &str) -> Result<Vec<Table>, String> {
        tables(&Source { path: "t.toml".into(), text: text.into() }).map_err(|e| e.to_string())
    }

    #[test]
    fn bytes_in_the_order_of_the_text() {
        let tables = outcome(GOOD).unwrap();
        assert_eq!(tables[0].uuid, *b"\xa0\x94\x79\x8c\x2e\x74\x2e\x74\x93\xf2\x08\x00\x20\x0c\x0a\x66");
    }

    #[test]
    fn errors_name_file_and_line() {
        let short = GOOD.replace("0800200c0a66", "0800");
        let said = outcome(&short).err().unwrap();
        assert!(said.starts_with("t.toml:3: uuid is \"a094798c-2e74-2e74-93f2-0800\", expected 8-4"), "{said}");
        let slot = format!("{GOOD}[[table.slot]]\nn = 7\nabout = \"x\"\n");
        assert_eq!(outcome(&slot).err().unwrap(), "t.toml:10: slot 7 of a table of 7 words");
    }
}
