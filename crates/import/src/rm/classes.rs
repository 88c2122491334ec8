//! Classes: numbers and names of all, and for those that RM can allocate what `resource_list.h` says of their
//! parameters.

use super::checkout::Checkout;
use super::release::Rows;
use super::text::{arguments, define, number, plain};
use super::types::Types;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;

/// `number name parameters bytes need privilege properties...`.
pub(super) fn rows(checkout: &Checkout, types: &mut Types<'_>) -> Result<Rows> {
    let text = checkout.text("src/nvidia/generated/g_allclasses.h")?;
    let mut numbers = BTreeMap::new();
    let mut rows = Rows::new();
    for line in text.lines() {
        let Some((name, rest)) = define(line) else { continue };
        let Some(value) = rest.split("//").next().and_then(number) else { continue };
        numbers.insert(name, value);
        // The first name that is not marked as another's alias.
        if !rest.contains("alias") {
            rows.entry(key(value)).or_insert_with(|| format!("{name} - 0 none unknown unlisted"));
        }
    }
    let list = plain(&checkout.text("src/nvidia/src/kernel/rmapi/resource_list.h")?);
    let mut listed = 0;
    for call in list.split("RS_ENTRY(").skip(1) {
        let (words, _) = arguments(call).context("an RS_ENTRY has no end")?;
        let [name, _, _, _, params, _, flags, ..] = words[..] else { continue };
        let value = *numbers.get(name).with_context(|| format!("class {name} has no number"))?;
        let (need, params) = match params.split_once('(') {
            Some((need, rest)) => (need.trim(), rest.trim_end_matches(')').trim()),
            None => (params, "-"),
        };
        let need = need.trim_start_matches("RS_").to_ascii_lowercase();
        let size = if params == "-" { 0 } else { types.add(params).with_context(|| name.to_owned())? };
        let has = |flag: &str| flags.split('|').any(|f| f.trim() == flag);
        let privilege = match () {
            () if has("RS_FLAGS_ALLOC_KERNEL_PRIVILEGED") => "kernel",
            () if has("RS_FLAGS_ALLOC_PRIVILEGED") => "admin",
            () if has("RS_FLAGS_ALLOC_NON_PRIVILEGED") => "any",
            () => "unstated",
        };
        let to_gsp = has("RS_FLAGS_ALLOC_RPC_TO_PHYS_RM") || has("RS_FLAGS_ALLOC_RPC_TO_ALL");
        let gsp = if to_gsp { " gsp" } else { "" };
        rows.insert(key(value), format!("{name} {} {size} {need} {privilege}{gsp}", params.replace(' ', "")));
        listed += 1;
    }
    ensure!(listed > 100, "only {listed} classes that RM allocates were found");
    Ok(rows)
}

fn key(value: u64) -> String {
    format!("{value:#06x}")
}
