//! What of a collective must be the same on all ranks.

use crate::call::arguments::inputs;
use cutap_calls::{Role, function_with, has_role};
use cutap_trace::{Call, Function};
use serde::{Deserialize, Serialize};

/// Parameters that ranks must agree in, and the rank that a transfer is with.
const NAMED: [&str; 7] = ["count", "sendcount", "recvcount", "datatype", "op", "root", "peer"];
/// Reductions with larger numbers are made by the program, on each rank with a number of that rank.
const LAST_OPERATION: f64 = 4.0;

/// A collective without what may differ from rank to rank.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Signature {
    /// The function, for people.
    pub function: String,
    /// Parameters with their values.
    pub parameters: Vec<(String, String)>,
}

/// Whether ranks take part in it together.
pub fn is_collective(function: &Function) -> bool {
    function.range.is_none() && function.roles.has(Role::CollectiveWork)
}

impl Signature {
    /// What a call of a collective says.
    pub fn of(call: &Call) -> Signature {
        let mut all = String::new();
        inputs(call, None, &mut all);
        let named = all.split(", ").filter_map(|part| part.split_once('=')).filter(|(name, _)| NAMED.contains(name));
        let custom = |name: &str| {
            let own = call.function.params().iter().zip(call.inputs()).find(|(param, _)| param.name == name);
            name == "op" && own.and_then(|(_, value)| value.number()).is_some_and(|number| number > LAST_OPERATION)
        };
        let value = |(name, value): (&str, &str)| {
            (name.to_owned(), if custom(name) { "custom".to_owned() } else { value.to_owned() })
        };
        Signature { function: call.function.display_name().to_owned(), parameters: named.map(value).collect() }
    }

    /// The same word for all functions that do the same.
    fn kind(&self) -> &str {
        let plain = self.function.strip_suffix("Config").unwrap_or(&self.function);
        let plain = plain.strip_prefix('p').filter(|plain| plain.starts_with("nccl")).unwrap_or(plain);
        match has_role(self.function.as_bytes(), Role::Broadcasts) {
            true => function_with(Role::Broadcasts),
            false => plain,
        }
    }

    /// Whether both can be the same call of two ranks.
    pub fn agrees(&self, other: &Signature) -> bool {
        self.kind() == other.kind() && self.parameters == other.parameters
    }

    /// A number that agrees where signatures do.
    pub fn digest(&self) -> u64 {
        let parameters = self.parameters.iter().flat_map(|(name, value)| [name.as_str(), value]);
        parameters.fold(digest_of(0, self.kind().as_bytes()), |digest, word| digest_of(digest, word.as_bytes()))
    }

    /// No rank can end it before all ranks have come to it. Where there is a root, the root or the others may.
    pub fn needs_all_ranks(&self) -> bool {
        self.parameter("root").is_none()
    }

    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(of, _)| of == name).map(|(_, value)| value.as_str())
    }

    /// `ncclAllReduce(count=4, datatype=ncclFloat16, op=ncclSum)`.
    pub fn text(&self) -> String {
        self.text_of(&|_| true)
    }

    /// The function, with those parameters in which it differs from another one of the same function.
    pub fn difference_text(&self, others: &[&Signature]) -> String {
        if others.iter().any(|other| other.kind() != self.kind()) {
            return self.function.clone();
        }
        self.text_of(&|name| others.iter().any(|other| other.parameter(name) != self.parameter(name)))
    }

    fn text_of(&self, is_wanted: &dyn Fn(&str) -> bool) -> String {
        let named = self.parameters.iter().filter(|(name, _)| is_wanted(name));
        let named: Vec<String> = named.map(|(name, value)| format!("{name}={value}")).collect();
        format!("{}({})", self.function, named.join(", "))
    }
}

/// FNV-1a, continued: a number that is the same on all machines.
pub fn digest_of(before: u64, bytes: &[u8]) -> u64 {
    const START: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let step = |digest: u64, byte: &u8| (digest ^ u64::from(*byte)).wrapping_mul(PRIME);
    // The end of a word counts too.
    bytes.iter().chain(&[0xff]).fold(before ^ START, step)
}
