//! `cutap export`: writes the calls of a run directory or a recording in the format of another program. It only reads
//! the run. Tables are in `export_tables`.

use super::export_tables::{self, TablesOptions};
use crate::args::{FilterArgs, InputArgs};
use crate::derived_file::DerivedFile;
use crate::inputs::{all_whole, say_counted, say_filter_of_run};
use crate::progress::Progress;
use crate::reader_thread::write_all;
use cutap_collect::{Result, file_size, print_notice, scan_executables};
use cutap_report::{Chrome, Json, Output, Perfetto, end_notes, notes_of_runs};
use cutap_trace::{End, Event, ReaderOptions};
use std::fs::{File, Metadata};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// The file that is written.
const EXPORT: DerivedFile = DerivedFile { noun: "export", verb: "exported", command: "cutap export --perfetto OUT" };

#[derive(Debug, clap::Args)]
pub struct Export {
    #[command(flatten)]
    target: Target,
    /// With --parquet: without the arguments of calls, which makes it faster and the files smaller
    #[arg(long, requires = "parquet")]
    no_arguments: bool,
    #[command(flatten)]
    filter: FilterArgs,
    /// Also calls that the filter of the run leaves out
    #[arg(short, long)]
    all: bool,
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
    /// Write tables as Parquet files into the folder DIR, for DuckDB, Polars, pandas, Spark
    #[arg(long, value_name = "DIR")]
    parquet: Option<PathBuf>,
    /// Write one table to stdout as columns of Arrow's layout: the Python module reads them
    #[arg(long, value_name = "TABLE")]
    columns: Option<String>,
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
        if let Some(folder) = &self.target.parquet {
            let filter = self.filter.of_reader(self.all, &self.input)?.during(self.input.window()?);
            let options = TablesOptions { with_arguments: !self.no_arguments, is_quiet: false };
            return export_tables::export(folder, self.input.open()?.paths(), &filter, options);
        }
        if let Some(table) = &self.target.columns {
            let filter = self.filter.of_reader(self.all, &self.input)?.during(self.input.window()?);
            return export_tables::export_columns(table, self.input.open()?.paths(), &filter);
        }
        let (format, path) = self.target.choice();
        let filter = self.filter.of_reader(self.all, &self.input)?.during(self.input.window()?);
        let runs = self.input.open()?;
        let file = EXPORT.open(&runs, &path)?;
        let mut output = Counted { output: output(format, file), calls: 0 };
        let progress = Progress::of("exporting", &runs);
        let (run_ends, lines) = write_all(&runs, &ReaderOptions { filter, ..ReaderOptions::default() }, &mut output)?;
        let mut all_ends: Vec<End> = run_ends.iter().map(|of| of.end.clone()).collect();
        all_ends.iter_mut().for_each(scan_executables);
        let output_result = lines.and_then(|()| output.end_runs(&all_ends));
        drop(progress);
        let whole = all_whole(&run_ends);
        match output_result {
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => return whole,
            run_ends => run_ends.map_err(|e| EXPORT.cannot_write(&path, &e))?,
        }
        say_written(format, &path, output.calls);
        say_filter_of_run(&run_ends);
        // JSON has it in its last line; the other formats have no place for what is missing.
        if !matches!(format, Format::Json) {
            notes_of_runs(&all_ends.iter().collect::<Vec<_>>(), &end_notes).iter().for_each(|note| print_notice(note));
            say_counted(&runs, &run_ends);
        }
        whole
    }
}

/// Says what was written, where, and how it is opened. A reader of a pipe needs no such line.
fn say_written(format: Format, path: &Path, calls: u64) {
    let Some(data) = std::fs::metadata(path).ok().filter(Metadata::is_file) else { return };
    let calls = if calls == 1 { "1 call is".to_owned() } else { format!("{calls} calls are") };
    let (path, size) = (path.display(), file_size(data.len()));
    let next = match format {
        Format::Perfetto => "open it at https://ui.perfetto.dev".to_owned(),
        Format::Chrome => "open it in chrome://tracing or at https://ui.perfetto.dev".to_owned(),
        Format::Json => format!("one JSON object a line: jq . {path}"),
    };
    print_notice(&format!("{calls} in {path} ({size}); {next}"));
}

/// Counts the calls on their way to an output.
struct Counted {
    output: Box<dyn Output>,
    calls: u64,
}

impl Output for Counted {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.calls += u64::from(matches!(event, Event::Exit(exit) if !exit.late));
        self.output.event(event)
    }
    fn tick(&mut self, now: u64) -> io::Result<()> {
        self.output.tick(now)
    }
    fn end(&mut self, end: &End) -> io::Result<()> {
        self.calls += end.unfinished.len() as u64;
        self.output.end(end)
    }
    fn end_runs(&mut self, ends: &[End]) -> io::Result<()> {
        self.calls += ends.iter().map(|end| end.unfinished.len() as u64).sum::<u64>();
        self.output.end_runs(ends)
    }
}

fn output(format: Format, file: File) -> Box<dyn Output> {
    let out = BufWriter::with_capacity(1 << 18, file);
    match format {
        Format::Perfetto => Box::new(Perfetto::new(out)),
        Format::Chrome => Box::new(Chrome::new(out)),
        Format::Json => Box::new(Json::new(out)),
    }
}
