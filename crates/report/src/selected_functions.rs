//! The functions, of each process, of which a filter selects a call. A report that follows all calls lists what
//! belongs to these.

use crate::label::Label;
use cutap_trace::{Call, Event};
use std::collections::HashSet;

/// Functions by the key of the process and the label. Without an event nothing is selected.
#[derive(Debug, Default)]
pub struct SelectedFunctions {
    labels: HashSet<(u32, String)>,
    /// Keys of processes and functions that are known.
    known_functions: HashSet<(u32, u32)>,
}

impl SelectedFunctions {
    /// Takes an event that the filter selects.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Enter(call) => self.add(call),
            Event::Exit(exit) => self.add(&exit.call),
            _ => {}
        }
    }

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
