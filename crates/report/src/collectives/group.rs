//! Groups: calls between the start and the end of a group are enqueued by its end.

/// Tells a call from all others of the run: its thread's key, and its number there.
pub type CallId = (u32, u32);

/// The group of a thread.
#[derive(Debug, Default)]
pub struct CallGroup {
    depth: u32,
    /// Tells it from other groups of the run.
    pub number: u64,
    /// The collectives in it, and the communicators that it starts.
    pub calls: Vec<CallId>,
    pub starting: Vec<usize>,
}

impl CallGroup {
    /// `number`: of the group, if it is the outermost one.
    pub fn begin(&mut self, number: u64) {
        if self.depth == 0 {
            self.number = number;
        }
        self.depth += 1;
    }

    pub fn is_open(&self) -> bool {
        self.depth > 0
    }

    /// What is in the group, if its outermost end was reached.
    pub fn end(&mut self) -> Option<CallGroup> {
        self.depth = self.depth.saturating_sub(1);
        (self.depth == 0).then(|| std::mem::take(self))
    }
}
