//! The recording that `cutap demo` brings along: six training steps of PyTorch on an H200, made by
//! `tests/gpu/programs/demo_training.py`.

use crate::reading::read_events;
use crate::stdout::written;
use cutap_collect::{Result, cannot, filter, random_name};
use cutap_report::{Explain, Input, REPORTS, Report};
use cutap_trace::Aggregator;
use std::fs::{File, OpenOptions, remove_file};
use std::io::Write;
use std::path::{Path, PathBuf};

const RECORDING: &[u8] = include_bytes!("../demo/training.cutap");

/// Writes the recording to a new file.
pub fn write(path: &Path) -> Result<()> {
    let fail = |e| cannot("write the recording to", path, &e, "give the name of a new file");
    File::create_new(path).and_then(|mut file| file.write_all(RECORDING)).map_err(fail)
}

/// Writes what two commands say about it.
pub fn show(out: &mut dyn Write) -> Result<()> {
    let file = Temporary::new()?;
    let mut text = b"$ cutap report --by library training.cutap\n".to_vec();
    if let Some(kind) = REPORTS.first() {
        let mut report = (kind.new)("library");
        let end = match report.input() {
            Input::Calls(sink) => Aggregator::open(&file.0, &filter(None)?)?.run(sink),
            Input::Events(sink) => read_events(&file.0, filter(None)?, &mut |event| sink.event(event))?,
        };
        written(Report::write_text(&*report, &end, false, &mut text))?;
    }
    let mut explain = Explain::default();
    read_events(&file.0, filter(None)?, &mut |event| explain.event(event))?;
    written(
        writeln!(text, "\n$ cutap explain training.cutap")
            .and_then(|()| explain.write_text("training.cutap", false, false, &mut text)),
    )?;
    written(out.write_all(&text))
}

/// A file that is removed at the end.
struct Temporary(PathBuf);

impl Temporary {
    fn new() -> Result<Temporary> {
        let path = std::env::temp_dir().join(format!("cutap-demo-{}.cutap", random_name()));
        let fail = |e| cannot("write the recording to", &path, &e, "set TMPDIR to a folder that you may write to");
        let made = OpenOptions::new().write(true).create_new(true).open(&path);
        made.and_then(|mut file| file.write_all(RECORDING)).map_err(fail)?;
        Ok(Temporary(path))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = remove_file(&self.0);
    }
}
