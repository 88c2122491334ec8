//! Which call another one was made from, for lines that tell it: only of calls that are shown.

use cutap_trace::Call;

/// The open calls of all threads, as their numbers.
#[derive(Debug, Default)]
pub(crate) struct Nest {
    /// By the thread's key, the outermost first.
    threads: Vec<Vec<u64>>,
}

/// Tells a call from all others of one output.
pub(crate) fn id(call: &Call) -> u64 {
    u64::from(call.thread.key) << 32 | u64::from(call.number())
}

impl Nest {
    /// A call begins.
    pub fn enter(&mut self, call: &Call) {
        if call.function.entry_only {
            return;
        }
        let key = call.thread.key as usize;
        if key >= self.threads.len() {
            self.threads.resize_with(key + 1, Vec::new);
        }
        self.threads[key].push(id(call));
    }

    /// The innermost open call of a thread.
    pub fn innermost(&self, thread: u32) -> Option<u64> {
        self.threads.get(thread as usize)?.last().copied()
    }

    /// Ends a call and the open calls inside it: the call around it.
    pub fn exit(&mut self, call: &Call) -> Option<u64> {
        let open = self.threads.get_mut(call.thread.key as usize)?;
        let place = open.iter().rposition(|number| *number == id(call))?;
        // A range of NVTX may be popped while others that were pushed later are open.
        match call.function.range {
            Some(_) => drop(open.remove(place)),
            None => open.truncate(place),
        }
        open.last().copied()
    }
}
