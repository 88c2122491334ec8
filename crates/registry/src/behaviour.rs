//! Reads `api/behaviour.toml`: functions that block, reset or create nothing, and the roles by which cutap knows
//! functions.

use crate::error::{Error, Source};
use crate::functions::callback;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    blocks: Vec<Blocks>,
    resets: Vec<Group>,
    contexts: Vec<Group>,
    hands_out: Vec<Group>,
    state: Vec<Group>,
    chatter: Vec<Blocks>,
    begins_capture: Vec<Group>,
    ends_capture: Vec<Group>,
    #[serde(default)]
    roles: Vec<Role>,
    #[serde(default)]
    memory: Vec<Memory>,
    #[serde(default)]
    names: Vec<Names>,
    #[serde(default)]
    answers: Vec<Answers>,
    #[serde(default)]
    statuses: Vec<Status>,
    #[serde(default)]
    numbers: Vec<RawNumber>,
}

/// A number that the code has to know: this one, or that of a runtime function's callback.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawNumber {
    constant: String,
    about: String,
    value: Option<u32>,
    callback_of: Option<String>,
    source: Spanned<String>,
}

/// A number that the code has to know.
pub(crate) struct Number {
    pub(crate) constant: String,
    pub(crate) about: String,
    pub(crate) value: u32,
}

/// How the functions of a layer are named, and the enum of the statuses of those that no header declares.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Names {
    layer: Spanned<String>,
    pub(crate) prefix: String,
    #[serde(default)]
    pub(crate) not: Vec<String>,
    pub(crate) status: String,
    source: Spanned<String>,
}

impl Names {
    pub(crate) fn layer(&self) -> &str {
        self.layer.get_ref()
    }
}

/// Statuses that are no failure.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answers {
    pub(crate) role: Option<String>,
    pub(crate) statuses: Vec<String>,
    source: Spanned<String>,
}

/// A status whose number the code has to know.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Status {
    pub(crate) constant: String,
    pub(crate) value: u32,
    pub(crate) names: Vec<String>,
    /// The context returns it from then on.
    #[serde(default)]
    pub(crate) fault: bool,
    source: Spanned<String>,
}

/// Functions to which cutap reacts, by a variant of `calls::Role`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Role {
    role: String,
    source: Spanned<String>,
    /// The parameter that the role is about.
    #[serde(default)]
    argument: u8,
    functions: Vec<Spanned<String>>,
}

/// Functions of which `--limit-memory` knows what they do with memory, by a word for it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Memory {
    kind: String,
    source: Spanned<String>,
    functions: Vec<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Blocks {
    why: String,
    source: Spanned<String>,
    functions: Vec<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    source: Spanned<String>,
    functions: Vec<Spanned<String>>,
}

/// What is known, by the function's name without what its forms add.
pub(crate) struct Behaviour {
    /// Why it blocks.
    pub(crate) blocks: BTreeMap<String, String>,
    pub(crate) resets: BTreeSet<String>,
    pub(crate) contexts: BTreeSet<String>,
    /// Patterns of names.
    pub(crate) hands_out: BTreeSet<String>,
    /// The same.
    pub(crate) state: BTreeSet<String>,
    /// The same.
    pub(crate) chatter: BTreeSet<String>,
    pub(crate) begins_capture: BTreeSet<String>,
    pub(crate) ends_capture: BTreeSet<String>,
    /// Functions, their roles and the parameter; a function may have several roles.
    pub(crate) roles: BTreeSet<(String, String, u8)>,
    /// Patterns of names, those with `!` first, and their roles.
    pub(crate) role_patterns: BTreeSet<(String, String)>,
    /// Functions and patterns, and what they do with memory.
    pub(crate) memory: Vec<(String, String)>,
    pub(crate) names: Vec<Names>,
    pub(crate) answers: Vec<Answers>,
    pub(crate) statuses: Vec<Status>,
    pub(crate) numbers: Vec<Number>,
}

/// Reads the file. `known` has all functions of the interfaces, `layers` the names of layers.
pub(crate) fn read(path: &Path, known: &BTreeSet<String>, layers: &[&str]) -> Result<Behaviour, Error> {
    let source = Source::read(path)?;
    let raw: Raw = source.parse()?;
    let mut blocks = BTreeMap::new();
    for group in raw.blocks {
        check_source(&source, &group.source)?;
        for name in &group.functions {
            check(&source, name, known)?;
            if blocks.insert(name.get_ref().clone(), group.why.clone()).is_some() {
                let message = format!("{} stands here a second time", name.get_ref());
                return Err(source.error(name.span().start, message));
            }
        }
    }
    let [resets, contexts, begins_capture, ends_capture] =
        [raw.resets, raw.contexts, raw.begins_capture, raw.ends_capture].map(|groups| names(&source, groups, known));
    let [hands_out, state] = [raw.hands_out, raw.state].map(|groups| patterns(&source, groups));
    let chatter = chatter(&source, raw.chatter, known)?;
    let (mut roles, mut role_patterns) = (BTreeSet::new(), BTreeSet::new());
    for group in raw.roles {
        check_source(&source, &group.source)?;
        for name in group.functions {
            if name.get_ref().contains(['*', '!']) {
                role_patterns.insert((name.into_inner(), group.role.clone()));
                continue;
            }
            check(&source, &name, known)?;
            roles.insert((name.into_inner(), group.role.clone(), group.argument));
        }
    }
    let mut memory = Vec::new();
    for group in raw.memory {
        check_source(&source, &group.source)?;
        for name in group.functions {
            if !name.get_ref().contains('*') {
                check(&source, &name, known)?;
            }
            memory.push((name.into_inner(), group.kind.clone()));
        }
    }
    for of in &raw.names {
        check_source(&source, &of.source)?;
        if !layers.contains(&of.layer()) {
            let message = format!("unknown layer {}, expected one of {}", of.layer(), layers.join(", "));
            return Err(source.error(of.layer.span().start, message));
        }
    }
    let sources = raw.answers.iter().map(|of| &of.source).chain(raw.statuses.iter().map(|of| &of.source));
    for from in sources {
        check_source(&source, from)?;
    }
    let mut numbers = Vec::new();
    for RawNumber { constant, about, value, callback_of, source: from } in raw.numbers {
        check_source(&source, &from)?;
        let value = match (value, callback_of) {
            (Some(value), None) => Some(value),
            (None, Some(function)) => callback(&path.with_file_name("runtime/functions.toml"), &function)?,
            _ => None,
        };
        let Some(value) = value else {
            let message = format!("{constant}: expected value, or callback_of: a runtime function with a callback");
            return Err(source.error(from.span().start, message));
        };
        numbers.push(Number { constant, about, value });
    }
    Ok(Behaviour {
        numbers,
        blocks,
        resets: resets?,
        contexts: contexts?,
        hands_out: hands_out?,
        state: state?,
        chatter,
        begins_capture: begins_capture?,
        ends_capture: ends_capture?,
        roles,
        role_patterns,
        memory,
        names: raw.names,
        answers: raw.answers,
        statuses: raw.statuses,
    })
}

/// The functions of these groups, each of which exists.
fn names(source: &Source, groups: Vec<Group>, known: &BTreeSet<String>) -> Result<BTreeSet<String>, Error> {
    let mut names = BTreeSet::new();
    for group in groups {
        check_source(source, &group.source)?;
        for name in group.functions {
            check(source, &name, known)?;
            names.insert(name.into_inner());
        }
    }
    Ok(names)
}

/// Patterns of names.
fn patterns(source: &Source, groups: Vec<Group>) -> Result<BTreeSet<String>, Error> {
    let mut patterns = BTreeSet::new();
    for group in groups {
        check_source(source, &group.source)?;
        patterns.extend(group.functions.into_iter().map(Spanned::into_inner));
    }
    Ok(patterns)
}

/// Names and patterns of names, each group with its reason.
fn chatter(source: &Source, groups: Vec<Blocks>, known: &BTreeSet<String>) -> Result<BTreeSet<String>, Error> {
    let mut names = BTreeSet::new();
    for Blocks { why, source: from, functions } in groups {
        check_source(source, &from)?;
        if why.is_empty() {
            return Err(source.error(from.span().start, "why is empty, expected what these functions do".into()));
        }
        for name in functions {
            if !name.get_ref().contains(['*', '!']) {
                check(source, &name, known)?;
            }
            names.insert(name.into_inner());
        }
    }
    Ok(names)
}

fn check_source(source: &Source, from: &Spanned<String>) -> Result<(), Error> {
    match from.get_ref().is_empty() {
        true => Err(source.error(from.span().start, "source is empty, expected where the fact comes from".into())),
        false => Ok(()),
    }
}

/// A function of this name, or a form of one, is exported.
fn check(source: &Source, name: &Spanned<String>, known: &BTreeSet<String>) -> Result<(), Error> {
    let text = name.get_ref();
    let form = |k: &String| k == text || k.strip_prefix(text.as_str()).is_some_and(|rest| rest.starts_with('_'));
    match known.iter().any(form) {
        true => Ok(()),
        false => Err(source.error(name.span().start, format!("no function {text} is exported"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_do_not_exist_are_errors() {
        let folder = std::env::temp_dir().join(format!("cutap-behaviour-{}.toml", std::process::id()));
        let text = "[[blocks]]\nwhy = \"w\"\nsource = \"s\"\nfunctions = [\"cuA\", \"cuB\"]\n[[resets]]\nsource = \"s\"\nfunctions = []\n[[contexts]]\nsource = \"s\"\nfunctions = []\n[[hands_out]]\nsource = \"s\"\nfunctions = []\n[[state]]\nsource = \"s\"\nfunctions = []\n[[chatter]]\nwhy = \"w\"\nsource = \"s\"\nfunctions = []\n[[begins_capture]]\nsource = \"s\"\nfunctions = []\n[[ends_capture]]\nsource = \"s\"\nfunctions = []\n";
        std::fs::write(&folder, text).unwrap();
        let known = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
        assert_eq!(read(&folder, &known(&["cuA", "cuB_v2"]), &[]).ok().map(|b| b.blocks.len()), Some(2));
        let said = read(&folder, &known(&["cuA", "cuBC"]), &[]).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(said.ends_with(":4: no function cuB is exported"), "{said}");
        std::fs::remove_file(&folder).unwrap();
    }
}
