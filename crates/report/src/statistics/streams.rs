//! The table of `report --by stream`. It needs decoded arguments, to know which of them is the stream.

use crate::call::stream_argument::stream;
use crate::nesting::open_calls::OpenCalls;
use crate::statistics::call_stats::CallEnd;
use crate::statistics::tables::{By, Tables};
use cutap_trace::{Call, EventVisitor, Exit};

/// Adds up calls by their stream argument.
#[derive(Debug)]
pub struct Streams {
    open_calls: OpenCalls,
    tables: Tables,
}

impl Default for Streams {
    fn default() -> Streams {
        Streams { open_calls: OpenCalls::default(), tables: Tables::new(By::Stream) }
    }
}

impl EventVisitor for Streams {
    fn enter(&mut self, call: &Call) {
        self.open_calls.enter(call);
    }

    fn exit(&mut self, exit: &Exit) {
        let inside = self.open_calls.exit(exit);
        // A nested call of another layer has the same stream. Only the outermost one counts.
        let counted = self.open_calls.open_calls(exit.call.thread.key).any(|call| stream(call).is_some());
        if let Some(name) = name(exit).filter(|_| !counted) {
            self.tables.named(&name, CallEnd::of(exit, inside));
        }
    }
}

impl Streams {
    /// The table.
    pub fn tables_mut(&mut self) -> &mut Tables {
        &mut self.tables
    }

    /// The table.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }
}

fn name(exit: &Exit) -> Option<String> {
    let pid = exit.call.thread.process.pid;
    stream(&exit.call).map(|name| format!("process {pid} {name}"))
}
