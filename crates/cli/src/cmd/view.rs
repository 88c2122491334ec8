//! `cutap view`: draws a run directory or a recording as one page of HTML, and opens it where there is a desktop. It
//! only reads the run.

use crate::args::{FilterArgs, InputArgs};
use crate::derived_file::DerivedFile;
use crate::input::whole;
use crate::inputs::{say_filter_of_run, say_notes};
use crate::progress::Progress;
use crate::reading::read_events_ahead;
use cutap_collect::{Error, Result, file_size, filter as parse_filter, print_notice, scan_executables};
use cutap_trace::{End, Event, FinishedRun, ReaderOptions, Runs};
use cutap_view::{About, Picture};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The file that is written.
const PICTURE: DerivedFile = DerivedFile { noun: "picture", verb: "drawn", command: "cutap view -o FILE.html" };

#[derive(Debug, clap::Args)]
pub struct View {
    /// Write this file (default: the name of the run, with .html)
    #[arg(short, long, value_name = "FILE.html")]
    output: Option<PathBuf>,
    /// Do not open a browser
    #[arg(long)]
    no_open: bool,
    #[command(flatten)]
    filter: FilterArgs,
    /// Also calls that the filter of the run leaves out
    #[arg(short, long)]
    all: bool,
    #[command(flatten)]
    input: InputArgs,
}

impl View {
    pub fn run(self) -> Result<()> {
        let window = self.input.window()?;
        let selecting = self.filter.of_reader(self.all, &self.input)?.during(window);
        let runs = self.input.open()?;
        let path = self.output.clone().unwrap_or_else(|| default_name(&runs));
        let file = PICTURE.open(&runs, &path)?;
        let mut picture = Picture::new(runs.have_gpu_time()?, runs.paths().len());
        if let Some(times) = runs.gpu_times()? {
            let window = window.map(|window| runs.window(window)).transpose()?;
            picture.gpu_times(&times.work_in(window));
        }
        let run_ends = {
            let _progress = Progress::of("adding up", &runs);
            let run_ends = runs.calls(&selecting, &mut picture.calls())?;
            run_ends.iter().flat_map(|of| &of.end.functions.counted).for_each(|counted| picture.counted(counted));
            run_ends
        };
        // Rules and memory follow all calls. Without a filter these are the same events.
        let is_filtered = self.filter.text().is_some() || run_ends.iter().any(|of| of.end.filtered.is_some());
        let _progress = Progress::of("drawing", &runs);
        let options = ReaderOptions { filter: selecting, ..ReaderOptions::default() };
        let run_ends = read_events_ahead(&runs, &options, &mut |event: &Event| {
            picture.selected_event(event);
            if !is_filtered {
                picture.event(event);
            }
        })?;
        if is_filtered {
            let options = ReaderOptions { filter: parse_filter(None)?.during(window), ..ReaderOptions::default() };
            let all_ends = read_events_ahead(&runs, &options, &mut |event| picture.event(event))?;
            picture.run_ends(&all_ends);
        } else {
            picture.run_ends(&run_ends);
        }
        let mut all_ends: Vec<End> = run_ends.iter().map(|of| of.end.clone()).collect();
        all_ends.iter_mut().for_each(scan_executables);
        let mut damage: Vec<Error> = run_ends.iter().filter_map(|of| whole(&of.path, &of.end).err()).collect();
        let about = About {
            runs: runs.paths().iter().map(|path| path.display().to_string()).collect(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            filter: self.filter.text(),
            window: window.map(|window| (window.from_ns, window.to_ns)),
            damage: damage.iter().map(ToString::to_string).collect(),
        };
        let written = picture.finish(&about, &all_ends).and_then(|page| {
            page.write(&mut BufWriter::with_capacity(1 << 18, &file))?;
            Ok(file.metadata()?.len())
        });
        let size = written.map_err(|e| PICTURE.cannot_write(&path, &e))?;
        self.open_and_say(&path, size, &runs, &run_ends);
        let last = damage.pop();
        damage.iter().for_each(|of| print_notice(&of.to_string()));
        last.map_or(Ok(()), Err)
    }

    /// Says where the picture is, and opens it.
    fn open_and_say(&self, path: &Path, size: u64, runs: &Runs, run_ends: &[FinishedRun]) {
        let opened = !self.no_open && opens(path);
        let (path, size) = (path.display(), file_size(size));
        let next = if opened { "a browser opens it" } else { "open it in a browser" };
        print_notice(&format!("the picture is in {path} ({size}); {next}"));
        say_notes(runs, run_ends);
        say_filter_of_run(run_ends);
    }
}

/// `run.html` of `run.cutap`, in the folder of the caller.
fn default_name(runs: &Runs) -> PathBuf {
    let name = match runs.paths() {
        [run] => run.file_stem().map(PathBuf::from),
        _ => None,
    };
    name.unwrap_or_else(|| "ranks".into()).with_extension("html")
}

/// Opens a file where there is a desktop: whether a program was started for it.
fn opens(path: &Path) -> bool {
    let has_desktop = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    let mut open = Command::new("xdg-open");
    open.arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    has_desktop && open.spawn().is_ok()
}
