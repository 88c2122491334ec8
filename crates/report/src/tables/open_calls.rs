//! The open calls of each thread: parents, and the time of the calls made from each.

use cutap_trace::{Call, Exit};

/// An open call.
#[derive(Debug, Clone, Copy)]
struct Open {
    id: u64,
    /// Nanoseconds of the calls made from it.
    inside_ns: u64,
}

/// By the thread's key, the outermost first.
#[derive(Debug, Default)]
pub(super) struct OpenTimes(Vec<Vec<Open>>);

impl OpenTimes {
    /// A call begins.
    pub fn enter(&mut self, call: &Call) {
        if call.function.entry_only {
            return;
        }
        let key = call.thread.key as usize;
        if key >= self.0.len() {
            self.0.resize_with(key + 1, Vec::new);
        }
        self.0[key].push(Open { id: crate::nesting::nest::id(call), inside_ns: 0 });
    }

    /// The innermost open call of a thread.
    pub fn innermost(&self, thread: u32) -> Option<u64> {
        self.0.get(thread as usize)?.last().map(|open| open.id)
    }

    /// Ends a call and the open calls inside it: the call around it, and the time without the calls made from it.
    pub fn exit(&mut self, exit: &Exit) -> (Option<u64>, Option<u64>) {
        let took = exit.duration_ns;
        let Some(open) = self.0.get_mut(exit.call.thread.key as usize) else { return (None, took) };
        let id = crate::nesting::nest::id(&exit.call);
        let Some(place) = open.iter().rposition(|open| open.id == id) else { return (None, took) };
        let inside_ns = open[place].inside_ns;
        // A range of NVTX may be popped while others that were pushed later are open.
        match exit.call.function.range {
            Some(_) => drop(open.remove(place)),
            None => open.truncate(place),
        }
        let open_around = place.checked_sub(1).and_then(|around| open.get_mut(around));
        let parent = open_around.map(|around| {
            around.inside_ns = around.inside_ns.saturating_add(took.unwrap_or(0));
            around.id
        });
        (parent, took.map(|took| took.saturating_sub(inside_ns)))
    }
}
