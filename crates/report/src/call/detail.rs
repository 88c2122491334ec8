//! The texts of a call for a page that shows one call at a time: its arguments after the call, its result, its stack.

use crate::call::arguments::{inputs, words};
use crate::call::columns::CallView;
use crate::call::values::write_value;
use crate::format::units::word;
use crate::nesting::stacks;
use cutap_trace::{Exit, Returned, State};

/// The texts of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallDetail {
    /// `name=value, name=value`, or the words of a function of which nothing is known.
    pub arguments: String,
    /// The status, value or number that it returned, or how else it ended.
    pub result: String,
    /// One line for each frame of its stack, the innermost first; empty without one.
    pub stack: Vec<String>,
}

impl CallDetail {
    /// Those of a call that has ended.
    pub fn of(exit: &Exit) -> CallDetail {
        let mut detail = CallDetail { stack: stacks::lines(&exit.call), ..CallDetail::default() };
        match (exit.call.function.range.is_some(), CallView::exit(exit).is_described()) {
            (true, _) => {}
            (false, true) => inputs(&exit.call, Some(exit), &mut detail.arguments),
            (false, false) => words(exit.call.args.words(), &mut detail.arguments),
        }
        let to = &mut detail.result;
        match exit.returned() {
            Some(Returned::Status(status)) => match exit.status_name() {
                Some(name) => to.push_str(name),
                None => to.push_str(&status.to_string()),
            },
            Some(_) if exit.value.is_some() => exit.value.iter().for_each(|value| write_value(value, to)),
            Some(Returned::Number(value) | Returned::Word(value)) => word(value, to),
            Some(Returned::Nothing | Returned::Unreported) => {}
            None => to.push_str(if exit.state == State::Unwound { "unwound" } else { "never returned" }),
        }
        detail
    }
}
