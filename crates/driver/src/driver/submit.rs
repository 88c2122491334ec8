//! Tasks of a stream: a task runs in the order of its stream, or becomes a node while the stream is captured.

use super::{capture, code, copy, destroy, lower, order, profiled};
use crate::abi::Answer;
use crate::state::{Guard, Handle, Task, Work, driver_state, lookup};

/// Runs a task in the order of a stream, or stores it if the stream is captured. With `wait` the call returns when the
/// task has completed.
pub fn put(mut state: Guard, stream: Handle, task: Task, wait: bool) -> Answer {
    if capture::take(&mut state, stream, &task, wait)? {
        return Ok(());
    }
    let device = lookup(&state.stream.streams, stream)
        .map(|s| state.context.contexts.get(&s.context).map_or(0, |c| c.device))?;
    let missing = code::missing(&state, &task, device);
    if !missing.is_empty() {
        drop(state);
        missing.iter().try_for_each(|image| code::load_on(image, device).map(drop))?;
        state = driver_state();
    }
    let function_waits = wait;
    let wait = wait || matches!(&task, Task::Copy(copy) if copy::has_to_wait(&state, copy));
    let memory = if let Task::Child(_, parts) = &task { Some(destroy::Change::of(&state, parts)?) } else { None };
    let mut works = lower::works(&mut state, &task, device)?;
    profiled::report(&state, stream, &task, function_waits);
    works.extend(memory.and_then(|change| release(change.apply(&mut state))));
    match (works.len(), wait) {
        (0, _) => Ok(()),
        (1, true) => order::run(state, stream, works.remove(0)),
        (1, false) => order::submit(state, stream, works.remove(0)),
        _ => order::submit_all(state, stream, works),
    }
}

/// The last operation of a launch. A launch holds the memory of its graph until it has completed, even if the program
/// destroys graph and executable before that.
fn release(memory: Vec<u64>) -> Option<Work> {
    (!memory.is_empty()).then(|| Work::Internal(Box::new(move || destroy::release(&mut driver_state(), &memory))))
}
