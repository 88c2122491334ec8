//! The recording that `cutap demo` brings along: six training steps of PyTorch on an H200, made by
//! `tests/gpu/programs/demo_training.py`. `cutap demo` leaves it in the folder, and shows one call tree of it and two
//! reports.

use crate::reading::read_run;
use crate::stdout::written;
use cutap_collect::{Result, cannot, filter, random_name};
use cutap_report::{EventSink, Explain, Input, Output, REPORTS, Report, Text, TextFormat};
use cutap_trace::{Aggregator, Event, Function, Layer};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const RECORDING: &[u8] = include_bytes!("../demo/training.cutap");
/// The file in the folder of the user.
const NAME: &str = "training.cutap";
/// Lines of the call tree at most.
const MOST_LINES: usize = 24;

/// Writes the recording to a new file.
pub fn write(path: &Path) -> Result<()> {
    written_to(path).map_err(|e| cannot("write the recording to", path, &e, "give the name of a new file"))
}

fn written_to(path: &Path) -> io::Result<()> {
    File::create_new(path).and_then(|mut file| file.write_all(RECORDING))
}

/// Leaves the recording in this folder, or in that for temporary files where a file cannot be made. One that is there
/// from before is used.
pub fn write_demo() -> Result<PathBuf> {
    let here = PathBuf::from(NAME);
    if std::fs::read(&here).is_ok_and(|bytes| bytes == RECORDING) || written_to(&here).is_ok() {
        return Ok(here);
    }
    let path = std::env::temp_dir().join(format!("cutap-{}-{NAME}", random_name()));
    let advice = "set TMPDIR to a folder that you may write to";
    written_to(&path).map_err(|e| cannot("write the recording to", &path, &e, advice))?;
    Ok(path)
}

/// Writes a call of cuBLAS with all below it, in this format and with or without colours. What two
/// commands print of the recording follows.
pub fn show(path: &Path, form: (TextFormat, bool), out: &mut dyn Write) -> Result<()> {
    let display_path = path.display();
    let mut text = Vec::new();
    let mut events = Vec::new();
    read_run(path, filter(None)?, &mut |event| events.push(event.clone()))?;
    let heading = "# one call of cuBLAS, the runtime calls inside it, and the driver calls inside those";
    written(writeln!(text, "{heading}").and_then(|()| write_tree(&events, form, &mut text)))?;
    written(writeln!(text, "\n$ cutap report --by library {display_path}"))?;
    if let Some(kind) = REPORTS.first() {
        let mut report = (kind.new)("library");
        let end = match report.input() {
            Input::Calls(sink) => Aggregator::open(path, &filter(None)?)?.run(sink),
            Input::Events(sink) => read_run(path, filter(None)?, &mut |event| sink.event(event))?,
        };
        written(Report::write_text(&*report, &end, false, &mut text))?;
    }
    let mut explain = Explain::default();
    events.iter().for_each(|event| explain.event(event));
    written(
        writeln!(text, "\n$ cutap explain {display_path}")
            .and_then(|()| explain.write_text(&display_path.to_string(), false, false, &mut text)),
    )?;
    written(out.write_all(&text))
}

/// Writes the last call of a library that launches a kernel.
fn write_tree(events: &[Event], (format, colour): (TextFormat, bool), out: &mut Vec<u8>) -> io::Result<()> {
    let mut lines = Text::new(out, colour).with_format(format);
    last_tree(events).iter().try_for_each(|event| lines.event(event))
}

/// The events of that call.
fn last_tree(events: &[Event]) -> Vec<Event> {
    let (mut threads, mut last) = (HashMap::<u32, (Vec<Event>, usize)>::new(), Vec::new());
    for event in events {
        let call = match event {
            Event::Enter(call) | Event::Updated(call) => call,
            Event::Exit(exit) => &exit.call,
            _ => continue,
        };
        let (tree, open) = threads.entry(call.thread.key).or_default();
        tree.push(event.clone());
        match event {
            Event::Enter(_) => *open += 1,
            Event::Exit(_) => *open = open.saturating_sub(1),
            _ => {}
        }
        if *open == 0 {
            let tree = std::mem::take(tree);
            if is_nested(&tree) {
                last = tree;
            }
        }
    }
    last
}

/// A call of a library that launches a kernel by the runtime and, below that, by the driver, in few lines.
fn is_nested(tree: &[Event]) -> bool {
    let launches = |layer: Layer| {
        let is_launch = |function: &Function| function.layer == layer && function.name.contains("Launch");
        tree.iter().any(|event| matches!(event, Event::Enter(call) if is_launch(&call.function)))
    };
    let outermost = matches!(tree.first(), Some(Event::Enter(call)) if call.function.layer == Layer::LIBRARY);
    outermost && launches(Layer::RUNTIME) && launches(Layer::DRIVER) && tree.len() <= MOST_LINES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_has_three_layers() {
        let folder = std::env::temp_dir().join(format!("cutap-tree-{}", random_name()));
        write(&folder).unwrap();
        let mut events = Vec::new();
        read_run(&folder, filter(None).unwrap(), &mut |event| events.push(event.clone())).unwrap();
        std::fs::remove_file(&folder).unwrap();
        let mut text = Vec::new();
        write_tree(&events, (TextFormat::default(), false), &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("\n    cu") || text.contains("\n    ["), "{text}");
        assert!((4..MOST_LINES).contains(&text.lines().count()), "{text}");
    }
}
