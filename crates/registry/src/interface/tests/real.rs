//! What must hold for every function of the real `api/`.

use super::named::tables;
use crate::interface::capture::{ALWAYS, EXIT, NONE, RESULT, Step, WORDS};
use crate::interface::steps::{self, At, Form};

/// Bytes of a record's fragments and the words of its call that the target has room for.
const ROOM: u32 = 1776;

fn is_after(step: &Step) -> bool {
    step.flags & (EXIT | ALWAYS) != 0
}

#[test]
fn steps_of_all_functions() {
    let (tables, all) = tables();
    let mut looked_at = 0;
    for (family, rows) in tables.api.families.iter().zip(all) {
        let at = At { version: u32::MAX, driver: family.name == "driver" };
        for row in rows {
            assert!(row.params.iter().all(|p| p.name != "..."), "{}", row.name);
            let shape = row.shape;
            assert!(shape.ints <= 6 && shape.vectors <= 8 && shape.stack <= 40, "{}", row.name);
            for form in [Form::Registers, Form::Block] {
                if form == Form::Block && row.block.is_none() {
                    continue;
                }
                let steps = steps::steps(tables, row, form, at);
                let words = u32::from(shape.ints) + u32::from(shape.vectors) + u32::from(shape.stack);
                check(&row.name, &steps, words);
                looked_at += 1;
            }
        }
    }
    assert!(looked_at > 4000, "{looked_at}");
}

fn check(name: &str, steps: &[Step], words: u32) {
    // One more would be cut off, and perhaps has been.
    assert!(steps.len() < 24, "{name}: {} steps", steps.len());
    for after in [false, true] {
        let mine = steps.iter().filter(|s| is_after(s) == after);
        let bytes: u32 = mine.map(|s| 16 + u32::from(s.most).next_multiple_of(8)).sum();
        assert!(bytes + 8 * words <= ROOM, "{name}: {bytes} bytes");
    }
    for (n, step) in steps.iter().enumerate() {
        // A base is an earlier step of the same side.
        for base in [step.base, step.count_base] {
            if ![WORDS, RESULT, NONE].contains(&base) {
                let from = &steps[usize::from(base)];
                assert!(usize::from(base) < n && is_after(from) == is_after(step), "{name}: {step:?}");
            }
        }
    }
}
