//! `api/export-tables/tables.toml`: what is known of the tables that cuGetExportTable hands out.

use crate::error::{Error, Source};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    #[serde(default)]
    sources: BTreeMap<String, String>,
    table: Vec<RawTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTable {
    #[serde(rename = "const")]
    constant: Option<Spanned<String>>,
    uuid: Spanned<String>,
    #[serde(default = "driver")]
    owner: String,
    #[serde(default = "yes")]
    sized: bool,
    words: Option<Spanned<Vec<u32>>>,
    treatment: Option<Spanned<String>>,
    #[serde(default)]
    asked_by: Vec<String>,
    #[serde(default)]
    about: String,
    #[serde(default)]
    slot: Vec<RawSlot>,
}

fn driver() -> String {
    "driver".into()
}
fn yes() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSlot {
    n: Spanned<u32>,
    #[serde(rename = "const")]
    constant: Option<Spanned<String>>,
    #[serde(default)]
    name: String,
    #[serde(default)]
    parameters: String,
    #[serde(default)]
    status: bool,
    #[serde(default)]
    about: String,
    source: Option<Spanned<String>>,
}

pub(crate) struct Slot {
    pub(crate) n: u32,
    pub(crate) constant: Option<String>,
    pub(crate) name: String,
    pub(crate) parameters: String,
    pub(crate) status: bool,
    pub(crate) about: String,
    pub(crate) source: String,
}

pub(crate) struct Table {
    pub(crate) constant: Option<String>,
    pub(crate) uuid: [u8; 16],
    pub(crate) text: String,
    pub(crate) owner: &'static str,
    pub(crate) sized: bool,
    /// As `cutap_calls::hidden::DRIVERS` counts the drivers; 0: none.
    pub(crate) words: [u32; DRIVERS],
    pub(crate) treatment: &'static str,
    pub(crate) asked_by: Vec<String>,
    pub(crate) about: String,
    pub(crate) slots: Vec<Slot>,
}

/// Drivers whose lengths `words` has.
pub(crate) const DRIVERS: usize = 5;

pub(crate) struct Tables {
    pub(crate) sources: BTreeMap<String, String>,
    pub(crate) tables: Vec<Table>,
}

pub(crate) fn read(path: &Path) -> Result<Tables, Error> {
    tables(&Source::read(path)?)
}

fn tables(source: &Source) -> Result<Tables, Error> {
    let raw: Raw = source.parse()?;
    let mut listed = BTreeSet::new();
    let mut out = Vec::new();
    for table in raw.table {
        let (text, at) = (table.uuid.get_ref(), table.uuid.span().start);
        let Some(uuid) = parse_uuid(text) else {
            let message = format!("uuid is \"{text}\", expected 8-4-4-4-12 hexadecimal digits");
            return Err(source.error(at, message));
        };
        if !listed.insert(text.clone()) {
            return Err(source.error(at, format!("{text} stands here a second time")));
        }
        let constants = table.slot.iter().filter_map(|slot| slot.constant.as_ref());
        for constant in table.constant.iter().chain(constants) {
            let name = constant.get_ref();
            if name.is_empty()
                || !name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
                || !listed.insert(name.clone())
            {
                let message = format!("const is \"{name}\", expected a name like CALLBACK_TABLE that stands once");
                return Err(source.error(constant.span().start, message));
            }
        }
        let owner = match table.owner.as_str() {
            "driver" => "Driver",
            "runtime" => "Runtime",
            other => return Err(source.error(at, format!("owner is \"{other}\", expected driver or runtime"))),
        };
        let treatment = match table.treatment.as_ref().map_or("wrapped", |t| t.get_ref()) {
            "wrapped" => "Wrapped",
            "runtime" => "Runtime",
            "left" => "Left",
            other => {
                let message = format!("treatment is \"{other}\", expected wrapped, runtime or left");
                let at = table.treatment.as_ref().map_or(at, |t| t.span().start);
                return Err(source.error(at, message));
            }
        };
        let (given, at) = table.words.map_or((Vec::new(), at), |w| (w.get_ref().clone(), w.span().start));
        if given.len() > DRIVERS {
            return Err(source.error(at, format!("more than {DRIVERS} drivers")));
        }
        let mut words = [0; DRIVERS];
        words.iter_mut().zip(&given).for_each(|(to, from)| *to = *from);
        let most = given.iter().max().copied().filter(|most| *most > 0).unwrap_or(u32::MAX);
        if let Some(slot) = table.slot.iter().find(|s| *s.n.get_ref() >= most) {
            let message = format!("slot {} of a table of {most} words", slot.n.get_ref());
            return Err(source.error(slot.n.span().start, message));
        }
        let unknown = |key: &&Spanned<String>| !raw.sources.contains_key(key.get_ref());
        if let Some(key) = table.slot.iter().filter_map(|s| s.source.as_ref()).find(unknown) {
            let message = format!("source is \"{}\", which [sources] does not have", key.get_ref());
            return Err(source.error(key.span().start, message));
        }
        let mut slots: Vec<Slot> = table
            .slot
            .into_iter()
            .map(|s| Slot {
                n: s.n.into_inner(),
                constant: s.constant.map(Spanned::into_inner),
                name: s.name,
                parameters: s.parameters,
                status: s.status,
                about: s.about,
                source: s.source.map(Spanned::into_inner).unwrap_or_default(),
            })
            .collect();
        slots.sort_by_key(|slot| slot.n);
        out.push(Table {
            constant: table.constant.map(Spanned::into_inner),
            uuid,
            text: text.clone(),
            owner,
            sized: table.sized,
            words,
            treatment,
            asked_by: table.asked_by,
            about: table.about,
            slots,
        });
    }
    Ok(Tables { sources: raw.sources, tables: out })
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

    const GOOD: &str = "[sources]\nours = \"x\"\n[[table]]\nconst = \"A_TABLE\"\n\
        uuid = \"a094798c-2e74-2e74-93f2-0800200c0a66\"\nwords = [7]\n";

    fn outcome(text: &str) -> Result<Tables, String> {
        tables(&Source { path: "t.toml".into(), text: text.into() }).map_err(|e| e.to_string())
    }

    #[test]
    fn bytes_in_the_order_of_the_text() {
        let tables = outcome(GOOD).unwrap().tables;
        assert_eq!(tables[0].uuid, *b"\xa0\x94\x79\x8c\x2e\x74\x2e\x74\x93\xf2\x08\x00\x20\x0c\x0a\x66");
        assert_eq!((tables[0].words, tables[0].treatment), ([7, 0, 0, 0, 0], "Wrapped"));
    }

    #[test]
    fn errors_name_file_and_line() {
        let short = GOOD.replace("0800200c0a66", "0800");
        let said = outcome(&short).err().unwrap();
        assert!(said.starts_with("t.toml:5: uuid is \"a094798c-2e74-2e74-93f2-0800\", expected 8-4"), "{said}");
        let slot = |n: u32, source: &str| format!("{GOOD}[[table.slot]]\nn = {n}\nsource = \"{source}\"\n");
        assert_eq!(outcome(&slot(7, "ours")).err().unwrap(), "t.toml:8: slot 7 of a table of 7 words");
        assert_eq!(
            outcome(&slot(6, "other")).err().unwrap(),
            "t.toml:9: source is \"other\", which [sources] does not have"
        );
        assert!(outcome(&slot(6, "ours")).is_ok());
    }
}
