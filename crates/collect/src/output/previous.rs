//! A recording without `-o` that finds an older one: the older one is kept as `run.cutap.old`. Both files get their
//! names only when the program has started, so a refused start changes neither. A recording without a call takes no
//! place from one with calls.

use crate::base::error::{Error, Result, cannot, print_notice, reason};
use crate::output::output_file::{is_locked, is_recording, lock};
use crate::run_dir::outer_run::has_calls;
use cutap_trace::{Aggregator, Filter, RecordingCoverage, Why, open_file};
use std::fs::{File, OpenOptions, metadata, remove_file, rename};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Larger recordings have calls. To look takes a while, and the program has been started.
const LARGEST_EMPTY: u64 = 1 << 20;

/// The two files until then; the new one is removed if the program is not started.
#[derive(Debug)]
pub struct Previous {
    path: PathBuf,
    old: PathBuf,
    new: PathBuf,
    /// Locked as long as it has the name.
    _there: File,
}

impl Previous {
    /// Begins a new file beside the one that is `there`.
    pub fn begin_beside(path: &Path, there: File, force: bool) -> Result<(Previous, File)> {
        let named = |more: &str| PathBuf::from(format!("{}{more}", path.display()));
        let (old, new) = (named(".old"), named(&format!(".new-{}", std::process::id())));
        let advice = "move one of them away, or give a file with -o FILE";
        let action = format!("keep the recording {} as", path.display());
        if let Ok(data) = metadata(&old) {
            let is_old = data.is_file() && (force || open_file(&old, false).is_ok_and(|file| is_recording(&file)));
            if !is_old || is_locked(&old) {
                let why = if is_old { "another cutap is writing to that" } else { "that is there and is no recording" };
                return Err(Error::own(format!("cannot {action} {}: {why}; {advice}", old.display())));
            }
        }
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o666).open(&new);
        let file = file.map_err(|e| cannot(&action, &old, &e, advice))?;
        lock(&file);
        Ok((Previous { path: path.to_owned(), old, new, _there: there }, file))
    }

    /// Gives both their names. The program runs by now: what goes wrong is only said.
    pub fn put_aside(self) {
        // With --force the old file may be anything.
        let is_old_recording = open_file(&self.old, false).is_ok_and(|file| is_recording(&file));
        if is_old_recording && has_no_call(&self.path) && !has_no_call(&self.old) {
            print_notice(&format!(
                "{} had no call and is written over; {} stays",
                self.path.display(),
                self.old.display()
            ));
            if let Err(e) = rename(&self.new, &self.path) {
                let failure = format!("cannot write over {}", self.path.display());
                self.keep_new_name(&failure, &e);
            }
            return;
        }
        if let Err(e) = rename(&self.path, &self.old).and_then(|()| rename(&self.new, &self.path)) {
            let failure = format!("cannot keep the recording {} as {}", self.path.display(), self.old.display());
            self.keep_new_name(&failure, &e);
        }
    }

    /// The new recording keeps the name that it has.
    fn keep_new_name(self, failure: &str, e: &std::io::Error) {
        print_notice(&format!("{failure}: {}; the new recording is {}", reason(e), self.new.display()));
        std::mem::forget(self);
    }
}

/// A recording that ended in order and has no call. A damaged one, or one that was cut off, may have had some.
fn has_no_call(path: &Path) -> bool {
    let is_small = metadata(path).is_ok_and(|data| data.len() <= LARGEST_EMPTY);
    let is_complete = |recording: RecordingCoverage| {
        recording.cut.why == Why::Ended && recording.damaged == 0 && !recording.is_incomplete()
    };
    let opened = || Aggregator::open(path, &Filter::default()).ok();
    is_small && !has_calls(path) && opened().and_then(|calls| calls.run_reader().recording()).is_some_and(is_complete)
}

impl Drop for Previous {
    fn drop(&mut self) {
        // Once it has been renamed there is no such file.
        let _ = remove_file(&self.new);
    }
}
