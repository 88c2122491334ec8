//! Reads runs to their end and writes at the same time: one thread reads and decodes, another formats the events in
//! order. An event never changes, so a line depends only on the events before it, not on how far the other thread is.

use cutap_report::Output;
use cutap_trace::{Error, Event, FinishedRun, ReaderOptions, Runs};
use std::io;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, channel, sync_channel};
use std::thread;

/// Events that are handed over together.
const TOGETHER: usize = 512;
/// How often so many may wait: what waits is memory.
const WAITING: usize = 4;

/// Hands all events to the output: what is known at the end of each run, and what the output said when it could write
/// no more. A reader that leaves ends it soon.
pub fn write_all(
    runs: &Runs,
    options: &ReaderOptions,
    output: &mut dyn Output,
) -> Result<(Vec<FinishedRun>, io::Result<()>), Error> {
    thread::scope(|scope| {
        let (sender, events) = sync_channel::<Vec<Event>>(WAITING);
        // Events go back to the thread that made them: memory of another thread is freed slowly.
        let (give_back, written) = channel::<Vec<Event>>();
        let writer = scope.spawn(move || -> io::Result<()> {
            for together in events {
                together.iter().try_for_each(|event| output.event(event))?;
                let _ = give_back.send(together);
            }
            Ok(())
        });
        let mut together = Vec::with_capacity(TOGETHER);
        let read = runs.events(options, &mut |event| {
            together.push(event);
            if together.len() < TOGETHER {
                return ControlFlow::Continue(());
            }
            let full = std::mem::replace(&mut together, emptied(&written));
            // The writer has gone when it could write no more.
            if sender.send(full).is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        let _ = sender.send(together);
        drop(sender);
        let written = writer.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
        read.map(|run_ends| (run_ends, written))
    })
}

/// Room for events: where all were written, the memory of those.
fn emptied(written: &Receiver<Vec<Event>>) -> Vec<Event> {
    let mut room = Vec::new();
    for mut together in written.try_iter() {
        together.clear();
        room = together;
    }
    room.reserve(TOGETHER);
    room
}
