//! What the target has to know of functions: which return a status, which fail after a fault of the GPU.

use super::function_names::layer_of;
use cutap_calls::generated::known::TABLES;
use cutap_calls::known::{Function, Type};
use cutap_calls::{Role, blocks, has_role, resets};
use cutap_hook::contract::DRIVER;
use cutap_wire::injected::{Class, class, name_hash};

/// The classes of all known functions that have one, sorted by the hash of the name.
pub fn classes() -> Vec<Class> {
    let of = |(function, layer): (&Function, u32)| Class {
        hash: name_hash(function.name.as_bytes()),
        bits: bits(function, layer),
    };
    let functions =
        TABLES.families.iter().flat_map(|family| family.functions.iter().map(move |f| (f, layer_of(family))));
    let mut all: Vec<Class> = functions.map(of).filter(|class| class.bits != 0).collect();
    all.sort_unstable_by_key(|class| class.hash);
    all.dedup_by_key(|class| class.hash);
    all
}

fn bits(function: &Function, layer: u32) -> u64 {
    let name = function.name;
    let has = |role| has_role(name.as_bytes(), role);
    let has_status = matches!(TABLES.types.get(usize::from(function.returns)), Some(Type::Status(_)));
    let all = [
        (has_status, class::STATUS),
        (has_status && layer == DRIVER && !has(Role::WorksAfterFault), class::FAILS_AFTER_FAULT),
        (blocks(name).is_some() || has(Role::ReportsFault), class::REPORTS),
        (has(Role::Asynchronous), class::ASYNCHRONOUS),
        (resets(name), class::RESETS),
        (has(Role::DestroysContext), class::ENDS_CONTEXT),
    ];
    all.iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum()
}
