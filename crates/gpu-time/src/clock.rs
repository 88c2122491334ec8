//! CUPTI's clock between two readings of CLOCK_MONOTONIC. The reader converts times with such brackets.

use crate::cupti::Cupti;
use crate::preload;
use cutap_wire::rows::RowContent;

/// Nanoseconds of CLOCK_MONOTONIC.
fn monotonic() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: there is room for the time.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// Hands over a row with the narrowest of a few brackets.
pub fn give_bracket(cupti: &Cupti) {
    const TRIES: usize = 3;
    let mut best: Option<(u64, u64, u64)> = None;
    for _ in 0..TRIES {
        let before = monotonic();
        let Some(time) = cupti.timestamp() else { return };
        let after = monotonic();
        if best.is_none_or(|(b, _, a)| after.wrapping_sub(before) < a.wrapping_sub(b)) {
            best = Some((before, time, after));
        }
    }
    if let Some((before, time, after)) = best {
        preload::give_own(before, after, RowContent::Clock { time });
    }
}
