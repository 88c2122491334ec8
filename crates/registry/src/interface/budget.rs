//! The bytes of all steps of a call in one record: no more than a record holds.

use super::capture::{ALWAYS, EXIT, NONE, Step, kind};

/// Bytes of all fragments of a record, and with the words of the call.
const ROOM: u32 = 1600;
const WITH_WORDS: u32 = 1776;
/// Bytes of a fragment beside what it keeps.
const HEAD: u32 = 16;
/// What a step keeps at least.
const LEAST: u32 = 32;

/// Cuts what steps of no fixed size keep, so that all have room.
pub(crate) fn fit(steps: &mut [Step], words: u32) {
    let room = ROOM.min(WITH_WORDS - 8 * words);
    for after in [false, true] {
        let mine = |s: &Step| (s.flags & (EXIT | ALWAYS) != 0) == after;
        let open = |s: &Step| s.kind != kind::MEMORY || s.count_base != NONE;
        let cost = |s: &Step| HEAD + u32::from(s.most).next_multiple_of(8);
        let fixed: u32 = steps.iter().filter(|s| mine(s) && !open(s)).map(cost).sum();
        let mut wishes: Vec<u32> = steps.iter().filter(|s| mine(s) && open(s)).map(cost).collect();
        if fixed + wishes.iter().sum::<u32>() <= room || wishes.is_empty() {
            continue;
        }
        // Small wishes are granted whole, the others share what is left.
        wishes.sort_unstable();
        let (mut left, mut sharers) = (room.saturating_sub(fixed), wishes.len() as u32);
        for wish in &wishes {
            if *wish * sharers > left {
                break;
            }
            (left, sharers) = (left - wish, sharers - 1);
        }
        let share = (left / sharers.max(1)).saturating_sub(HEAD).max(LEAST) / 8 * 8;
        for step in steps.iter_mut().filter(|s| mine(s) && open(s)) {
            step.most = step.most.min(share as u16);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(most: u16, count_base: u8) -> Step {
        Step { kind: kind::MEMORY, flags: 0, base: 255, count_base, offset: 0, count: 1, size: 8, most }
    }

    #[test]
    fn small_ones_stay_whole() {
        let mut steps = [step(600, NONE), step(64, 255), step(1024, 255), step(1024, 255)];
        fit(&mut steps, 11);
        assert_eq!(steps.map(|s| s.most), [600, 64, 432, 432]);
        let total: u32 = steps.iter().map(|s| 16 + u32::from(s.most)).sum();
        assert!(total <= ROOM, "{total}");
        let mut few = [step(1024, 255), step(256, 255)];
        fit(&mut few, 11);
        assert_eq!(few.map(|s| s.most), [1024, 256]);
    }
}
