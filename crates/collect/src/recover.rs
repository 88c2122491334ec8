//! `cutap recover`: what a run folder still holds, taken into a recording: its own if the collector
//! was killed, or a new one. The folder is only read.

use crate::control::Page;
use crate::error::{Error, Result, cannot, reason};
use crate::record::Recorder;
use crate::written;
use cutap_trace::{Follow, FollowOptions};
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::path::PathBuf;

/// What `cutap recover` was asked.
#[derive(Debug)]
pub struct RecoverOptions {
    /// The run folder.
    pub run: PathBuf,
    /// The recording.
    pub output: PathBuf,
}

/// Appends to the file, or makes it.
pub fn recover(options: &RecoverOptions) -> Result<()> {
    let (run, path) = (&options.run, &options.output);
    let advice = "give a file that you may write with -o FILE";
    if run.is_file() {
        return Err(Error::own(format!("{} is a file; give the run folder that is to be taken in", run.display())));
    }
    // Whether it is a run folder at all, and of this version.
    drop(Follow::open(run, FollowOptions::default())?);
    // Two that write down the same calls would spoil each other's file. A folder that may only be read has
    // no collector of ours.
    let page = Page::open(run).ok();
    if page.as_ref().is_some_and(|page| !page.lock()) {
        return Err(Error::own(format!(
            "a collector is at work in {}, and what it records is in its own file; recover when it has ended",
            run.display()
        )));
    }
    let made = |e| cannot("write the recording to", path, &e, advice);
    let mut recorder = match OpenOptions::new().read(true).write(true).open(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => {
            Recorder::begin(run, File::create_new(path).map_err(made)?, false).map_err(made)?
        }
        Err(e) => return Err(made(e)),
        Ok(file) if !written::lock(&file) => {
            let path = path.display();
            return Err(Error::own(format!("cannot add to {path}: another cutap is writing to it; {advice}")));
        }
        Ok(file) if file.metadata().is_ok_and(|m| m.len() == 0) => Recorder::begin(run, file, false).map_err(made)?,
        Ok(file) => Recorder::go_on(run, file, path, false)?,
    };
    let done = recorder.discover().and_then(|()| {
        if recorder.other_run() {
            return Ok(false);
        }
        recorder.round(true, &mut || ())?;
        recorder.end()?;
        Ok(true)
    });
    match done {
        Ok(true) => Ok(()),
        Ok(false) => Err(Error::own(format!("{} holds another run than {}; {advice}", path.display(), run.display()))),
        Err(e) => {
            recorder.cut_back(&e);
            Err(Error::own(format!("cannot write the recording to {}: {}; {advice}", path.display(), reason(&e))))
        }
    }
}
