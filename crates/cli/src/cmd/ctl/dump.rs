//! `cutap ctl PID dump`: writes what the rings of a flight recorder hold to a new recording.

use super::target::run_of;
use cutap_collect::record::Recorder;
use cutap_collect::{Error, Page, Result, cannot, output_file, print_notice, record_summary};
use cutap_trace::{EventReader, ReaderOptions};
use std::fs::File;
use std::io::Seek;
use std::path::Path;

/// Writes what the rings of a flight recorder hold now; the program continues, and so does its recording.
pub fn dump(who: &str, path: &Path) -> Result<()> {
    let run = run_of(who)?;
    let page = Page::open(&run)?;
    if !page.is_flight_recorder() {
        return Err(Error::own(format!(
            "{who} has no flight recorder: all its calls are in its trace or recording; cutap show {} prints \
             what is not there yet",
            run.display()
        )));
    }
    drop(EventReader::open(&run, ReaderOptions::default())?);
    let advice = "give a new file that you may write with -o FILE";
    let write_error = |e| cannot("write the recording to", path, &e, advice);
    let file = File::create_new(path).map_err(write_error)?;
    output_file::lock(&file);
    let begin = || file.set_len(0).and_then(|()| (&file).rewind()).and_then(|()| file.try_clone());
    let mut recorder;
    // Who would write over a chunk waits a moment.
    page.put_copying(true);
    let result = loop {
        let forgotten = page.forgotten();
        recorder = Recorder::begin(&run, begin().map_err(write_error)?, false).map_err(write_error)?;
        let round_result = recorder.round(true, &mut || page.put_copying(true)).and_then(|_| recorder.end());
        // What the collector was taking away just then is in part here; from now on it takes nothing.
        if round_result.is_err() || page.forgotten() == forgotten {
            break round_result;
        }
    };
    page.put_copying(false);
    result.map_err(|e| {
        recorder.cut_back(&e);
        write_error(e)
    })?;
    record_summary(path, false).iter().for_each(|line| print_notice(line));
    Ok(())
}
