//! Finds the run directory of a running program: by its environment, or by what it has mapped. Nothing is sent to the
//! program, and nothing here waits for it.

use cutap_collect::{Error, Members, Page, Result, cannot, own_uid};
use cutap_trace::{RunPath, environment_of, living, text_of_proc};
use cutap_wire::control::{ALIVE, ENV_RUN, FILE};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The run that is switched, or one process of it.
pub struct Target {
    pub run: PathBuf,
    pub page: Page,
    /// The process, if only that one is meant.
    pub pid: Option<u32>,
}

impl Target {
    /// `who` is a process or a run directory. With `all` a process stands for its whole run.
    pub fn find(who: &str, all: bool) -> Result<Target> {
        let run = run_of(who)?;
        let page = Page::open(&run)?;
        if !page.is_a_run() {
            let run = run.display();
            return Err(Error::own(format!(
                "{run} is not the folder of a run of this version of cutap; use the cutap that started the program"
            )));
        }
        Ok(Target { run, page, pid: who.parse().ok().filter(|_| !all) })
    }
}

/// The run directory of a process, or the one that was named.
pub fn run_of(who: &str) -> Result<PathBuf> {
    let Ok(pid) = who.parse::<u32>() else {
        let path = PathBuf::from(who);
        if path.join(FILE).is_file() {
            return Ok(path);
        }
        if let Some(sentence) = closed(&path) {
            return Err(Error::own(sentence));
        }
        return Err(Error::own(format!(
            "{who} is neither a process nor a run directory; give the number of the program, or the folder of --run-dir"
        )));
    };
    if let Some(process) = process_of(pid).filter(|process| *process != pid) {
        return Err(Error::own(format!("{pid} is a thread of process {process}; give the number of the process")));
    }
    let folder = living(pid).unwrap_or_else(|| PathBuf::from(format!("/proc/{pid}")));
    let environment = environment_of(&folder).map_err(|e| match e.kind() {
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
    run_in(&environment, pid, &folder).ok_or_else(|| {
        Error::own(format!(
            "process {pid} was not started by cutap trace, record or env; give the number of the program, not that of cutap"
        ))
    })
}

/// The run directory that an environment names. A process that wrote over its environment (a title for ps) still has
/// pages of the run.
fn run_in(environment: &[u8], pid: u32, process: &Path) -> Option<PathBuf> {
    let prefix = [ENV_RUN.as_bytes(), b"="].concat();
    let run = environment.split(|b| *b == 0).find_map(|line| line.strip_prefix(&prefix[..]));
    let named = run.map(|run| PathBuf::from(OsStr::from_bytes(run)));
    // Another user's process may name any run.
    let is_of = |run: &PathBuf| RunPath::open(run).map_or(true, |run| Members::of(&run).is_or_may_be(pid, process));
    named.filter(is_of).or_else(|| mapped(process))
}

/// The processes of this user that have pages of a run mapped, each with its run directory.
pub fn running() -> Vec<(u32, PathBuf)> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|e| e.file_name().into_string().ok()?.parse::<u32>().ok());
    let mut processes: Vec<(u32, PathBuf)> = pids.filter_map(|pid| Some((pid, mapped(&living(pid)?)?))).collect();
    processes.sort_unstable();
    processes
}

/// The process that a number is of, which may be a thread's: /proc has those too, and lists them not.
fn process_of(number: u32) -> Option<u32> {
    let status = text_of_proc(format!("/proc/{number}/status")).ok()?;
    status.lines().find_map(|l| l.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// What is said of a folder that may not be looked into, as another user's run directory may not.
fn closed(path: &Path) -> Option<String> {
    let refused = std::fs::metadata(path.join(FILE)).err().is_some_and(|e| e.kind() == ErrorKind::PermissionDenied);
    let display_path = path.display();
    let sentence = match std::fs::metadata(path).ok().filter(|data| data.uid() != own_uid()) {
        Some(data) => format!(
            "{display_path} may not be opened: it belongs to user {}; run cutap ctl as that user, or as root",
            data.uid()
        ),
        None => format!("{display_path} may not be opened; run cutap ctl as the user that it belongs to, or as root"),
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
