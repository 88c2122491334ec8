//! Conditions of a rule on arguments.

use core::ffi::c_char;
use cutap_hook::contract::{Call, Function, Host, OK, kind};
use cutap_wire::injected::{Condition, comparison};

/// Whether the argument fulfils the condition. One that is not there does not.
///
/// # Safety
/// The host's own call.
pub unsafe fn is_fulfilled(host: &Host, call: *mut Call, condition: &Condition) -> bool {
    if condition.comparison == comparison::NONE {
        return true;
    }
    // SAFETY: the caller's promise.
    let Some(argument) = (unsafe { argument(host, call, condition.parameter.as_ptr().cast()) }) else { return false };
    let value = i128::from(condition.value);
    match condition.comparison {
        comparison::EQUAL => argument == value,
        comparison::DIFFERENT => argument != value,
        comparison::LESS => argument < value,
        comparison::AT_MOST => argument <= value,
        comparison::GREATER => argument > value,
        comparison::AT_LEAST => argument >= value,
        _ => false,
    }
}

/// An argument by the parameter's name, if there is one.
///
/// # Safety
/// The host's own call, and a name that ends with a zero.
pub unsafe fn argument(host: &Host, call: *mut Call, parameter: *const c_char) -> Option<i128> {
    // SAFETY: the host's functions with its own call; there is room for the argument's first eight bytes.
    unsafe {
        let function: &Function = &*(*call).function;
        let index = (host.index)(function, parameter);
        let mut word = 0_u64;
        if index < 0 || (host.read)(call, index, (&raw mut word).cast(), size_of::<u64>()) != OK {
            return None;
        }
        let parameter = &*function.parameter.add(index as usize);
        Some(signed_or_not(word, parameter.kind, parameter.bytes))
    }
}

fn signed_or_not(word: u64, of_kind: u8, bytes: u16) -> i128 {
    let unused = 64_u32.saturating_sub(u32::from(bytes.clamp(1, 8)) * 8);
    let shifted = word.wrapping_shl(unused);
    match of_kind {
        kind::SIGNED => i128::from((shifted as i64).wrapping_shr(unused)),
        _ => i128::from(shifted.wrapping_shr(unused)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_have_their_sign() {
        assert_eq!(signed_or_not(0xffff_ffff, kind::SIGNED, 4), -1);
        assert_eq!(signed_or_not(0xffff_ffff, kind::UNSIGNED, 4), 0xffff_ffff);
        assert_eq!(signed_or_not(u64::MAX, kind::UNSIGNED, 8), i128::from(u64::MAX));
        assert_eq!(signed_or_not(0xaa_0000_0007, kind::UNSIGNED, 4), 7);
    }
}
