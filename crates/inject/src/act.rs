//! What a rule does with a call.

use crate::table;
use core::ffi::c_int;
use core::sync::atomic::{AtomicPtr, Ordering};
use cutap_hook::contract::{Call, Function, Host, OK, kind};
use cutap_wire::injected::{Condition, Row, action, comparison};

static HOST: AtomicPtr<Host> = AtomicPtr::new(core::ptr::null_mut());

/// The call is acted on when it has ended, too.
const ACTED: u64 = 1;

/// Keeps what cutap gives.
pub fn set_host(host: &Host) {
    HOST.store(core::ptr::from_ref(host).cast_mut(), Ordering::Release);
}

fn host() -> Option<&'static Host> {
    // SAFETY: null, or cutap's host, which stays.
    unsafe { HOST.load(Ordering::Acquire).as_ref() }
}

/// Sleeps so many nanoseconds. After a signal it sleeps what remains.
pub fn sleep(nanoseconds: u64) {
    const SECOND: u64 = 1_000_000_000;
    let mut time = libc::timespec { tv_sec: (nanoseconds / SECOND) as i64, tv_nsec: (nanoseconds % SECOND) as i64 };
    // No call of libc's nanosleep, at which a thread may be cancelled in the middle of a hook.
    // SAFETY: a time that is read, and written with what remains.
    while unsafe { libc::syscall(libc::SYS_nanosleep, &raw const time, &raw mut time) } != 0 {
        // SAFETY: this thread's errno.
        if unsafe { *libc::__errno_location() } != libc::EINTR {
            return;
        }
    }
}

/// Runs with the program's errno kept.
fn with_errno(act: impl FnOnce()) {
    // SAFETY: this thread's errno.
    let errno = unsafe { *libc::__errno_location() };
    act();
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// What cutap calls before a call.
///
/// # Safety
/// A call of a function that the row in `user` is of.
pub unsafe extern "C" fn before(call: *mut Call) {
    // SAFETY: the caller's promise: the row is of the mapped file, which stays.
    let (Some(host), Some(row)) = (host(), unsafe { (*call).user.cast::<Row>().as_ref::<'static>() }) else { return };
    // SAFETY: the caller's promise.
    if !row.conditions.iter().all(|condition| unsafe { is_fulfilled(host, call, condition) }) {
        return;
    }
    let counter = table::counter(row);
    let number = counter.matched.fetch_add(1, Ordering::Relaxed) + 1;
    if !row.is_meant(number) || !row.has_chance(table::seed(), number) {
        return;
    }
    counter.acted.fetch_add(1, Ordering::Relaxed);
    with_errno(|| {
        if row.delay_enter > 0 {
            sleep(row.delay_enter);
        }
        if row.signal != 0 {
            // SAFETY: a signal for this thread, as the user asked for.
            unsafe { libc::raise(row.signal as c_int) };
        }
    });
    // SAFETY: the host's functions with its own call.
    unsafe {
        (*call).user_data = ACTED;
        if row.actions & action::SET != 0 {
            let index = (host.index)((*call).function, row.changed.as_ptr().cast());
            count_refusal(counter, (host.write)(call, index, (&raw const row.value).cast(), size_of::<u64>()));
        }
        if row.actions & (action::RESULT | action::AFTER) == action::RESULT {
            count_refusal(counter, (host.answer)(call, row.result));
            if row.delay_exit > 0 {
                with_errno(|| sleep(row.delay_exit));
            }
        }
    }
}

/// What cutap calls after a call.
///
/// # Safety
/// As `before`.
pub unsafe extern "C" fn after(call: *mut Call) {
    // SAFETY: as above.
    let (Some(host), Some(row)) = (host(), unsafe { (*call).user.cast::<Row>().as_ref::<'static>() }) else { return };
    // SAFETY: as above.
    if unsafe { (*call).user_data } != ACTED {
        return;
    }
    let is_answered = row.actions & (action::RESULT | action::AFTER) == action::RESULT;
    if row.delay_exit > 0 && !is_answered {
        with_errno(|| sleep(row.delay_exit));
    }
    if row.actions & (action::RESULT | action::AFTER) == action::RESULT | action::AFTER {
        // SAFETY: the host's function with its own call.
        count_refusal(table::counter(row), unsafe { (host.set_result)(call, row.result) });
    }
}

fn count_refusal(counter: &Row, answer: c_int) {
    if answer != OK {
        counter.refused.fetch_add(1, Ordering::Relaxed);
    }
}

/// Whether the argument fulfils the condition. One that is not there does not.
unsafe fn is_fulfilled(host: &Host, call: *mut Call, condition: &Condition) -> bool {
    if condition.comparison == comparison::NONE {
        return true;
    }
    // SAFETY: the host's functions with its own call; there is room for the argument's first eight bytes.
    let argument = unsafe {
        let function: &Function = &*(*call).function;
        let index = (host.index)(function, condition.parameter.as_ptr().cast());
        let mut word = 0_u64;
        if index < 0 || (host.read)(call, index, (&raw mut word).cast(), size_of::<u64>()) != OK {
            return false;
        }
        let parameter = &*function.parameter.add(index as usize);
        signed_or_not(word, parameter.kind, parameter.bytes)
    };
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
