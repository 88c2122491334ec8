//! `cutap recover`: adds what a run directory still holds to a recording: to its own, if the collector was killed, or
//! to a new one. The run directory is only read.

use crate::input::readable;
use crate::progress::Progress;
use cutap_collect::record::{FolderScan, Recorder, damaged_parts, read_by_another};
use cutap_collect::{Error, Page, Result, cannot, output_file, print_notice};
use cutap_trace::{EventReader, ReaderOptions};
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub struct Recover {
    /// The recording to add to, or to make
    #[arg(short = 'o', value_name = "FILE")]
    output: PathBuf,
    /// The run directory
    #[arg(value_name = "DIR")]
    run: PathBuf,
}

impl Recover {
    pub fn run(self) -> Result<()> {
        recover(&self.run, &self.output)
    }
}

/// Adds to the file, or makes it.
fn recover(run: &Path, path: &Path) -> Result<()> {
    let advice = "give a file that you may write with -o FILE";
    if run.is_file() {
        return Err(Error::own(format!("{} is a file; give the run directory that is to be taken in", run.display())));
    }
    readable(run)?;
    if path.as_os_str() == "-" || std::fs::metadata(path).is_ok_and(|data| !data.is_file() && !data.is_dir()) {
        let path = path.display();
        return Err(Error::own(format!(
            "cannot write the recording to {path}: it is no file, and is read again when more is added; {advice}"
        )));
    }
    // Whether it is a run directory at all, and of this version.
    drop(EventReader::open(run, ReaderOptions::default())?);
    // Two that write down the same calls would spoil each other's file. A folder that may only be read has
    // no collector of ours.
    let page = Page::open(run).ok();
    if page.as_ref().is_some_and(|page| !page.lock()) {
        return Err(Error::own(format!(
            "a collector is at work in {}, and what it records is in its own file; recover when it has ended",
            run.display()
        )));
    }
    let write_error = |e| cannot("write the recording to", path, &e, advice);
    let mut recorder = match OpenOptions::new().read(true).write(true).open(path) {
        Err(not_there) if not_there.kind() == ErrorKind::NotFound => {
            // A link that leads nowhere is there, and what it leads to is not.
            let file = File::create_new(path)
                .map_err(|e| write_error(if e.kind() == ErrorKind::AlreadyExists { not_there } else { e }))?;
            output_file::lock(&file);
            Recorder::begin(run, file, false).map_err(write_error)?
        }
        Err(e) => return Err(write_error(e)),
        Ok(file) if !output_file::lock(&file) => {
            let path = path.display();
            return Err(Error::own(format!("cannot add to {path}: another cutap is writing to it; {advice}")));
        }
        Ok(file) if file.metadata().is_ok_and(|m| m.len() == 0) => {
            Recorder::begin(run, file, false).map_err(write_error)?
        }
        Ok(file) => Recorder::go_on(run, file, path, false)?,
    };
    recorder.discover();
    let progress = Progress::new(format!("reading {}", run.display()));
    let result = match recorder.other_run() {
        true => Ok(false),
        false => {
            recorder.unread = unread(run);
            recorder.round(true, &mut || ()).and_then(|_| {
                recorder.look_for_damage();
                recorder.end().map(|()| true)
            })
        }
    };
    drop(progress);
    match result {
        Ok(true) => {
            let flight = page.is_some_and(|page| page.is_flight_recorder());
            print_outcome(run, path, &mut recorder, flight)
        }
        Ok(false) => Err(Error::own(format!("{} holds another run than {}; {advice}", path.display(), run.display()))),
        Err(e) => {
            recorder.cut_back(&e);
            Err(write_error(e))
        }
    }
}

/// Files of the folder that cannot be read. Where the look itself found no descriptors, it tells nothing of them.
fn unread(run: &Path) -> Option<String> {
    let scan = FolderScan::at(run);
    scan.unread().filter(|_| !scan.is_incomplete)
}

/// Prints what the new recording has. What could not be read is a failure: an empty table would look like the whole
/// run.
fn print_outcome(run: &Path, path: &Path, recorder: &mut Recorder, flight: bool) -> Result<()> {
    let ((read, rings), (bytes, missing), shown) = (recorder.read(), recorder.copied(), path.display());
    let short = recorder.unopened();
    let many = |n: usize, one: &str, more: &str| format!("{n} {}", if n == 1 { one } else { more });
    let size = if bytes < 10_000 { format!("{bytes} bytes") } else { format!("{} KiB", bytes >> 10) };
    let (processes, threads) = (many(read, "process", "processes"), many(rings, "thread", "threads"));
    if bytes == 0 && !recorder.is_new_file && recorder.cut_at.is_none() && short.is_none() {
        print_notice(&format!("nothing was missing in {shown}: it has all that {} holds", run.display()));
    } else {
        print_notice(&format!("{size} of calls of {processes} and {threads} were added to {shown}"));
    }
    let mut lacks = Vec::new();
    if let Some(at) = recorder.cut_at {
        // Of a flight recorder any number of chunks was written over.
        match missing {
            _ if flight => lacks.push(format!("it was cut off at byte {at}, and what came behind may be missing")),
            0 => print_notice(&format!(
                "{shown} was cut off at byte {at}; all that came behind was still in {}",
                run.display()
            )),
            _ => lacks.push(format!(
                "it was cut off at byte {at}, and of what came behind {} not in the run directory any more",
                many(missing as usize, "part is", "parts are")
            )),
        }
    }
    let damage = recorder.damage();
    if damage.parts > 0 {
        lacks.push(format!("{} in {}{}", damaged_parts(damage.parts), run.display(), damage.lost));
    }
    let before = recorder.read_before();
    if before > 0 {
        lacks.push(read_by_another(before));
    }
    match (short, &recorder.unread) {
        (Some(short), _) => lacks.push(format!("{short}; what is missing is added when that is mended")),
        (None, Some(unread)) => lacks.push(format!("what could not be read in {}: {unread}", run.display())),
        (None, None) => {}
    }
    match lacks.is_empty() {
        true => Ok(()),
        false => Err(Error::own(format!("{shown} is not all there was: {}", lacks.join("; ")))),
    }
}
