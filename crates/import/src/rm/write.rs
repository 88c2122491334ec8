//! The text of `numbers.toml` and `structs.toml`: the same for the same facts, and of a release that differs little
//! from another one only the difference.

use super::release::{Record, Release, Rows, SECTIONS};
use std::fmt::Write;

/// In the first line of a file that the import wrote; other files are written by people.
pub(super) const BY_IMPORT: &str = "Written by `cargo xtask import-rm`";

impl Release {
    /// `numbers.toml` and `structs.toml`, as the difference from `base` where one is given.
    pub(crate) fn texts(&self, base: Option<&Self>) -> (String, String) {
        let empty = Self::default();
        let old = base.unwrap_or(&empty);
        let head = |what: &str| {
            let mut text = format!(
                "# {what} of NVIDIA's open kernel modules. {BY_IMPORT}; corrections go to overlay.toml.\n\n\
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
            let removed_keys: Vec<&String> = was.keys().filter(|k| !is.contains_key(*k)).collect();
            if !changed.is_empty() {
                let rows = sorted(changed.iter().map(|(k, v)| format!("{k} {v}").trim_end().to_owned()));
                list(&mut numbers, &format!("# {words}\n{section}"), &rows);
            }
            if !removed_keys.is_empty() {
                list(&mut removed, section, &sorted(removed_keys.into_iter().cloned()));
            }
        }
        if !removed.is_empty() {
            numbers.push_str("\n[removed]\n");
            numbers.push_str(removed.trim_start());
        }
        let mut structs = head("Layouts of structs and unions");
        let removed_records: Vec<String> =
            old.records.keys().filter(|k| !self.records.contains_key(*k)).cloned().collect();
        if !removed_records.is_empty() {
            list(&mut structs, "removed", &removed_records);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rm::release::read_all;
    use std::path::{Path, PathBuf};

    fn release(version: &str, rows: &[(&str, &str, &str)], records: &[(&str, u64, &[&str])]) -> Release {
        let mut release = Release { version: version.to_owned(), ..Release::default() };
        for (section, key, rest) in rows {
            release.rows.entry((*section).to_owned()).or_default().insert((*key).to_owned(), (*rest).to_owned());
        }
        for (name, size, fields) in records {
            let fields = fields.iter().map(|f| (*f).to_owned()).collect();
            let also = if *name == "A" { vec!["A_ALIAS".to_owned()] } else { Vec::new() };
            release.records.insert((*name).to_owned(), Record { also, union: *name == "U", size: *size, fields });
        }
        release
    }

    fn put(folder: &Path, release: &Release, base: Option<&Release>) {
        let to = folder.join(&release.version);
        std::fs::create_dir_all(&to).unwrap();
        let (numbers, structs) = release.texts(base);
        std::fs::write(to.join("numbers.toml"), numbers).unwrap();
        std::fs::write(to.join("structs.toml"), structs).unwrap();
    }

    /// A separate folder for each test.
    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("cutap-import-rm-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn a_difference_reads_as_the_whole() {
        let folder = folder("difference");
        let full = release(
            "2.0",
            &[("escapes", "0x27", "ONE"), ("escapes", "0x28", "TWO"), ("statuses", "0x0000", "OK")],
            &[("A", 8, &["0 u32 x", "4 u32 y[1]"]), ("B", 4, &["0 u32 z"]), ("U", 4, &["0 u32 z", "0 u8 w"])],
        );
        let less = release(
            "1.9",
            &[("escapes", "0x27", "ONE"), ("statuses", "0x0000", "FINE")],
            &[("A", 4, &["0 u32 x"]), ("B", 4, &["0 u32 z"]), ("U", 4, &["0 u32 z", "0 u8 w"])],
        );
        put(&folder, &full, None);
        put(&folder, &less, Some(&full));
        let text = less.texts(Some(&full));
        assert!(text.0.contains("[removed]\nescapes = [\n  \"0x28\",\n]"), "{}", text.0);
        assert!(!text.1.contains("\"B\"") && text.1.contains("name = \"A\""), "{}", text.1);
        assert_eq!(read_all(&folder).unwrap(), [less, full.clone()]);
        std::fs::remove_dir_all(folder.join("2.0")).unwrap();
        let said = read_all(&folder).unwrap_err();
        assert!(said.ends_with("the base of 1.9 is missing"), "{said}");
        put(&folder, &Release { version: "2.0".into(), ..Release::default() }, None);
        let said = read_all(&folder).unwrap_err();
        assert_eq!(said, "api/kernel/1.9: escapes is no section of the base");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// The committed files are what is written of what they say.
    #[test]
    fn committed_files_have_this_form() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../api/kernel");
        let releases = read_all(&folder).unwrap();
        let read =
            |release: &Release, file: &str| std::fs::read_to_string(folder.join(&release.version).join(file)).unwrap();
        let imported = || releases.iter().filter(|r| read(r, "numbers.toml").contains(BY_IMPORT));
        assert_eq!(imported().count(), 10);
        for release in imported() {
            let read = |file: &str| read(release, file);
            let base = read("numbers.toml")
                .lines()
                .find_map(|l| Some(l.strip_prefix("base = \"")?.trim_end_matches('"').to_owned()));
            let base = base.map(|b| releases.iter().find(|r| r.version == b).unwrap());
            assert!(release.texts(base) == (read("numbers.toml"), read("structs.toml")), "{}", release.version);
        }
    }
}
