//! Which communicator it is: a word that is the same on all its ranks, made from what the call that made it was given.

use super::signature::digest_of;
use crate::format::units::hex;
use cutap_calls::Role;
use cutap_trace::Call;
use cutap_trace::decode::Value;

/// What the call says that makes a communicator.
#[derive(Debug, Default)]
pub struct Making {
    pub identity: Option<String>,
    pub ranks: Option<u32>,
    pub rank: Option<u32>,
    /// The order of ranks in what is made.
    pub key: Option<i64>,
    /// The rank has no part in what is made.
    pub is_left_out: bool,
}

/// The communicator from which another one is made, as this rank has it.
#[derive(Debug, Default)]
pub struct Parent {
    pub identity: Option<String>,
    pub rank: Option<u32>,
    pub ranks: Option<u32>,
    /// How many were made from it before.
    pub children: u64,
}

fn is(call: &Call, role: Role) -> bool {
    call.function.range.is_none() && call.function.roles.has(role)
}

/// Whether the call makes a communicator from another one.
pub fn derives(call: &Call) -> bool {
    [Role::SplitsCommunicator, Role::ShrinksCommunicator, Role::GrowsCommunicator].iter().any(|role| is(call, *role))
}

/// Whether the call makes a communicator of this process.
pub fn makes_communicator(call: &Call) -> bool {
    derives(call) || is(call, Role::InitsCommunicator)
}

/// What the argument of the first of these names is.
fn argument<'a>(call: &'a Call, names: &[&str]) -> Option<&'a Value> {
    let mut named = call.function.params().iter().zip(call.inputs());
    named.find(|(param, _)| names.contains(&param.name)).map(|(_, value)| value)
}

fn number(call: &Call, names: &[&str]) -> Option<i64> {
    argument(call, names)?.number().map(|number| number as i64)
}

fn count(call: &Call, names: &[&str]) -> Option<u32> {
    number(call, names).and_then(|number| u32::try_from(number).ok())
}

/// All bytes of a unique id, wherever they stand in the value.
fn bytes(value: &Value, to: &mut Vec<u8>) {
    match value {
        Value::Pointee(_, inner) => bytes(inner, to),
        Value::Struct(fields) => fields.values.iter().for_each(|(_, value)| bytes(value, to)),
        Value::Array(items) => items.values.iter().for_each(|value| bytes(value, to)),
        Value::Id(all) | Value::Bytes(all) => to.extend_from_slice(all),
        Value::Hex(byte) | Value::Uint(byte) => to.push(*byte as u8),
        Value::Int(byte) => to.push(*byte as u8),
        _ => {}
    }
}

/// A word for an id; none for one that was not recorded.
fn of_id(value: Option<&Value>) -> Option<String> {
    let mut all = Vec::new();
    bytes(value?, &mut all);
    (!all.is_empty()).then(|| word(digest_of(0, &all)))
}

fn word(digest: u64) -> String {
    let mut text = String::new();
    hex(digest, &mut text);
    text
}

fn of_parent(parent: &Parent, words: &[u64]) -> Option<String> {
    let digest = digest_of(0, parent.identity.as_ref()?.as_bytes());
    let words = [parent.children].into_iter().chain(words.iter().copied());
    Some(word(words.fold(digest, |digest, n| digest_of(digest, &n.to_le_bytes()))))
}

/// What the call makes, and from which parent.
pub fn making(call: &Call, parent: &Parent) -> Making {
    if is(call, Role::SplitsCommunicator) {
        let color = number(call, &["color"]);
        // How many ranks have this color, and the place among them, is known of all ranks together.
        let identity = color.and_then(|color| of_parent(parent, &[1, color as u64]));
        let key = number(call, &["key"]);
        return Making { identity, key, is_left_out: color == Some(-1), ..Making::default() };
    }
    if is(call, Role::ShrinksCommunicator) {
        let mut excluded: Vec<u32> = match argument(call, &["excludeRanksList"]).map(Value::target) {
            Some(Value::Array(items)) => items.values.iter().filter_map(|value| Some(value.number()? as u32)).collect(),
            _ => Vec::new(),
        };
        excluded.sort_unstable();
        excluded.dedup();
        let before = |rank: u32| excluded.iter().filter(|of| **of < rank).count() as u32;
        return Making {
            identity: of_parent(parent, &[2]),
            ranks: parent.ranks.map(|ranks| ranks.saturating_sub(excluded.len() as u32)),
            rank: parent.rank.map(|rank| rank - before(rank).min(rank)),
            ..Making::default()
        };
    }
    let id = of_id(argument(call, &["commId", "commIds", "uniqueId"]));
    let ranks = count(call, &["nranks", "nRanks"]);
    let rank = count(call, &["rank", "myrank"]);
    if is(call, Role::GrowsCommunicator) && parent.identity.is_some() {
        let identity = id.or_else(|| of_parent(parent, &[3]));
        return Making { identity, ranks, rank: parent.rank, ..Making::default() };
    }
    Making { identity: id, ranks, rank, ..Making::default() }
}
