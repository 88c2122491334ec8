//! The functions of the tables: each form of each prototype with its parameters' types, rules and places.

use super::argument_words;
use super::effect_text::{EffectKind, EffectText};
use super::family::Family;
use super::functions_file::Prototype;
use super::known::{Count, Effect, Memory, Shape, Type, TypeId};
use super::overlay_file::{FunctionText, MemberText};
use super::rules;
use super::tables::{Extent, Member, Sibling, Tables};
use super::version::{self, Span};
use crate::error::{Error, Location};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A row of a family's functions.
#[derive(Debug, Clone)]
pub(crate) struct FunctionRow {
    pub(crate) name: String,
    pub(crate) span: Span,
    pub(crate) returns: TypeId,
    pub(crate) params: Vec<Member>,
    pub(crate) about: String,
    pub(crate) shape: Shape,
    pub(crate) effects: Vec<Effect>,
    /// Bytes of the parameter block, when the runtime reports it by callback.
    pub(crate) block: Option<u32>,
}

/// Whether a name matches a pattern with `*` and `?`.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    // Most of a hundred million questions end here.
    let literal = pattern.find(['*', '?']).unwrap_or(pattern.len());
    let (start, rest) = pattern.as_bytes().split_at(literal);
    name.as_bytes().strip_prefix(start).is_some_and(|name| super::glob::glob(rest, name))
}

/// The functions of a family, sorted by name and version.
pub(crate) fn rows(tables: &mut Tables, n: usize) -> Result<Vec<FunctionRow>, Error> {
    let family = &tables.api.families[n];
    check_overlay(family)?;
    let mut rows = Vec::new();
    // Functions that share a prototype, and of which the same is said, have the same row.
    let mut shared_rows: HashMap<(usize, Vec<(usize, bool)>), FunctionRow> = HashMap::new();
    for prototype in &family.functions.prototypes {
        let key = prototype.shared.map(|n| (n, texts_of(family, prototype)));
        let plain = match key.as_ref().and_then(|key| shared_rows.get(key)) {
            Some(same) => FunctionRow { name: prototype.name.clone(), ..same.clone() },
            None => row(tables, n, prototype)?,
        };
        if let Some(key) = key {
            shared_rows.entry(key).or_insert_with(|| plain.clone());
        }
        for plain in spans(tables, n, plain)? {
            for suffix in &prototype.forms {
                rows.push(FunctionRow { name: format!("{}{suffix}", plain.name), ..plain.clone() });
            }
            rows.push(plain);
        }
    }
    rows.sort_by(|a, b| (&a.name, a.span).cmp(&(&b.name, b.span)));
    if family.name == "driver" {
        // A driver keeps what headers drop.
        for n in 0..rows.len() {
            let next = rows.get(n + 1).filter(|r| r.name == rows[n].name).map(|r| r.span.since);
            let first = n == 0 || rows[n - 1].name != rows[n].name;
            if let Some(since) = family.since.get(&rows[n].name).filter(|_| first) {
                rows[n].span.since = *since;
            }
            rows[n].span.until = next.map_or(u32::MAX, |since| since.saturating_sub(10));
        }
    }
    Ok(rows)
}

/// A row, or three: with the structs of another version in the middle.
fn spans(tables: &mut Tables, n: usize, row: FunctionRow) -> Result<Vec<FunctionRow>, Error> {
    let family = &tables.api.families[n];
    let about = |t: &&FunctionText| t.patterns.iter().any(|(pattern, _)| *pattern == row.name);
    let Some(text) = family.overlay.functions.iter().filter(about).find_map(|t| t.layouts) else {
        return Ok(vec![row]);
    };
    let versions: Vec<u32> = family.functions.versions.iter().filter_map(|v| version::parse(v)).collect();
    let location = Location { source: &family.overlay_source, at: text.at };
    if ![text.first, text.last, text.of].iter().all(|v| versions.contains(v)) {
        return Err(
            location.error(format!("expected versions of functions.toml: {}", family.functions.versions.join(", ")))
        );
    }
    let mut middle = row.clone();
    middle.span = Span { since: text.first.max(row.span.since), until: text.last.min(row.span.until) };
    for param in &mut middle.params {
        param.ty = tables.frozen(param.ty, text.of);
    }
    let before = versions.iter().copied().filter(|v| *v < text.first).max();
    let after = versions.iter().copied().find(|v| *v > text.last);
    let mut all = vec![middle];
    if let Some(until) = before.filter(|v| *v >= row.span.since) {
        all.push(FunctionRow { span: Span { until, ..row.span }, ..row.clone() });
    }
    if let Some(since) = after.filter(|v| *v <= row.span.until) {
        all.push(FunctionRow { span: Span { since, ..row.span }, ..row });
    }
    Ok(all)
}

/// Every name and parameter that the overlay speaks of must be there.
fn check_overlay(family: &Family) -> Result<(), Error> {
    let all = &family.functions.prototypes;
    for text in &family.overlay.functions {
        let mut parameters: BTreeSet<&str> = BTreeSet::new();
        for (pattern, at) in &text.patterns {
            let location = Location { source: &family.overlay_source, at: *at };
            let mut has_match = false;
            for prototype in all.iter().filter(|p| matches(pattern, &p.name)) {
                has_match = true;
                parameters.extend(prototype.params.iter().map(|p| p.name.as_str()));
            }
            if !has_match {
                return Err(location.error(format!("functions.toml has no {pattern}")));
            }
        }
        let named = text.members.iter().map(|(name, member)| (name, member.at));
        for (name, at) in named.chain(text.effects.iter().map(|e| (&e.parameter, e.at))) {
            if !parameters.contains(name.as_str()) {
                let names: Vec<&str> = parameters.iter().copied().collect();
                let message = format!("no parameter {name}, expected one of {}", names.join(", "));
                return Err(Location { source: &family.overlay_source, at }.error(message));
            }
        }
    }
    Ok(())
}

/// Which of the overlay's texts are about a prototype; with true: by its name, and not as one of many.
fn texts_of(family: &Family, prototype: &Prototype) -> Vec<(usize, bool)> {
    let about = |text: &FunctionText| text.patterns.iter().any(|(pattern, _)| matches(pattern, &prototype.name));
    let by_name = |text: &FunctionText| text.patterns.iter().any(|(pattern, _)| *pattern == prototype.name);
    let all = family.overlay.functions.iter().enumerate();
    all.filter(|(_, text)| about(text)).map(|(n, text)| (n, by_name(text))).collect()
}

/// What the overlay says of one prototype; of two that say something of one parameter the later wins.
struct OverlayFacts<'a> {
    about: &'a str,
    effects: &'a [EffectText],
    members: BTreeMap<&'a str, MemberText>,
    location: Location<'a>,
}

fn overlay_facts<'a>(family: &'a Family, prototype: &Prototype) -> OverlayFacts<'a> {
    let location = Location { source: &family.overlay_source, at: 0 };
    let mut facts = OverlayFacts { about: "", effects: &[], members: BTreeMap::new(), location };
    for (n, by_name) in texts_of(family, prototype) {
        let text = &family.overlay.functions[n];
        if !text.about.is_empty() {
            facts.about = &text.about;
        }
        if !text.effects.is_empty() {
            facts.effects = &text.effects;
        }
        // A rule for many is left out where a function has not the sibling that it names; what was said
        // before it stands.
        for (name, member) in &text.members {
            let merged = facts.members.entry(name).or_insert_with(|| MemberText { rule: None, ..member.clone() });
            let there = |rule: &super::rule_text::RuleText| {
                rule.siblings().iter().all(|s| prototype.params.iter().any(|p| p.name == **s))
            };
            merged.at = member.at;
            merged.dir = member.dir.or(merged.dir);
            merged.unit = member.unit.clone().or(merged.unit.take());
            merged.written = member.written.or(merged.written);
            merged.ty = member.ty.clone().or(merged.ty.take());
            let rule = member.rule.clone().filter(|r| by_name || there(r));
            merged.rule = rule.or(merged.rule.take());
        }
    }
    facts
}

fn row(tables: &mut Tables, n: usize, prototype: &Prototype) -> Result<FunctionRow, Error> {
    let family = &tables.api.families[n];
    let at = |at| Location { source: &family.functions_source, at };
    let facts = overlay_facts(family, prototype);
    let void = tables.id(Type::Void);
    let returns = tables.resolve(n, &prototype.returns, at(prototype.returns_at))?;
    let returns = tables.returned(returns);
    let mut siblings = Vec::new();
    for parameter in prototype.params.iter() {
        let member_text = facts.members.get(parameter.name.as_str());
        let mut ty = tables.resolve(n, &parameter.ty, at(parameter.at))?;
        if let Some((over, new)) = member_text.and_then(|o| o.ty.as_ref().map(|t| (o, t))) {
            ty = tables.replaced(n, ty, new, Location { source: &family.overlay_source, at: over.at })?;
        }
        siblings.push(Sibling {
            name: parameter.name.clone(),
            ty,
            dir: parameter.dir,
            unit: parameter.unit.clone(),
            incomplete: tables.is_incomplete(&parameter.ty, ty),
            offset: 0,
            overlay: member_text.cloned(),
        });
    }
    let mut params = Vec::new();
    for k in 0..siblings.len() {
        params.push(tables.member(n, &prototype.name, &siblings, k, false)?);
    }
    let version = prototype.span.until;
    let extents: Vec<Extent> = params.iter().map(|p| tables.extent(p.ty, version)).collect();
    let hidden = argument_words::is_hidden(tables.extent(returns, version), void, returns);
    let shape = argument_words::registers(&mut params, &extents, hidden);
    let bytes = argument_words::block(&mut params, &extents);
    let effects = facts.effects.iter().filter_map(|e| effect(tables, e, &params, facts.location).transpose());
    let effects = effects.collect::<Result<Vec<Effect>, Error>>()?;
    Ok(FunctionRow {
        name: prototype.name.clone(),
        span: prototype.span,
        returns,
        params,
        about: match facts.about {
            "" => tables.api.about.of(&family.name, &prototype.name).unwrap_or("").to_owned(),
            about => about.to_owned(),
        },
        shape,
        effects,
        block: prototype.callback.then_some(bytes),
    })
}

/// An effect with numbers for names; none where this form has not the parameter.
fn effect(tables: &Tables, text: &EffectText, params: &[Member], location: Location) -> Result<Option<Effect>, Error> {
    let find = |name: &String| {
        let at = match name.split_once('.') {
            Some((name, field)) => params.iter().find(|p| p.name == name).and_then(|p| field_of(tables, p.ty, field)),
            None => params.iter().position(|p| p.name == *name),
        };
        let at = at.and_then(|at| u8::try_from(at).ok());
        at.ok_or_else(|| Location { at: text.at, ..location }.error(format!("there is no parameter {name}")))
    };
    let Ok(at) = find(&text.parameter) else { return Ok(None) };
    Ok(Some(match &text.kind {
        EffectKind::Frees => Effect::Frees(at),
        EffectKind::Destroys => Effect::Destroys(at),
        EffectKind::Creates => Effect::Creates(at),
        EffectKind::TellsLogs => Effect::TellsLogs(at),
        EffectKind::KeepsLogs(keys, values) => Effect::KeepsLogs { of: at, keys: find(keys)?, values: find(values)? },
        EffectKind::Pool { of, has_block, numbers } => {
            let [bytes, live, reserved, device] = numbers;
            Effect::Pool {
                of: of.clone().leak(),
                at: has_block.then_some(at),
                bytes: find(bytes)?,
                live: find(live)?,
                reserved: find(reserved)?,
                device: find(device)?,
            }
        }
        EffectKind::Remembers { value, when: None, mode: false } => Effect::Remembers { of: at, value: find(value)? },
        EffectKind::Remembers { value, when, mode } => {
            let (key, is) = match when {
                None => (255, 0),
                Some((key, name)) => {
                    let key = find(key)?;
                    let wrong = || Location { at: text.at, ..location }.error(format!("there is no value {name}"));
                    let Type::Enum(n) = tables.get(params[usize::from(key)].ty) else { return Err(wrong()) };
                    let values = &tables.enums[usize::from(n)].values;
                    let value = values.iter().find(|(_, n)| n == name).ok_or_else(wrong)?;
                    (key, value.0 as i32)
                }
            };
            Effect::RemembersWhen { of: at, value: find(value)?, key, is, mode: *mode }
        }
        EffectKind::Allocates { bytes, memory } => Effect::Allocates {
            at,
            by_value: !leads_to_address(tables, params[usize::from(at)].ty),
            bytes: bytes.as_ref().map_or(Ok(Count::Unknown), |b| rules::count(b, &find))?,
            memory: kind(memory),
        },
        EffectKind::AllocatesInside(memory) => Effect::AllocatesInside { at, memory: kind(memory) },
        EffectKind::Belongs(to) => Effect::Belongs(at, find(to)?),
        EffectKind::Unmaps(bytes) => Effect::Unmaps { at, bytes: rules::count(bytes, &find)? },
    }))
}

fn kind(memory: &str) -> Memory {
    match memory {
        "device" => Memory::Device,
        "host" => Memory::Host,
        "managed" => Memory::Managed,
        "mapped" => Memory::Mapped,
        "graph" => Memory::Graph,
        "external" => Memory::External,
        _ => Memory::Reserved,
    }
}

/// The number of a field of the struct that a pointer leads to.
fn field_of(tables: &Tables, ty: TypeId, field: &str) -> Option<usize> {
    let Type::Pointer(to, _) = tables.get(ty) else { return None };
    let Type::Struct(first) = tables.get(to) else { return None };
    tables.structs[tables.row_at(first, u32::MAX)].fields.iter().position(|f| f.name == field)
}

fn leads_to_address(tables: &Tables, ty: TypeId) -> bool {
    let Type::Pointer(to, _) = tables.get(ty) else { return false };
    let is_address = |ty| matches!(tables.get(ty), Type::Pointer(..) | Type::DevicePointer);
    match tables.get(to) {
        // Its first field: cudaPitchedPtr.
        Type::Struct(first) => {
            let row = &tables.structs[tables.row_at(first, u32::MAX)];
            row.fields.first().is_some_and(|field| field.offset == 0 && is_address(field.ty))
        }
        _ => is_address(to),
    }
}
