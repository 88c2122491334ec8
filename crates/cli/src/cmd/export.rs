//! `cutap export`: writes the calls of a run directory or a recording in the format of another program. It only reads
//! the run.

use crate::args::{FilterArgs, InputArgs};
use crate::input::{readable, say_counted, whole};
use crate::progress::Progress;
use crate::reader_thread::write_all;
use cutap_collect::output_file::{self, is_of_a_run, same};
use cutap_collect::{Error, Result, cannot, filter, say, scan_executables};
use cutap_report::{Chrome, Json, Output, Perfetto, end_notes};
use cutap_trace::{EventReader, ReaderOptions};
use std::fs::{File, OpenOptions};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub struct Export {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    input: InputArgs,
}

/// The format and the file to write.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Target {
    /// Write a file for ui.perfetto.dev: tracks, nested slices, arguments, flows of launches
    #[arg(long, value_name = "OUT")]
    perfetto: Option<PathBuf>,
    /// Write the JSON of Chrome's event viewer
    #[arg(long, value_name = "OUT")]
    chrome: Option<PathBuf>,
    /// Write one JSON object a line, like show --json
    #[arg(long, value_name = "OUT")]
    json: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy)]
enum Format {
    Perfetto,
    Chrome,
    Json,
}

impl Target {
    fn choice(self) -> (Format, PathBuf) {
        let perfetto = self.perfetto.map(|out| (Format::Perfetto, out));
        let chosen = perfetto.or(self.chrome.map(|out| (Format::Chrome, out)));
        chosen.unwrap_or_else(|| (Format::Json, self.json.unwrap_or_default()))
    }
}

impl Export {
    /// A pipe whose reader leaves is a clean end.
    pub fn run(self) -> Result<()> {
        let ((format, path), run) = (self.target.choice(), &self.input.run);
        let filter = filter(self.filter.text().as_deref())?;
        readable(run)?;
        let mut reader = EventReader::open(run, ReaderOptions { filter, ..ReaderOptions::default() })?;
        let advice = "give a file that you may write";
        let fail = |e| cannot("write the export to", &path, &e, advice);
        let shown = path.display();
        if same(run, &path) {
            return Err(Error::own(format!("{shown} is what is to be exported; give another name for the export")));
        }
        if inside(run, &path) {
            let run = run.display();
            return Err(Error::own(format!(
                "{shown} is in the run directory {run}, which is only read; {advice} elsewhere"
            )));
        }
        if path.as_os_str() == "-" {
            return Err(Error::own("cannot write the export to -: give a file, or /dev/stdout"));
        }
        let mut output = output(format, open(&path, fail)?);
        let progress = Progress::new(format!("exporting {}", run.display()));
        let written = write_all(&mut reader, &mut *output)?;
        let mut end = reader.end();
        scan_executables(&mut end);
        let ended = written.and_then(|()| output.end(&end));
        drop(progress);
        let whole = whole(run, end.recording.clone(), end.damage());
        match ended {
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => return whole,
            ended => ended.map_err(fail)?,
        }
        // JSON has it in its last line; the other formats have no place for what is missing.
        if !matches!(format, Format::Json) {
            end_notes(&end).iter().for_each(|note| say(note));
            say_counted(run, &end);
        }
        whole
    }
}

/// Opens the file and empties it, if no other thread is writing to it.
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
    let has_bytes = file.metadata().is_ok_and(|data| data.len() > 0);
    if has_bytes && File::open(path).is_ok_and(|file| output_file::is_recording(&file)) {
        let path = path.display();
        return Err(Error::own(format!(
            "{path} is a recording, and the export would replace it; \
             give the file to write first: cutap export --perfetto OUT {path}"
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
