//! Second opinion on the parameter block of runtime callbacks: CUPTI's `NAME_vN_params` structs against
//! the natural layout of the prototype's parameters, which is what `api/` gives.

use crate::Repository;
use crate::canonical::canonical;
use crate::clang::Reading;
use crate::decls::{Decls, Field, Record};
use crate::fetch;
use crate::layout::Layouts;
use crate::snapshot::Snapshot;
use anyhow::Result;
use std::collections::BTreeMap;

/// How many blocks were compared, and those that differ.
pub(crate) struct Outcome {
    pub(crate) checked: usize,
    pub(crate) wrong: Vec<String>,
}

/// Compares one version's.
pub(crate) fn check(place: &Repository, snapshot: &Snapshot, cupti: &str) -> Result<Outcome> {
    let mut folders = snapshot.folders.clone();
    folders.push(fetch::headers(&place.cache, cupti)?);
    let headers = vec!["cuda_runtime_api.h", "generated_cuda_runtime_api_meta.h"];
    let reading = Reading { headers, folders: &folders, defines: Vec::new(), cxx: false };
    let meta = Decls::of(&reading.tree()?);
    let theirs = newest(&meta);
    let mut outcome = Outcome { checked: 0, wrong: Vec::new() };
    for (name, function) in &snapshot.functions {
        let Some(block) = theirs.get(name.as_str()) else { continue };
        outcome.checked += 1;
        let field = |(name, ty): &(String, String)| Field { name: name.clone(), ty: ty.clone(), bits: None, align: 0 };
        let ours = Record { fields: function.params.iter().map(field).collect(), ..Record::default() };
        let (mine, their) = (rows(&snapshot.decls, &ours), rows(&meta, block));
        if mine != their {
            outcome.wrong.push(format!("{name}: the prototype gives {mine:?}, CUPTI's struct {their:?}"));
        }
    }
    Ok(outcome)
}

/// The struct of the newest version of each function.
fn newest(meta: &Decls) -> BTreeMap<&str, &Record> {
    let mut newest_by_name: BTreeMap<&str, (u32, &Record)> = BTreeMap::new();
    for (tag, record) in &meta.records {
        let Some((name, since)) = tag.strip_suffix("_params_st").and_then(|t| t.rsplit_once("_v")) else { continue };
        let Ok(since) = since.parse::<u32>() else { continue };
        if newest_by_name.get(name).is_none_or(|old| old.0 < since) {
            newest_by_name.insert(name, (since, record));
        }
    }
    newest_by_name.into_iter().map(|(name, (_, record))| (name, record)).collect()
}

/// Offset and resolved type of each field.
fn rows(decls: &Decls, record: &Record) -> Vec<(u64, String)> {
    let Some((_, places)) = Layouts::of(decls).places(record) else { return Vec::new() };
    record.fields.iter().zip(places).map(|(f, place)| (place.offset, canonical(decls, &f.ty))).collect()
}
