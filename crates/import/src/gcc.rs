//! Second opinion on layouts: gcc is asked, by static assertions over sizeof and offsetof, whether every
//! size and offset that we worked out is its own.

use crate::decls::{Decls, Record};
use crate::layout::Layouts;
use crate::snapshot::Snapshot;
use crate::sources::Family;
use anyhow::{Context, Result, bail};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// How many sizes and offsets were compared, and those that differ.
pub(crate) struct Outcome {
    pub(crate) checked: usize,
    pub(crate) wrong: Vec<String>,
}

/// Asks for all structs and unions of one version.
pub(crate) fn check(family: &Family, snapshot: &Snapshot) -> Result<Outcome> {
    let mut outcome = Outcome { checked: 0, wrong: Vec::new() };
    for pass in 0..=family.more.len() {
        one_pass(family, snapshot, pass, &mut outcome)?;
    }
    Ok(outcome)
}

/// Those that one reading of the headers showed.
fn one_pass(family: &Family, snapshot: &Snapshot, pass: usize, outcome: &mut Outcome) -> Result<()> {
    let (decls, own) = (&snapshot.decls, snapshot.own(family));
    let layouts = Layouts::of(decls);
    let further = pass.checked_sub(1).and_then(|n| family.more.get(n));
    let mut program = String::from("#include <stddef.h>\n");
    let headers = further.map(|f| &f.headers).filter(|h| !h.is_empty()).unwrap_or(&snapshot.headers);
    for header in headers {
        let _ = writeln!(program, "#include <{header}>");
    }
    let word = if family.cxx { "static_assert" } else { "_Static_assert" };
    let before = outcome.checked;
    let mut assert_equal = |what: &str, value: u64| {
        outcome.checked += 1;
        let _ = writeln!(program, "{word}({what} == {value}, \"{what} is not {value}\");");
    };
    for (key, record) in decls.records.iter().filter(|(_, r)| own.has(&r.file) && r.pass == pass) {
        let Some((size, _)) = layouts.places(record) else { continue };
        if let Some(name) = spelled(decls, key, record) {
            assert_equal(&format!("sizeof({name})"), size.size);
            fields(decls, &layouts, record, &name, "", 0, &mut assert_equal);
        }
    }
    if outcome.checked > before {
        let defines = further.map(|f| f.defines.as_slice()).unwrap_or_default();
        outcome.wrong.extend(compile(family, snapshot, defines, &program)?);
    }
    Ok(())
}

/// How the program names it: with the word in front in C++ too, for a function may have the same name.
fn spelled(decls: &Decls, key: &str, record: &Record) -> Option<String> {
    if !key.starts_with('@') {
        let word = if record.union { "union" } else { "struct" };
        return Some(format!("{word} {key}"));
    }
    decls.typedefs.iter().find(|(_, t)| t.ty == key).map(|(name, _)| name.clone())
}

fn fields(
    decls: &Decls,
    layouts: &Layouts<'_>,
    record: &Record,
    name: &str,
    before: &str,
    from: u64,
    assert_equal: &mut impl FnMut(&str, u64),
) {
    let Some((_, places)) = layouts.places(record) else { return };
    for (field, place) in record.fields.iter().zip(places) {
        if place.bits.is_some() {
            continue;
        }
        let at = from + place.offset;
        // `_1`, `_2`: a field without a name, whose own fields are reached without it.
        let unnamed = field.ty.starts_with('@') && is_ours(&field.name);
        let path = if unnamed { before.to_owned() } else { format!("{before}{}", field.name) };
        if !unnamed {
            assert_equal(&format!("offsetof({name}, {path})"), at);
        }
        let key = field.ty.split('[').next().unwrap_or("");
        if let Some(inner) = decls.records.get(key).filter(|_| key.starts_with('@')) {
            let element = "[0]".repeat(field.ty.matches('[').count());
            let dot = if unnamed { path } else { format!("{path}{element}.") };
            fields(decls, layouts, inner, name, &dot, at, assert_equal);
        }
    }
}

fn compile(family: &Family, snapshot: &Snapshot, defines: &[String], program: &str) -> Result<Vec<String>> {
    let (compiler, language) = if family.cxx { ("g++", "c++") } else { ("gcc", "c") };
    let mut gcc = Command::new(compiler);
    gcc.args(["-w", "-fsyntax-only", "-fmax-errors=0", "-x", language]);
    gcc.args(family.defines.iter().chain(defines).map(|d| format!("-D{d}")));
    gcc.args(snapshot.folders.iter().map(|f| format!("-I{}", f.display())));
    gcc.arg("-").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = gcc.spawn().with_context(|| format!("{compiler} is needed to check layouts"))?;
    child.stdin.take().context("gcc's input")?.write_all(program.as_bytes())?;
    let output = child.wait_with_output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    let errors: Vec<&str> = stderr.lines().filter(|l| l.contains("error:")).collect();
    let mut wrong = Vec::new();
    for error in &errors {
        match error.split_once("static assertion failed: \"") {
            Some((_, text)) => wrong.push(text.trim_end_matches('"').to_owned()),
            None => bail!("{compiler} could not read {} {}: {error}", family.name, snapshot.version),
        }
    }
    Ok(wrong)
}

/// `_1`: a name of ours for what has none; `_reserved` is one of the header's.
fn is_ours(name: &str) -> bool {
    name.strip_prefix('_').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}
