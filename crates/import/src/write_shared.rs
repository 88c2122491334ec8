//! The compact form of `functions.toml`: a prototype once, and the names of all functions that have it.
//! For families of thousands of functions that differ in little but their names.

use crate::ctype::pointee;
use crate::merge::{Function, Param};
use crate::write::{Head, filled};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Functions with the same prototype and versions, by the first name of each; and those of which more is
/// to be said than a prototype can.
pub(crate) fn split(functions: &[Function]) -> (Vec<Vec<&Function>>, Vec<&Function>) {
    let (plain, alone): (Vec<&Function>, Vec<&Function>) = functions.iter().partition(|f| is_plain(f));
    let mut groups: Vec<Vec<&Function>> = Vec::new();
    let mut group_by_key: BTreeMap<String, usize> = BTreeMap::new();
    for function in plain {
        let key = format!("{} {} {} {:?}", function.first, function.last, function.returns, function.params);
        match group_by_key.get(&key).and_then(|at| groups.get_mut(*at)) {
            Some(group) => group.push(function),
            None => {
                group_by_key.insert(key, groups.len());
                groups.push(vec![function]);
            }
        }
    }
    (groups, alone)
}

fn is_plain(function: &Function) -> bool {
    function.base.is_none() && function.forms.is_empty() && function.callbacks.is_empty()
}

/// `[[prototype]]` of a group that [`split`] made.
pub(crate) fn prototype(text: &mut String, head: &Head<'_>, group: &[&Function]) {
    let Some(function) = group.first() else { return };
    text.push_str("\n[[prototype]]\n");
    head.span(text, function.first, function.last);
    let _ = writeln!(text, "returns = \"{}\"", function.returns);
    let params: Vec<String> = function.params.iter().map(param).collect();
    filled(text, "params = [", &params, "]");
    let names: Vec<String> = group.iter().map(|f| format!("\"{}\"", f.name)).collect();
    filled(text, "functions = [", &names, "]");
}

/// `"out Npp8u *pDst"`: direction, where const does not tell it, and unit in front of the declaration.
fn param(param: &Param) -> String {
    let is_const = pointee(&param.ty).is_some_and(|(_, constant)| constant);
    let dir = param.facts.dir.filter(|d| !(is_const && *d == "in")).map_or(String::new(), |d| format!("{d} "));
    let unit = if param.facts.bytes { "bytes " } else { "" };
    let gap = if param.ty.ends_with('*') { "" } else { " " };
    format!("\"{dir}{unit}{}{gap}{}\"", param.ty, param.name)
}
