//! `cutap export`: a run in the format of another program. It only reads.

use crate::error::{Error, Result, cannot, say};
use crate::filter::filter;
use crate::output::scan_executables;
use crate::output_file::{self, is_of_a_run, same};
use crate::reader_thread::write_all;
use crate::show::{readable, say_counted, whole};
use cutap_report::{Chrome, Json, Output, Perfetto, end_notes};
use cutap_trace::{EventReader, ReaderOptions};
use std::fs::{File, OpenOptions};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// Which format.
#[derive(Debug, Clone, Copy)]
pub enum Format {
    /// Perfetto's protocol buffers.
    Perfetto,
    /// Chrome's JSON.
    Chrome,
    /// Our JSON, as `show --json`.
    Json,
}

/// What `cutap export` was asked.
#[derive(Debug)]
pub struct ExportOptions {
    /// The run directory or the recording.
    pub run: PathBuf,
    /// The filter's text; none wants all.
    pub filter: Option<String>,
    /// Which format.
    pub format: Format,
    /// The file to write.
    pub output: PathBuf,
}

/// Writes the file. A pipe whose reader leaves is a clean end.
pub fn export(options: &ExportOptions) -> Result<()> {
    let filter = filter(options.filter.as_deref())?;
    readable(&options.run)?;
    let mut follow = EventReader::open(&options.run, ReaderOptions { filter, ..ReaderOptions::default() })?;
    let advice = "give a file that you may write";
    let fail = |e| cannot("write the export to", &options.output, &e, advice);
    if same(&options.run, &options.output) {
        let path = options.output.display();
        return Err(Error::own(format!("{path} is what is to be exported; give another name for the export")));
    }
    if inside(&options.run, &options.output) {
        let (path, run) = (options.output.display(), options.run.display());
        return Err(Error::own(format!(
            "{path} is in the run directory {run}, which is only read; {advice} elsewhere"
        )));
    }
    if options.output.as_os_str() == "-" {
        return Err(Error::own("cannot write the export to -: give a file, or /dev/stdout"));
    }
    let file = open(&options.output, fail)?;
    let mut output = output(options.format, file);
    let written = write_all(&mut follow, &mut *output)?;
    let mut end = follow.end();
    scan_executables(&mut end);
    let ended = written.and_then(|()| output.end(&end));
    let whole = whole(&options.run, end.recording.clone(), end.damaged);
    match ended {
        Err(e) if e.raw_os_error() == Some(libc::EPIPE) => return whole,
        ended => ended.map_err(fail)?,
    }
    // JSON has it in its last line; the formats of others have no place for what is not there.
    if !matches!(options.format, Format::Json) {
        end_notes(&end).iter().for_each(|note| say(note));
        say_counted(&options.run, &end);
    }
    whole
}

/// Opens the file and empties it, if nobody else is writing to it.
fn open(path: &Path, fail: impl Fn(std::io::Error) -> Error) -> Result<File> {
    if is_of_a_run(path) {
        let path = path.display();
        return Err(Error::own(format!(
            "cannot write the export to {path}: it is a file of a run directory, which a program may be using; give another file"
        )));
    }
    let _first = output_file::reader_of(path, "it is written when somebody does");
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path).map_err(&fail)?;
    // A pipe or a device has nothing that would be lost.
    if !file.metadata().is_ok_and(|data| data.is_file()) {
        return Ok(file);
    }
    if !output_file::lock(&file) {
        let path = path.display();
        return Err(Error::own(format!(
            "cannot write the export to {path}: another cutap is writing to it; give another file"
        )));
    }
    file.set_len(0).map_err(fail)?;
    Ok(file)
}

fn output(format: Format, file: File) -> Box<dyn Output> {
    let out = BufWriter::with_capacity(1 << 18, file);
    match format {
        Format::Perfetto => Box::new(Perfetto::new(out)),
        Format::Chrome => Box::new(Chrome::new(out)),
        Format::Json => Box::new(Json::new(out)),
    }
}

/// The file is, or would be, one of those in the folder.
fn inside(run: &Path, output: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let folder = output.parent().map(|p| if p.as_os_str().is_empty() { Path::new(".") } else { p });
    let there = real(output).or_else(|| real(folder?));
    run.is_dir() && real(run).zip(there).is_some_and(|(run, there)| there.starts_with(run))
}
