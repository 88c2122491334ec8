//! Work that may never end, such as the parse of a hostile name. Another thread does it, and is abandoned when it takes
//! too long. After a few such losses nothing is tried any more: a process must not fill with busy threads.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// A name of kilobytes takes less than a millisecond.
const LIMIT: Duration = Duration::from_secs(1);
/// Threads that are left behind at most.
const MOST_LOST: u32 = 4;
/// The parser is recursive.
const STACK: usize = 16 << 20;

type Work = Box<dyn FnOnce() -> Option<String> + Send>;

/// The thread that works, and how many were lost before it.
struct Patient {
    worker: Option<(Sender<Work>, Receiver<Option<String>>)>,
    lost: u32,
}

static PATIENT: Mutex<Patient> = Mutex::new(Patient { worker: None, lost: 0 });

/// Does it. None: it took too long, or too much took too long before.
pub fn within_limit(work: impl FnOnce() -> Option<String> + Send + 'static) -> Option<Option<String>> {
    let mut patient = PATIENT.lock().unwrap_or_else(|broken| broken.into_inner());
    if patient.lost >= MOST_LOST {
        return None;
    }
    let worker = match patient.worker.take() {
        Some(worker) => worker,
        None => start()?,
    };
    worker.0.send(Box::new(work)).ok()?;
    match worker.1.recv_timeout(LIMIT) {
        Ok(result) => {
            patient.worker = Some(worker);
            Some(result)
        }
        Err(_) => {
            patient.lost += 1;
            None
        }
    }
}

fn start() -> Option<(Sender<Work>, Receiver<Option<String>>)> {
    let (orders, work) = channel::<Work>();
    let (report, results) = channel();
    let run = move || work.into_iter().try_for_each(|work| report.send(work()));
    let builder = std::thread::Builder::new().name("demangle".to_owned()).stack_size(STACK);
    builder.spawn(move || _ = run()).ok()?;
    Some((orders, results))
}
