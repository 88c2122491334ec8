//! The functions, of each process, of which a filter selects a call. A report that follows all calls lists what
//! belongs to these.

use crate::format::label::Label;
use cutap_trace::{Call, EventVisitor, Exit, Filter};
use std::collections::HashSet;

/// Functions by the key of the process and the label. Without an event nothing is selected.
#[derive(Debug, Default)]
pub struct SelectedFunctions {
    /// The filter only leaves functions out, so that each call of a path must be selected.
    needs_each: bool,
    labels: HashSet<(u32, String)>,
    /// Keys of processes and functions that are known.
    known_functions: HashSet<(u32, u32)>,
}

/// Takes the events that the filter selects.
impl EventVisitor for SelectedFunctions {
    fn enter(&mut self, call: &Call) {
        self.add(call);
    }

    fn exit(&mut self, exit: &Exit) {
        self.add(&exit.call);
    }
}

impl SelectedFunctions {
    /// Those of a filter, whose events are still to be taken.
    pub fn of(filter: &Filter) -> SelectedFunctions {
        SelectedFunctions { needs_each: filter.only_excludes(), ..SelectedFunctions::default() }
    }

    fn add(&mut self, call: &Call) {
        let process = call.thread.process.key;
        if self.known_functions.insert((process, call.function.key)) {
            let label = Label::new(&call.function, call.instance().map(|i| &**i)).text();
            self.labels.insert((process, label));
        }
    }

    /// Whether one of the calls of a path is of such a function; each, if the filter only leaves functions out.
    pub(crate) fn selects(&self, process: u32, path: &[String]) -> bool {
        let mut is_selected = path.iter().map(|label| self.labels.contains(&(process, label.clone())));
        if self.needs_each { is_selected.all(|selected| selected) } else { is_selected.any(|selected| selected) }
    }
}
