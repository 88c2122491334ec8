//! `crates/calls/src/generated/capture.rs` as text.

use super::capture::{self, Row, Step};
use super::functions::FunctionRow;
use super::steps::{self, At, BLOCK_WORDS, Form};
use super::tables::Tables;
use super::version;
use super::write_known::sonames;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

/// A function and its row; in the file by the bits of its hash.
struct Line {
    row: Row,
    name: String,
}

/// The text of the file; the two names when two have one hash.
pub(crate) fn capture(tables: &Tables, all: &[Vec<FunctionRow>]) -> Result<String, (String, String)> {
    let mut lines: BTreeMap<u64, Line> = BTreeMap::new();
    let mut steps = Steps { all: Vec::new(), starts: HashMap::new() };
    for (family, rows) in tables.api.families.iter().zip(all) {
        let versions: Vec<u32> = family.functions.versions.iter().filter_map(|v| version::parse(v)).collect();
        let at = At { version: 0, driver: family.name == "driver" };
        for forms in rows.chunk_by(|a, b| a.name == b.name) {
            for form in [Form::Registers, Form::Block] {
                for (name, row) in named(tables, forms, form, &versions, at, &mut steps) {
                    add(&mut lines, Line { row, name }, versions.last().map(|v| version::major(*v)))?;
                }
            }
        }
    }
    let mut newest = BTreeMap::new();
    for family in &tables.api.families {
        let last = family.functions.versions.iter().filter_map(|v| version::parse(v)).max();
        if let Some(last) = last.filter(|_| family.name != "driver") {
            newest.extend(sonames(family).into_iter().map(|soname| (soname, version::major(last))));
        }
    }
    Ok(text(&lines, &steps.all, &newest))
}

/// Puts a line in its place. The same name in two libraries, and not the same row: the plain name is the
/// first family's, the other's is that of its version.
fn add(lines: &mut BTreeMap<u64, Line>, line: Line, newest: Option<u32>) -> Result<(), (String, String)> {
    let bits = capture::bits(capture::hash(line.name.as_bytes()));
    match (lines.get(&bits), newest) {
        (None, _) => drop(lines.insert(bits, line)),
        (Some(was), _) if was.name != line.name => return Err((was.name.clone(), line.name)),
        (Some(was), Some(major)) if was.row != line.row => {
            return add(lines, Line { name: format!("{}#{major}", line.name), ..line }, None);
        }
        _ => {}
    }
    Ok(())
}

/// The rows of one function: the newest form under its name, older majors' where they differ.
fn named(
    tables: &Tables,
    forms: &[FunctionRow],
    form: Form,
    versions: &[u32],
    at: At,
    steps: &mut Steps,
) -> Vec<(String, Row)> {
    let Some(newest) = forms.last() else { return Vec::new() };
    let prefix = if form == Form::Block { "@" } else { "" };
    let name = format!("{prefix}{}", newest.name);
    let mut rows: Vec<(String, Row)> = Vec::new();
    let mut majors: Vec<u32> = versions.iter().map(|v| version::major(*v)).collect();
    majors.dedup();
    for major in majors.iter().rev() {
        let of_major = versions.iter().rev().filter(|v| version::major(**v) == *major);
        let newest = of_major.flat_map(|v| forms.iter().rev().map(move |f| (v, f))).find(|(v, f)| f.span.contains(**v));
        let Some((version, function)) = newest else { continue };
        let Some(row) = row(tables, function, form, At { version: *version, ..at }, steps) else { continue };
        let label = match rows.first() {
            None => name.clone(),
            Some((_, plain)) if *plain == row => continue,
            Some(_) => format!("{name}#{major}"),
        };
        rows.push((label, row));
    }
    rows
}

fn row(tables: &Tables, function: &FunctionRow, form: Form, at: At, steps: &mut Steps) -> Option<Row> {
    let (ints, vectors, stack) = match form {
        Form::Registers => (function.shape.ints, function.shape.vectors, function.shape.stack),
        Form::Block => (function.block?.div_ceil(8).min(BLOCK_WORDS) as u8, 0, 0),
    };
    let list = steps::steps(tables, function, form, at);
    let count = list.len() as u8;
    Some(Row { first: steps.place(list, &function.name), steps: count, ints, vectors, stack })
}

/// The table of steps; a list that was there before is not written again.
struct Steps {
    all: Vec<(Step, String)>,
    starts: HashMap<String, u16>,
}

impl Steps {
    fn place(&mut self, list: Vec<Step>, name: &str) -> u16 {
        if list.is_empty() {
            return 0;
        }
        let first = self.all.len() as u16;
        let at = *self.starts.entry(format!("{list:?}")).or_insert(first);
        if at == first {
            self.all.extend(list.into_iter().map(|s| (s, name.to_owned())));
        }
        at
    }
}

fn text(lines: &BTreeMap<u64, Line>, steps: &[(Step, String)], newest: &BTreeMap<String, u32>) -> String {
    let mut out = String::from(
        "//! What the target keeps of each call.\n//!\n\
         //! Generated by `cargo xtask codegen` from `api/*/{functions,types,overlay}.toml`. Do not edit.\n\n\
         use crate::capture::{Name, Row, Step};\n\n\
         const fn n(bits: u64, row: u16) -> Name {\n    Name::of(bits, row)\n}\n\n\
         const fn r(first: u16, steps: u8, ints: u8, vectors: u8, stack: u8) -> Row {\n    \
         Row { first, steps, ints, vectors, stack }\n}\n\n\
         #[allow(clippy::too_many_arguments, reason = \"a row of a table\")]\n\
         const fn s(kind: u8, flags: u8, base: u8, offset: u16, count_base: u8, count: u16, size: u16, most: u16) -> Step {\n    \
         Step { kind, flags, base, count_base, offset, count, size, most }\n}\n\n",
    );
    let mut rows: Vec<Row> = Vec::new();
    writeln!(out, "/// Sorted by the bits of the name's hash: (bits, number of the row).").unwrap();
    writeln!(out, "#[rustfmt::skip]\npub static NAMES: [Name; {}] = [", lines.len()).unwrap();
    for (bits, Line { row, name }) in lines {
        let number = rows.iter().position(|r| r == row).unwrap_or(rows.len());
        if number == rows.len() {
            rows.push(*row);
        }
        writeln!(out, "    n(0x{bits:012x}, {number}), // {name}").unwrap();
    }
    writeln!(out, "];\n\n/// (first step, steps, words in integer registers, in vector registers, on the stack)")
        .unwrap();
    writeln!(out, "#[rustfmt::skip]\npub static ROWS: [Row; {}] = [", rows.len()).unwrap();
    for (number, Row { first, steps, ints, vectors, stack }) in rows.iter().enumerate() {
        writeln!(out, "    r({first}, {steps}, {ints}, {vectors}, {stack}), // {number}").unwrap();
    }
    out.push_str("];\n\n");
    writeln!(
        out,
        "/// The steps of all rows: (kind, flags, base, offset, base of the count, count, size, most). Functions with"
    )
    .unwrap();
    writeln!(out, "/// the same steps share them; the name is that of the first.").unwrap();
    writeln!(out, "#[rustfmt::skip]\npub static STEPS: [Step; {}] = [", steps.len()).unwrap();
    for (Step { kind, flags, base, count_base, offset, count, size, most }, name) in steps {
        writeln!(out, "    s({kind}, {flags}, {base}, {offset}, {count_base}, {count}, {size}, {most}), // {name}")
            .unwrap();
    }
    writeln!(out, "];\n\n/// The newest major versions that this is of, by the pattern of the SONAME.").unwrap();
    writeln!(out, "#[rustfmt::skip]\npub static NEWEST: [(&str, u32); {}] = [", newest.len()).unwrap();
    for (soname, major) in newest {
        writeln!(out, "    ({soname:?}, {major}),").unwrap();
    }
    out.push_str("];\n");
    out
}
