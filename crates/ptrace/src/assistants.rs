//! Threads that do what may wait for the traced program. A page of its memory may come from a file system that it
//! serves itself, or from a handler of page faults in it (userfaultfd). The tracer waits for such a read only briefly.
//! Then it serves the other threads, and so the one that the read waits for. The thread whose memory is read stays
//! stopped meanwhile, so nothing is lost.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// How long the tracer waits before it turns to other threads.
const BRIEFLY: Duration = Duration::from_millis(5);
/// More reads than this do not wait at the same time; further ones wait for one of them.
const MOST: usize = 256;
/// A read needs little stack.
const STACK: usize = 256 << 10;

type Job<T> = Box<dyn FnOnce() -> T + Send>;

/// What was done, of which order, by which thread.
struct Done<T> {
    order: u64,
    by: usize,
    result: T,
}

/// The threads. Each does one thing at a time.
pub struct Assistants<T> {
    threads: Vec<Sender<(u64, Job<T>)>>,
    idle: Vec<usize>,
    /// Orders for which no thread was free.
    queue: VecDeque<(u64, Job<T>)>,
    results: Receiver<Done<T>>,
    report: Sender<Done<T>>,
    orders: u64,
    /// Orders that are not done.
    open: usize,
}

/// The answer to an order.
pub enum Answer<T> {
    /// The result.
    Now(T),
    /// It will come with this number.
    Later(u64),
}

impl<T: Send + 'static> Assistants<T> {
    /// Threads start with the first orders.
    pub fn without_threads() -> Self {
        let (report, results) = channel();
        Self { threads: Vec::new(), idle: Vec::new(), queue: VecDeque::new(), results, report, orders: 0, open: 0 }
    }

    /// Whether results are still to come.
    pub fn are_busy(&self) -> bool {
        self.open > 0
    }

    /// Does it, and waits briefly for the result.
    pub fn order(&mut self, job: impl FnOnce() -> T + Send + 'static) -> Answer<T> {
        self.orders += 1;
        self.open += 1;
        let order = self.orders;
        self.queue.push_back((order, Box::new(job)));
        self.assign();
        if self.open > 1 {
            // Its result would come among others.
            return Answer::Later(order);
        }
        match self.next(BRIEFLY) {
            Some((_, result)) => Answer::Now(result),
            None => Answer::Later(order),
        }
    }

    /// The next result, and the number of its order. None: nothing is to come, or it takes longer.
    pub fn next(&mut self, limit: Duration) -> Option<(u64, T)> {
        if self.open == 0 {
            return None;
        }
        match self.results.recv_timeout(limit) {
            Ok(Done { order, by, result }) => {
                self.open -= 1;
                self.idle.push(by);
                self.assign();
                Some((order, result))
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }

    /// Hands waiting orders to idle threads, and starts threads.
    fn assign(&mut self) {
        while let Some((order, job)) = self.queue.pop_front() {
            let Some(thread) = self.idle.pop().or_else(|| self.start()) else {
                self.queue.push_front((order, job));
                return;
            };
            // A thread ends with its sender only.
            let _ = self.threads.get(thread).map(|to| to.send((order, job)));
        }
    }

    fn start(&mut self) -> Option<usize> {
        let by = self.threads.len();
        if by >= MOST {
            return None;
        }
        let (send, orders) = channel::<(u64, Job<T>)>();
        let report = self.report.clone();
        let work = move || {
            for (order, job) in orders {
                let result = job();
                if report.send(Done { order, by, result }).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().stack_size(STACK).spawn(work).ok()?;
        self.threads.push(send);
        Some(by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_waits_for_a_later_one() {
        let (go, wait) = channel();
        let mut all = Assistants::without_threads();
        let Answer::Later(first) = all.order(move || wait.recv().map_or(0, |()| 1)) else {
            panic!("it cannot be done")
        };
        let Answer::Later(second) = all.order(move || go.send(()).map_or(0, |()| 2)) else { panic!("one is open") };
        let mut results = Vec::from_iter([(); 2].map(|()| all.next(Duration::from_secs(30)).unwrap()));
        results.sort_unstable();
        assert_eq!(results, [(first, 1), (second, 2)]);
        assert!(!all.are_busy() && matches!(all.order(|| 3), Answer::Now(3)));
    }
}
