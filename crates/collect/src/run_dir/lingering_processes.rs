//! Processes of a run that outlive its program: daemons and workers. They are found by the run directory in their
//! environment or their memory. Anybody can have both by chance or on purpose, so the process must have written to the
//! run, or be able to (`member`).
//!
//! If neither can be read, a mapped page shows that there is such a process (`lease`). Nothing here waits for them or
//! sends them anything.

use crate::run_dir::lease;
use crate::run_dir::member::Members;
use cutap_trace::{RunPath, environment_of, living, text_of_proc};
use cutap_wire::control::ENV_RUN;
use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind::PermissionDenied;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A process that is about to end with its parent gets so much time before anything is said.
const SHORTLY: Duration = Duration::from_millis(300);
/// Between two looks at all processes.
const PAUSE: Duration = Duration::from_millis(50);
/// More looks before the run is said to have no process left. One look at all processes may miss a child that appears
/// during it, if the parent ends during it too. If no process was made meanwhile, one look is enough.
const MORE_SCANS: u32 = 2;
/// So many looks at most are taken because of processes that cannot be told.
const MOST_UNCLEAR_SCANS: u32 = 6;

/// Looks for them.
#[derive(Debug)]
pub struct LingeringProcesses {
    run: PathBuf,
    since: Option<Instant>,
    last_scan: Option<Instant>,
    unclear: u32,
    /// Somebody has been told.
    pub is_reported: bool,
}

impl LingeringProcesses {
    pub fn new(run: &Path) -> LingeringProcesses {
        LingeringProcesses { run: run.to_owned(), since: None, last_scan: None, unclear: 0, is_reported: false }
    }

    /// True while there are some, to be called when the program has ended; `report` is called once with their
    /// names, if they do not end shortly.
    pub fn are_running(&mut self, report: impl FnOnce(&[String])) -> bool {
        let since = *self.since.get_or_insert_with(Instant::now);
        if self.last_scan.is_some_and(|at| at.elapsed() < PAUSE) {
            return true;
        }
        let mut strangers = HashSet::new();
        let mut newest = newest();
        let (mut processes, mut unclear) = self.find(&mut strangers);
        for _ in 0..MORE_SCANS {
            let before = std::mem::replace(&mut newest, self::newest());
            if processes.is_empty() && !unclear && (before.is_none() || before != newest) {
                (processes, unclear) = self.find(&mut strangers);
            }
        }
        self.last_scan = Some(Instant::now());
        if !processes.is_empty() && !self.is_reported && since.elapsed() > SHORTLY {
            self.is_reported = true;
            report(&processes);
        }
        self.unclear = if unclear && processes.is_empty() { self.unclear + 1 } else { 0 };
        !processes.is_empty() || (1..MOST_UNCLEAR_SCANS).contains(&self.unclear)
    }

    /// Whether none of the run's processes lives.
    pub fn are_gone(&self) -> bool {
        self.find(&mut HashSet::new()).0.is_empty()
    }

    /// Their numbers and names, and whether a process may be in the middle of an exec. Such a process has neither an
    /// environment nor anything of ours in its memory.
    ///
    /// A machine may have thousands of processes, and a second look passes over `strangers`. Strangers cannot become
    /// the run's: threads of the kernel, and processes that started before us with another environment.
    fn find(&self, strangers: &mut HashSet<u32>) -> (Vec<String>, bool) {
        let line = [ENV_RUN.as_bytes(), b"=", self.run.as_os_str().as_bytes()].concat();
        let Ok(run_dir) = RunPath::open(&self.run) else { return (Vec::new(), false) };
        let members = Members::of(&run_dir);
        let recorded: Vec<u32> = run_dir
            .list()
            .unwrap_or_default()
            .iter()
            .filter_map(|n| n.strip_prefix('p')?.split('-').next()?.parse().ok())
            .collect();
        let (mut unclear, own) = (false, started(std::process::id()));
        let mut of_run = |pid: u32, strangers: &mut HashSet<u32>| {
            let Some(stat) = Stat::of(pid) else { return false };
            if stat.is_of_kernel() {
                strangers.insert(pid);
                return false;
            }
            // All processes are looked at, so two files of each: the others where those tell nothing.
            let mut folder = PathBuf::from(format!("/proc/{pid}"));
            let mut environment = environment_of(&folder);
            if environment.as_ref().map_or_else(|e| e.kind() != PermissionDenied, Vec::is_empty) {
                let Some(living) = living(pid) else { return false };
                // A thread of the kernel has no program.
                if fs::read_link(living.join("exe")).is_err() {
                    strangers.insert(pid);
                    return false;
                }
                // A process that started before the collector is not one of the run.
                unclear |= living == folder && stat.started >= own;
                environment = environment_of(&living);
                folder = living;
            }
            let environment = environment.unwrap_or_default();
            if environment.split(|b| *b == 0).any(|l| l == line) && members.is_or_may_be(pid, &folder) {
                return true;
            }
            if !recorded.contains(&pid) && stat.started < own {
                if !environment.is_empty() {
                    strangers.insert(pid);
                }
                return false;
            }
            // One that wrote over its environment (a title for ps) still has the run's pages.
            let path = self.run.as_os_str().as_bytes();
            fs::read(folder.join("maps")).is_ok_and(|maps| contains(&maps, path)) && members.is_or_may_be(pid, &folder)
        };
        let all = names(Path::new("/proc")).filter_map(|n| n.parse().ok());
        let named = |pid: u32| {
            let name = text_of_proc(format!("/proc/{pid}/comm")).unwrap_or_default();
            format!("{pid} ({})", name.trim_end())
        };
        let candidates: Vec<u32> = all.filter(|pid| *pid != std::process::id() && !strangers.contains(pid)).collect();
        let mut of_run = |pid: u32| of_run(pid, strangers);
        let mut processes: Vec<String> =
            candidates.into_iter().filter(|pid| of_run(*pid) && living(*pid).is_some()).map(named).collect();
        if processes.is_empty() && lease::is_mapped(&run_dir) {
            processes.push("a process that may not be looked into".to_owned());
        }
        (processes, unclear)
    }
}

/// The number of the newest process or thread: the same twice, none was made between. The kernel counts upwards, and
/// comes to the same number only after all others. None: it does not count, as gVisor, whose number is always 0.
fn newest() -> Option<String> {
    let load = fs::read_to_string("/proc/loadavg").ok()?;
    load.split_ascii_whitespace().nth(4).filter(|number| *number != "0").map(str::to_owned)
}

fn names(folder: &Path) -> impl Iterator<Item = String> {
    fs::read_dir(folder).into_iter().flatten().flatten().filter_map(|e| e.file_name().into_string().ok())
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|w| w == part)
}

/// When a process began, in ticks of the kernel; 0: it is gone.
pub fn started(pid: u32) -> u64 {
    Stat::of(pid).map_or(0, |stat| stat.started)
}

/// What the kernel says of a process in one line.
struct Stat {
    flags: u32,
    started: u64,
}

impl Stat {
    fn of(pid: u32) -> Option<Stat> {
        let mut line = [0; 1024];
        let read = fs::File::open(format!("/proc/{pid}/stat")).and_then(|mut file| file.read(&mut line)).ok()?;
        let line = String::from_utf8_lossy(line.get(..read)?);
        // Behind the name, which is in brackets and may hold anything.
        let mut fields = line.rsplit(") ").next()?.split(' ');
        let flags = fields.nth(6)?.parse().ok()?;
        Some(Stat { flags, started: fields.nth(12)?.parse().ok()? })
    }

    /// A thread of the kernel, which has no program.
    fn is_of_kernel(&self) -> bool {
        const PF_KTHREAD: u32 = 0x20_0000;
        self.flags & PF_KTHREAD != 0
    }
}
