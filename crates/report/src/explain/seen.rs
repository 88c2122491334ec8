//! A finished call as rules see it, with what its arguments say of memory.

use super::activity::Counted;
use crate::call::call_bytes::copied_bytes;
use cutap_calls::Role;
use cutap_calls::known::Memory;
use cutap_trace::decode::Value;
use cutap_trace::{Call, Exit, Function};

/// A finished call, and the calls around it.
pub struct ObservedCall<'a> {
    pub exit: &'a Exit,
    pub counted: Counted,
    /// The outermost first.
    pub outer_calls: &'a [&'a Call],
    /// The name of the innermost range of NVTX around it.
    pub range: Option<&'a str>,
}

impl ObservedCall<'_> {
    pub fn call(&self) -> &Call {
        &self.exit.call
    }

    pub fn function(&self) -> &Function {
        &self.exit.call.function
    }

    /// How long it took, without what happens once inside it: starting CUDA, loading modules. 0 if it did not return.
    pub fn took_ns(&self) -> u64 {
        self.exit.duration_ns.unwrap_or(0).saturating_sub(self.counted.once_ns)
    }

    /// It has one of these roles, and no call around it has: a runtime's call, and not the driver's inside it.
    pub fn is_outermost(&self, roles: &[Role]) -> bool {
        self.function().roles.has_any(roles) && !self.outer_calls.iter().any(|call| call.function.roles.has_any(roles))
    }

    /// Bytes that it moves, as far as its arguments tell.
    pub fn bytes(&self) -> Option<u64> {
        copied_bytes(self.exit)
    }

    /// One side is memory of the host that is not page-locked.
    pub fn is_pageable(&self) -> bool {
        let pageable = |value: &Value| {
            // Page-locked memory belongs to an allocation, whose size is known.
            matches!(value, Value::Address(_, Some(place)) if place.memory == Memory::Host && place.size == 0)
        };
        self.call().effective_args().iter().any(pageable)
    }
}
