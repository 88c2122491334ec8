//! The table of `report --by line`: calls by the line of the program that makes them. It needs stacks.

use crate::nesting::open_calls::OpenCalls;
use crate::nesting::path_stacks::stack_of;
use crate::nesting::source_line::{LineNames, line_of};
use crate::statistics::call_stats::CallEnd;
use crate::statistics::tables::{By, Tables};
use cutap_trace::{Call, EventVisitor, Exit};

/// The row of calls whose stack was not kept, or has no line.
const NO_LINE: &str = "(no line)";

/// Adds up calls by their line.
#[derive(Debug)]
pub struct Lines {
    open_calls: OpenCalls,
    names: LineNames,
    tables: Tables,
    has_line: bool,
}

impl Default for Lines {
    fn default() -> Lines {
        let (open_calls, names) = Default::default();
        Lines { open_calls, names, tables: Tables::new(By::Line), has_line: false }
    }
}

impl EventVisitor for Lines {
    fn enter(&mut self, call: &Call) {
        self.open_calls.enter(call);
    }

    fn exit(&mut self, exit: &Exit) {
        let inside = self.open_calls.exit(exit);
        // What is inside a call is of its line.
        let is_inside = self.open_calls.open_calls(exit.call.thread.key).any(|call| call.function.range.is_none());
        if is_inside || exit.call.function.range.is_some() {
            return;
        }
        let end = CallEnd::of(exit, inside);
        let name = stack_of(&self.open_calls, &exit.call).and_then(line_of).map(|line| self.names.name(&line));
        self.has_line |= name.is_some();
        self.tables.named(name.as_deref().unwrap_or(NO_LINE), CallEnd { inside_ns: 0, ..end });
    }
}

impl Lines {
    /// No call has a line.
    pub fn is_empty(&self) -> bool {
        !self.has_line
    }

    /// The table.
    pub fn tables_mut(&mut self) -> &mut Tables {
        &mut self.tables
    }

    /// The table.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }
}
