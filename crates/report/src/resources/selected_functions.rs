//! The functions, of each process, of which a filter selects a call. A report that follows all calls lists what
//! belongs to these.

use crate::format::label::Label;
use cutap_trace::{Call, EventVisitor, Exit};
use std::collections::HashSet;

/// Functions by the key of the process and the label. Without an event nothing is selected.
#[derive(Debug, Default)]
pub struct SelectedFunctions {
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
    fn add(&mut self, call: &Call) {
        let process = call.thread.process.key;
        if self.known_functions.insert((process, call.function.key)) {
            let label = Label::new(&call.function, call.instance().map(|i| &**i)).text();
            self.labels.insert((process, label));
        }
    }

    /// Whether one of the calls of a path is of such a function.
    pub(crate) fn has_any(&self, process: u32, path: &[String]) -> bool {
        path.iter().any(|label| self.labels.contains(&(process, label.clone())))
    }
}
