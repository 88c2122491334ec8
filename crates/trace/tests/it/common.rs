//! A trace as short lines, to compare.

use cutap_trace::{Answer, End, Event, EventReader, Filter, ReaderOptions, State};
use std::path::Path;

/// All of a run.
pub struct Read {
    pub events: Vec<Event>,
    pub lines: Vec<String>,
    pub end: End,
}

pub fn follow(run: &Path, consume: bool, filter: &str) -> EventReader {
    let filter = if filter.is_empty() { Filter::default() } else { Filter::parse(filter).unwrap() };
    EventReader::open(run, ReaderOptions { consume, filter, ..ReaderOptions::default() }).unwrap()
}

pub fn all(run: &Path) -> Read {
    let mut follow = follow(run, false, "");
    let mut events = Vec::new();
    follow.poll(true, &mut |e| events.push(e.clone())).unwrap();
    let lines = events.iter().filter_map(line).collect();
    Read { events, lines, end: follow.end() }
}

pub fn line(event: &Event) -> Option<String> {
    let indent = |depth: u32| "  ".repeat(depth as usize);
    match event {
        Event::Enter(call) => {
            let noted = if call.function.entry_only { " noted" } else { "" };
            Some(format!("{}> {}{noted}", indent(call.depth), call.function.display_name()))
        }
        Event::Exit(exit) => {
            let late = if exit.late { " late" } else { "" };
            let start = format!("{}< {}", indent(exit.call.depth), exit.call.function.name);
            Some(match (exit.state, exit.duration_ns) {
                (State::Returned, Some(ns)) => format!("{start} = {} {ns}ns{late}", exit.result),
                (state, _) => format!("{start} {}", state.word()),
            })
        }
        Event::Lookup(lookup) => {
            let answer = match &lookup.answer {
                Answer::Function(f) => f.name.to_string(),
                other => format!("{other:?}"),
            };
            Some(format!("? {} by {} = {answer}", lookup.name, lookup.caller.as_deref().unwrap_or("?")))
        }
        _ => None,
    }
}

pub fn time_of(event: &Event) -> Option<u64> {
    match event {
        Event::Enter(call) => Some(call.start_ns),
        Event::Exit(exit) => Some(exit.end_ns),
        _ => None,
    }
}

/// The head of a control page of this version.
pub fn control_page(version: u32) -> Vec<u8> {
    let mut page = cutap_wire::MAGIC.to_le_bytes().to_vec();
    page.extend(version.to_le_bytes());
    page.resize(cutap_wire::PAGE, 0);
    page
}
