//! A stack of open calls for each thread, for reports that read events. A sink of [`cutap_trace::Aggregator`] does
//! not need it. Ranges of NVTX are no calls: they are not among them.

use cutap_trace::{Call, Exit};

/// The open calls of all threads.
#[derive(Debug, Default)]
pub struct OpenCalls {
    /// By the thread's key: the open calls, with the nanoseconds of the calls inside each.
    threads: Vec<Vec<(Call, u64)>>,
}

impl OpenCalls {
    /// A call begins.
    pub fn enter(&mut self, call: &Call) {
        if call.function.entry_only || call.function.range.is_some() {
            return;
        }
        let key = call.thread.key as usize;
        if key >= self.threads.len() {
            self.threads.resize_with(key + 1, Vec::new);
        }
        self.threads[key].push((call.clone(), 0));
    }

    /// Ends a call and the open calls inside it. Returns the nanoseconds of the calls inside it.
    pub fn exit(&mut self, exit: &Exit) -> u64 {
        let Some(open) = self.threads.get_mut(exit.call.thread.key as usize) else { return 0 };
        let Some(place) = open.iter().rposition(|(call, _)| call.is_same_call(&exit.call)) else { return 0 };
        let inside = open[place].1;
        open.truncate(place);
        if let Some((_, around)) = open.last_mut() {
            *around += exit.took_ns().unwrap_or(0);
        }
        inside
    }

    /// The open calls of a thread, the outermost first.
    pub fn open_calls(&self, thread: u32) -> impl DoubleEndedIterator<Item = &Call> {
        self.threads.get(thread as usize).into_iter().flatten().map(|(call, _)| call)
    }
}
