//! `cutap report`: questions about what a run left, beside its calls. It only reads.

use crate::error::{Error, Result, reason};
use crate::show::say_cut;
use cutap_report::raw_report;
use cutap_trace::{Follow, FollowOptions};
use std::io::Write;
use std::path::PathBuf;

/// What `cutap report` was asked.
#[derive(Debug)]
pub struct ReportOptions {
    /// The run folder or the recording.
    pub run: PathBuf,
}

/// Prints which arguments were shown raw, and which functions nothing is known of.
pub fn report_raw(options: &ReportOptions) -> Result<()> {
    let mut follow = Follow::open(&options.run, FollowOptions::default())?;
    follow.poll(true, &mut |_| ())?;
    say_cut(&options.run, &follow);
    match std::io::stdout().write_all(raw_report(&follow.end()).as_bytes()) {
        Err(e) if e.raw_os_error() != Some(libc::EPIPE) => {
            Err(Error::own(format!("cannot write to standard output: {}; write elsewhere", reason(&e))))
        }
        _ => Ok(()),
    }
}
