//! Collectives of an NCCL that is linked into the program. Its functions are not seen, but it marks each call with a
//! range of NVTX, and the range's payload says which communicator it is and what is called.

use super::signature::Signature;
use crate::call::range::structured_payload;
use crate::call::values::write_value;
use crate::format::units::hex;
use cutap_calls::generated::nvtx::nccl_ranges::{COMMUNICATOR, DOMAIN, PEER};
use cutap_calls::{Role, has_role};
use cutap_trace::decode::Value;
use cutap_trace::{Call, RangeMoment};

/// What a range of NCCL says of a collective.
#[derive(Debug)]
pub struct RangeCall {
    /// NCCL's own number of the communicator, the same on all its ranks.
    pub communicator: u64,
    pub signature: Signature,
    /// Of a transfer: whether it sends, and the other rank.
    pub transfer: Option<(bool, u32)>,
}

/// The range of a function of NCCL with this role.
pub fn is_range(call: &Call, role: Role) -> bool {
    call.function.range == Some(RangeMoment::Range)
        && &*call.function.library == DOMAIN
        && has_role(call.function.name.as_bytes(), role)
}

/// None for ranges of anything else, and for one without a payload.
pub fn range_call(call: &Call) -> Option<RangeCall> {
    if !is_range(call, Role::CollectiveWork) {
        return None;
    }
    let Value::List(fields) = structured_payload(call)? else { return None };
    let named = || fields.names.iter().flat_map(|names| names.iter()).map(|name| &**name).zip(&fields.values);
    let number = |wanted: &str| match named().find(|(name, _)| *name == wanted)? {
        (_, Value::Uint(number) | Value::Hex(number)) => Some(*number),
        (_, Value::Int(number)) => u64::try_from(*number).ok(),
        _ => None,
    };
    let parameter = |(name, value): (&str, &Value)| {
        let mut text = String::new();
        write_value(value, &mut text);
        (name.to_owned(), text)
    };
    let parameters = named().filter(|(name, _)| *name != COMMUNICATOR).map(parameter).collect();
    let signature = Signature { function: call.function.display_name().to_owned(), parameters };
    let is_send = is_range(call, Role::SendsToRank);
    let peer = || number(PEER).and_then(|peer| u32::try_from(peer).ok()).unwrap_or(u32::MAX);
    let transfer = (is_send || is_range(call, Role::ReceivesFromRank)).then(|| (is_send, peer()));
    Some(RangeCall { communicator: number(COMMUNICATOR).filter(|number| *number != 0)?, signature, transfer })
}

/// The word that stands for the communicator.
pub fn identity(communicator: u64) -> String {
    let mut text = String::new();
    hex(communicator, &mut text);
    text
}
