//! The rows of a release, understood: controls, classes, escapes, UVM commands, statuses.

use super::overlay::{Kinds, Overlay};
use super::release::{Release, Rows, order};
use super::resolve::{NONE, Once, Shared, Types};
use std::collections::BTreeMap;

/// What a control or class demands of its caller, in the order of `rm`'s `Privilege`.
const PRIVILEGES: [&str; 7] = ["unknown", "any", "admin", "rights", "kernel", "internal", "unstated"];
/// Bits of a row, in the order of `rm`'s `Properties`.
const PROPERTIES: [&str; 12] = [
    "gsp",
    "vgpu_host",
    "cacheable",
    "cacheable_by_input",
    "copyout_on_error",
    "no_gpus_lock",
    "no_gpus_access",
    "test_only",
    "unregistered",
    "handler",
    "required",
    "optional",
];
/// Who handles a UVM command, in the order of `rm`'s `Handler`.
const HANDLERS: [&str; 4] = ["none", "uvm", "tools", "test"];

/// A number with a name, and what is known of it. One form for all sections, so that they pack alike.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Row {
    pub(super) number: u32,
    pub(super) name: String,
    pub(super) params: String,
    pub(super) record: u32,
    /// A second record that it may have instead.
    pub(super) alternative: u32,
    pub(super) size: u32,
    pub(super) privilege: u8,
    pub(super) properties: u32,
    pub(super) rights: u32,
}

/// What `rm` has of one release: places among the shared rows, and names of records.
pub(super) struct Own {
    pub(super) version: String,
    /// In the order of `LISTS`.
    pub(super) lists: Vec<Vec<u32>>,
    pub(super) names: Vec<u32>,
}

/// The sections of rows that pack, in this order.
pub(super) const LISTS: [&str; 6] = ["escapes", "controls", "classes", "uvm", "statuses", "modeset"];

/// All that packs.
pub(super) struct Tables {
    pub(super) shared: Shared,
    pub(super) rows: Once<Row>,
    /// A name and its record.
    pub(super) names: Once<(String, u32)>,
    pub(super) releases: Vec<Own>,
    /// Branch of the driver; CUDA's major and minor number.
    pub(super) cuda: Vec<[u32; 3]>,
}

impl Tables {
    pub(super) fn of(releases: &[Release], overlay: &Overlay, kinds: &Kinds) -> Result<Self, String> {
        let mut tables = Self {
            shared: Shared::default(),
            rows: Once::default(),
            names: Once::default(),
            releases: Vec::new(),
            cuda: Vec::new(),
        };
        for release in releases {
            let mut types = Types::of(release, overlay, kinds, &mut tables.shared);
            let mut names = types.all()?;
            let mut lists = Vec::new();
            for section in LISTS {
                let none = Rows::new();
                let mut section_rows = Vec::new();
                for (key, row) in release.rows.get(section).unwrap_or(&none) {
                    let wrong = |what: &str| format!("api/kernel/{}: {section}: {key}: {what}", release.version);
                    let mut parsed =
                        row_of(section, key, row, overlay).ok_or_else(|| wrong("this row is not understood"))?;
                    // A release may lack the struct of an escape: it came or went with a later one.
                    parsed.1.retain(|name| section != "escapes" || types.has(name));
                    for (name, record) in parsed.1.iter().zip([&mut parsed.0.record, &mut parsed.0.alternative]) {
                        *record = types.record(name)?;
                        if *record != NONE {
                            names.entry(name.clone()).or_insert(*record);
                        }
                    }
                    section_rows.push(parsed.0);
                }
                section_rows.sort();
                lists.push(section_rows);
            }
            let lists =
                lists.into_iter().map(|rows| rows.into_iter().map(|row| tables.rows.put(row)).collect()).collect();
            let names = names.into_iter().map(|row| tables.names.put(row)).collect();
            tables.releases.push(Own { version: release.version.clone(), lists, names });
            for name in overlay.escapes.keys() {
                let has = |r: &Release| r.rows.get("escapes").is_some_and(|rows| rows.values().any(|n| n == name));
                if !releases.iter().any(has) {
                    return Err(format!("api/kernel/overlay.toml: no release has the escape {name}"));
                }
            }
        }
        tables.cuda = cuda(&overlay.cuda)?;
        tables.releases.sort_by_key(|r| order(&r.version));
        Ok(tables)
    }
}

fn cuda(rows: &BTreeMap<String, String>) -> Result<Vec<[u32; 3]>, String> {
    let wrong = |branch: &str| format!("api/kernel/overlay.toml: cuda: {branch} has no CUDA version such as \"13.0\"");
    let row = |(branch, version): (&String, &String)| {
        let (major, minor) = version.split_once('.')?;
        Some([branch.parse().ok()?, major.parse().ok()?, minor.parse().ok()?])
    };
    rows.iter().map(|pair| row(pair).ok_or_else(|| wrong(pair.0))).collect()
}

/// A row, and the names of its records.
fn row_of(section: &str, key: &str, text: &str, overlay: &Overlay) -> Option<(Row, Vec<String>)> {
    let number = match key.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => key.parse().ok()?,
    };
    let mut words = text.split(' ');
    let name = words.next()?.to_owned();
    let mut row = Row { number, name, record: NONE, alternative: NONE, ..Row::default() };
    let mut records = Vec::new();
    match section {
        "escapes" => {
            let of = overlay.escapes.get(&row.name).map(Vec::as_slice).unwrap_or_default();
            row.properties = u32::from(of.iter().any(|r| r == "[]"));
            records.extend(of.iter().filter(|r| *r != "[]").cloned());
        }
        "controls" | "classes" | "uvm" => {
            words.next()?.clone_into(&mut row.params);
            row.size = words.next()?.parse().ok()?;
            records.push(row.params.clone());
            for word in words {
                if let Some(at) = PRIVILEGES.iter().position(|p| *p == word).filter(|_| section != "uvm") {
                    row.privilege = u8::try_from(at).ok()?;
                } else if let Some(at) = PROPERTIES.iter().position(|p| *p == word) {
                    row.properties |= 1 << at;
                } else if let Some(rights) = word.strip_prefix("rights=0x") {
                    row.rights = u32::from_str_radix(rights, 16).ok()?;
                } else if let Some(at) = HANDLERS.iter().position(|h| *h == word).filter(|_| section == "uvm") {
                    row.privilege = u8::try_from(at).ok()?;
                } else if !["none", "unlisted"].contains(&word) {
                    return None;
                }
            }
        }
        _ => {}
    }
    Some((row, records))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_row() {
        let overlay: Overlay =
            toml::from_str("pointers = []\n[escapes]\nE = [\"A\", \"[]\"]\n[cuda]\n[kinds]\n").unwrap();
        let (row, records) = row_of("controls", "0x10", "NAME P 4 admin gsp rights=0x2", &overlay).unwrap();
        assert_eq!((row.number, row.size, row.privilege, row.properties, row.rights), (16, 4, 2, 1, 2));
        assert_eq!(records, ["P"]);
        assert!(row_of("controls", "0x10", "NAME P 4 admin other", &overlay).is_none());
        let (row, records) = row_of("escapes", "0x2a", "E", &overlay).unwrap();
        assert_eq!((row.properties, records), (1, vec!["A".to_owned()]));
    }
}
