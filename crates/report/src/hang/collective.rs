//! Collectives as a wait names them. The number of the call in its communicator belongs here, once it is known.

use super::subject::has;
use crate::call::arguments::inputs;
use cutap_calls::Role;
use cutap_trace::{Call, Function};

/// Parameters that tell one collective from another.
const NAMED: [&str; 7] = ["count", "sendcount", "recvcount", "datatype", "op", "root", "peer"];

/// Whether ranks take part in it together.
pub fn is_collective(function: &Function) -> bool {
    function.range.is_none() && has(function, Role::CollectiveWork)
}

/// `ncclAllReduce(count=4, datatype=ncclFloat16, op=ncclSum)`.
pub fn collective_text(call: &Call) -> String {
    let mut all = String::new();
    inputs(call, None, &mut all);
    let name = call.function.display_name();
    let named = all.split(", ").filter(|part| part.split_once('=').is_some_and(|(name, _)| NAMED.contains(&name)));
    format!("{name}({})", named.collect::<Vec<_>>().join(", "))
}
