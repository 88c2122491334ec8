//! What hooks did to a call: behind its result in the text, a list in JSON.

use crate::units::word;
use cutap_trace::{Call, Did, Exit, Hooked};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// ` [answered by libmine.so]`, ` [libmine.so: gridDimX=128]`, ` [libmine.so: result was 0]`.
pub(crate) fn write_hooked(call: &Call, to: &mut String) {
    for Hooked { hook, did } in call.hooked() {
        match did {
            Did::Answer => {
                let _ = write!(to, " [answered by {hook}");
            }
            Did::Argument(n, value) => {
                let _ = write!(to, " [{hook}: {}=", parameter(call, n));
                word(value, to);
            }
            Did::Result(was) => {
                let _ = write!(to, " [{hook}: result was ");
                word(was, to);
            }
        }
        to.push(']');
    }
}

/// The same as a list; none if no hook did anything.
pub(crate) fn hooked_json(exit: &Exit) -> Option<Vec<Value>> {
    let call = &exit.call;
    let one = |h: Hooked| match h.did {
        Did::Answer => json!({"hook": &*h.hook, "did": "answer"}),
        Did::Argument(n, value) => {
            json!({"hook": &*h.hook, "did": "argument", "argument": parameter(call, n), "value": format!("{value:#x}")})
        }
        Did::Result(was) => json!({"hook": &*h.hook, "did": "result", "was": format!("{was:#x}")}),
    };
    let all: Vec<Value> = call.hooked().into_iter().map(one).collect();
    (!all.is_empty()).then_some(all)
}

fn parameter(call: &Call, n: usize) -> String {
    call.function.params().get(n).map_or_else(|| format!("argument {n}"), |p| p.name.to_owned())
}
