//! `cutap ctl PID …`: what can be asked of a program that runs. Its run directory is found through its
//! environment, or through its memory. Nothing is sent to the program, and nothing here waits for it.

use crate::control::Page;
use crate::error::{Error, Result, cannot};
use crate::folder::own_uid;
use crate::output_file;
use crate::record::Recorder;
use cutap_trace::{EventReader, ReaderOptions, living};
use cutap_wire::control::{ALIVE, ENV_RUN, FILE};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Seek};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What `cutap ctl PID dump` was asked.
#[derive(Debug)]
pub struct DumpOptions {
    /// The program's process, or its run directory.
    pub who: String,
    /// The recording to make.
    pub output: PathBuf,
}

/// The run directory of a process number, or the folder that was named.
pub(crate) fn run_of(who: &str) -> Result<PathBuf> {
    let Ok(pid) = who.parse::<u32>() else {
        let path = PathBuf::from(who);
        if path.join(cutap_wire::control::FILE).is_file() {
            return Ok(path);
        }
        if let Some(sentence) = closed(&path) {
            return Err(Error::own(sentence));
        }
        return Err(Error::own(format!(
            "{who} is neither a process nor a run directory; give the number of the program, or the folder of --run"
        )));
    };
    if let Some(process) = process_of(pid).filter(|process| *process != pid) {
        return Err(Error::own(format!("{pid} is a thread of process {process}; give the number of the process")));
    }
    let folder = living(pid).unwrap_or_else(|| PathBuf::from(format!("/proc/{pid}")));
    let environment = std::fs::read(folder.join("environ")).map_err(|e| match e.kind() {
        ErrorKind::NotFound => Error::own(format!("there is no process {pid}; give the number of the program")),
        // Root too, where a container keeps it from looking into processes that it did not start.
        ErrorKind::PermissionDenied if [0, uid(pid)].contains(&own_uid()) => Error::own(format!(
            "the system does not let us look into process {pid}; if cutap started it, give its run directory in place of its number"
        )),
        ErrorKind::PermissionDenied => {
            Error::own(format!("process {pid} belongs to another user; run cutap ctl as that user, or as root"))
        }
        // It waits for its parent to ask how it ended.
        _ if e.raw_os_error() == Some(libc::ESRCH) => {
            Error::own(format!("process {pid} has ended; give the number of a program that runs"))
        }
        _ => cannot("look at process", Path::new(who), &e, "give the number of the program"),
    })?;
    let prefix = [ENV_RUN.as_bytes(), b"="].concat();
    let run = environment.split(|b| *b == 0).find_map(|line| line.strip_prefix(&prefix[..]));
    // One that wrote over its environment (a title for ps) still has the run's pages.
    let run = run.map(|run| PathBuf::from(OsStr::from_bytes(run))).or_else(|| mapped(&folder));
    run.ok_or_else(|| {
        Error::own(format!(
            "process {pid} was not started by cutap trace, record or env; give the number of the program, not that of cutap"
        ))
    })
}

/// The process that a number is of, which may be a thread's: /proc has those too, and lists them not.
fn process_of(number: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{number}/status")).ok()?;
    status.lines().find_map(|l| l.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// What is said of a folder that may not be looked into, as another user's run directory may not.
fn closed(path: &Path) -> Option<String> {
    let refused = std::fs::metadata(path.join(FILE)).err().is_some_and(|e| e.kind() == ErrorKind::PermissionDenied);
    let shown = path.display();
    let sentence = match std::fs::metadata(path).ok().filter(|data| data.uid() != own_uid()) {
        Some(data) => format!(
            "{shown} may not be opened: it belongs to user {}; run cutap ctl as that user, or as root",
            data.uid()
        ),
        None => format!("{shown} may not be opened; run cutap ctl as the user that it belongs to, or as root"),
    };
    refused.then_some(sentence)
}

/// The run directory of which a process has pages mapped.
fn mapped(process: &Path) -> Option<PathBuf> {
    let maps = std::fs::read(process.join("maps")).unwrap_or_default();
    let paths = maps.split(|b| *b == b'\n').filter_map(|line| Some(&line[line.iter().position(|b| *b == b'/')?..]));
    let mut pages = paths.map(|path| Path::new(OsStr::from_bytes(path))).filter(|path| path.ends_with(ALIVE));
    pages.find_map(|page| page.parent().filter(|run| run.join(FILE).is_file()).map(Path::to_owned))
}

/// Whose process it is; nobody's if it is gone.
fn uid(pid: u32) -> u32 {
    std::fs::metadata(format!("/proc/{pid}")).map_or(u32::MAX, |data| data.uid())
}

/// Writes what the rings of a flight recorder hold now; the program goes on, and so does its recording.
pub fn dump(options: &DumpOptions) -> Result<()> {
    let (run, path) = (run_of(&options.who)?, &options.output);
    let page = Page::open(&run)?;
    if !page.is_flight_recorder() {
        return Err(Error::own(format!(
            "{} has no flight recorder: all its calls are in its trace or recording; cutap show {} prints \
             what is not there yet",
            options.who,
            run.display()
        )));
    }
    drop(EventReader::open(&run, ReaderOptions::default())?);
    let advice = "give a new file that you may write with -o FILE";
    let made = |e| cannot("write the recording to", path, &e, advice);
    let file = File::create_new(path).map_err(made)?;
    output_file::lock(&file);
    let begin = || file.set_len(0).and_then(|()| (&file).rewind()).and_then(|()| file.try_clone());
    let mut recorder;
    // Who would write over a chunk waits a moment.
    page.copying(true);
    let done = loop {
        let forgotten = page.forgotten();
        recorder = Recorder::begin(&run, begin().map_err(made)?, false).map_err(made)?;
        let done = recorder.round(true, &mut || page.copying(true)).and_then(|_| recorder.end());
        // What the collector was taking away just then is in part here; from now on it takes nothing.
        if done.is_err() || page.forgotten() == forgotten {
            break done;
        }
    };
    page.copying(false);
    done.map_err(|e| {
        recorder.cut_back(&e);
        made(e)
    })
}
