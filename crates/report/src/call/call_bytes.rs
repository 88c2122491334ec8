//! The number of bytes that a call allocates, copies or fills.

use crate::call::allocation_size::allocation_size;
use cutap_calls::{Role, has_role};
use cutap_trace::Exit;
use cutap_trace::decode::Value;

/// The roles of functions that copy or fill memory.
pub(crate) const COPY_ROLES: [Role; 4] = [Role::Copy, Role::AsyncCopy, Role::Fill, Role::AsyncFill];

/// Whether a function of this name copies or fills memory.
pub(crate) fn copies(function: &str) -> bool {
    COPY_ROLES.iter().any(|role| has_role(function.as_bytes(), *role))
}

/// Bytes of the largest range of memory among the arguments, as far as they have lengths.
pub(crate) fn copied_bytes(exit: &Exit) -> Option<u64> {
    let range = |value: &Value| if let Value::Address(_, Some(place)) = value { place.bytes } else { None };
    exit.call.effective_args().iter().filter_map(range).max()
}

/// Bytes that a call allocated, or else copied or filled if its function `copies`. `None` for failed calls, and for
/// those whose arguments have no size.
pub(crate) fn call_bytes(exit: &Exit, copies: bool) -> Option<u64> {
    if exit.is_error() {
        return None;
    }
    allocation_size(exit).or_else(|| if copies { copied_bytes(exit) } else { None })
}
