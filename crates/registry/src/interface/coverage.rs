//! `docs/reference/coverage.md`: of how many functions and parameters something is known, by library and version,
//! and which pointers nobody can read.

use super::functions::FunctionRow;
use super::known::{Rule, Type, TypeId};
use super::tables::Member;
use super::tables::Tables;
use super::version;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// How a parameter is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// A number, an enum, flags, a handle, a struct by value.
    Value,
    /// What it points to.
    Read,
    /// An address, with the allocation that it lies in.
    Memory,
    /// An address that means something to its owner only: user data, code.
    Cookie,
    /// An address and nothing more.
    Raw,
}

fn shown(tables: &Tables, param: &Member) -> Shown {
    let Type::Pointer(to, _) = tables.get(param.ty) else {
        return match (tables.get(param.ty), param.rule) {
            (Type::Code, _) => Shown::Cookie,
            (Type::DevicePointer, _) => Shown::Memory,
            _ => Shown::Value,
        };
    };
    match param.rule {
        _ if param.guessed => Shown::Raw,
        Rule::One | Rule::Array(_) if is_untold(tables, to) => Shown::Raw,
        Rule::Memory(_) | Rule::Host(_) | Rule::Either(_) | Rule::From(..) | Rule::To(..) => Shown::Memory,
        Rule::Opaque => Shown::Cookie,
        Rule::One if tables.extent(to, u32::MAX).size == 0 => Shown::Raw,
        _ => Shown::Read,
    }
}

/// A union of several fields, of which nothing tells which one is meant: it is shown as words.
fn is_untold(tables: &Tables, ty: TypeId) -> bool {
    let Type::Union(row) = tables.get(ty) else { return false };
    let row = &tables.structs[usize::from(row)];
    row.tag.is_none_or(|(at, _)| at == 255) && row.fields.len() > 1
}

const HEAD: &str = "\
# What is decoded

Written by `cargo xtask codegen` from `api/`; `cargo xtask codegen --check` proves it current.

A *value* is a number, an enum, flags, a handle or a struct by value. A pointer is *read* (a text, a struct, an array,
a number, a kernel's parameters), or leads to *memory* that is not read (shown with the allocation that it lies in), or
is a *cookie* that means something to its owner only (user data, code), or is *raw*: an address of which neither a
header nor a person says what lies there, or a union of which nothing tells what it holds (shown as words). Functions that no header declares have no parameters here.
Parameters stand for all that they lead to: a kernel's parameters in an array of launches (`cuLaunchCooperativeKernelMultiDevice`) are addresses all the same.

";

pub(crate) fn page(tables: &Tables, all: &[Vec<FunctionRow>]) -> String {
    let mut out = HEAD.to_owned();
    out += "| library | version | functions | parameters | values | read | memory | cookies | raw |\n";
    out += "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
    for (family, rows) in tables.api.families.iter().zip(all) {
        for text in &family.functions.versions {
            let at = version::parse(text).unwrap_or(u32::MAX);
            let rows: Vec<&FunctionRow> = rows.iter().filter(|r| r.span.contains(at)).collect();
            let params: Vec<Shown> = rows.iter().flat_map(|r| &r.params).map(|p| shown(tables, p)).collect();
            let of = |kind| params.iter().filter(|s| **s == kind).count();
            let (functions, count) = (rows.len(), params.len());
            let (values, read, memory) = (of(Shown::Value), of(Shown::Read), of(Shown::Memory));
            let (cookies, raw, name) = (of(Shown::Cookie), of(Shown::Raw), &family.name);
            writeln!(
                out,
                "| {name} | {text} | {functions} | {count} | {values} | {read} | {memory} | {cookies} | {raw} |"
            )
            .unwrap();
        }
    }
    out += "\n## Raw parameters and fields\n\n";
    for (family, rows) in tables.api.families.iter().zip(all) {
        let mut raw: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for row in rows {
            for param in row.params.iter().filter(|p| shown(tables, p) == Shown::Raw) {
                let names = raw.entry(&row.name).or_default();
                if !names.contains(&param.name.as_str()) {
                    names.push(&param.name);
                }
            }
        }
        for (function, names) in raw {
            writeln!(out, "- {}: `{function}`: {}", family.name, names.join(", ")).unwrap();
        }
    }
    let mut fields: BTreeSet<String> = BTreeSet::new();
    for row in &tables.structs {
        let raw = |f: &&Member| shown(tables, f) == Shown::Raw || is_untold(tables, f.ty);
        for field in row.fields.iter().filter(raw) {
            fields.insert(format!("- `{}`: {}\n", row.name, field.name));
        }
    }
    out.extend(fields);
    out
}
