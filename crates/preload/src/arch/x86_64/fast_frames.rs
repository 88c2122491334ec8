//! The frames in assembler that a slot may have instead of the common one. `arch::frames` chooses among them.

use super::{chatter_frame, fast, fast_inputs, fast_stack_inputs, launch_frame};
use cutap_calls::capture::Row;

/// For functions of which nothing is known.
pub fn of_unknown() -> usize {
    fast::unknown()
}

/// For functions with nothing but `words` and a few small outputs; none if there is no such frame.
pub fn of_words(words: usize) -> Option<usize> {
    fast::frame(words)
}

/// For functions with words alone, whose calls are counted.
pub fn of_chatter(is_drivers: bool) -> usize {
    chatter_frame::entry(is_drivers)
}

/// For the function of slot `n` of which memory is kept before the call: the narrowest that fits.
pub fn of_inputs(n: u32, row: &Row) -> Option<usize> {
    launch_frame::entry(row).or_else(|| fast_stack_inputs::entry(n, row)).or_else(|| fast_inputs::entry(row))
}
