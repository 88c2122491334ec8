//! Reads a whole run, event by event, for commands that add up.

use cutap_collect::Result;
use cutap_trace::{End, Event, EventReader, Filter, ReaderOptions};
use std::path::Path;

/// Hands all events to `sink`, in the order of time and with their arguments; calls that never ended come last.
pub fn read_events(run: &Path, filter: Filter, sink: &mut dyn FnMut(&Event)) -> Result<End> {
    let mut reader = EventReader::open(run, ReaderOptions { filter, ..ReaderOptions::default() })?;
    reader.poll(true, sink)?;
    let end = reader.end();
    end.unfinished.iter().for_each(|exit| sink(&Event::Exit(Box::new(exit.clone()))));
    Ok(end)
}
