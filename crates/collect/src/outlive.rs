//! Processes of a run that live longer than its program: daemons, workers. They are found by their
//! environment, in which the run folder stands, or by the run folder in their memory. Nothing here
//! waits for them, and nothing is sent to them.

use cutap_wire::control::ENV_RUN;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A process that is about to end with its parent gets so much time before anything is said.
const SHORTLY: Duration = Duration::from_millis(300);
/// Between two looks at all processes.
const PAUSE: Duration = Duration::from_millis(50);

/// Looks for them.
#[derive(Debug)]
pub struct Outliving {
    run: PathBuf,
    since: Option<Instant>,
    looked: Option<Instant>,
    /// Somebody has been told.
    pub told: bool,
}

impl Outliving {
    pub fn new(run: &Path) -> Outliving {
        Outliving { run: run.to_owned(), since: None, looked: None, told: false }
    }

    /// True while there are some, to be called when the program is over; `tell` is called once with their
    /// names, if they do not end shortly.
    pub fn any(&mut self, tell: impl FnOnce(&[String])) -> bool {
        let since = *self.since.get_or_insert_with(Instant::now);
        if self.looked.is_some_and(|at| at.elapsed() < PAUSE) {
            return true;
        }
        let found = self.find();
        self.looked = Some(Instant::now());
        if !found.is_empty() && !self.told && since.elapsed() > SHORTLY {
            self.told = true;
            tell(&found);
        }
        !found.is_empty()
    }

    /// Whether none of the run's processes lives.
    pub fn none(&self) -> bool {
        self.find().is_empty()
    }

    /// Their numbers and names.
    fn find(&self) -> Vec<String> {
        let line = [ENV_RUN.as_bytes(), b"=", self.run.as_os_str().as_bytes()].concat();
        let recorded: Vec<u32> =
            names(&self.run).filter_map(|n| n.strip_prefix('p')?.split('-').next()?.parse().ok()).collect();
        let of_run = |pid: u32| {
            let folder = PathBuf::from(format!("/proc/{pid}"));
            let environment = fs::read(folder.join("environ")).unwrap_or_default();
            // One that wrote over its environment (a title for ps) still has its rings.
            environment.split(|b| *b == 0).any(|l| l == line)
                || recorded.contains(&pid)
                    && fs::read(folder.join("maps")).is_ok_and(|maps| contains(&maps, self.run.as_os_str().as_bytes()))
        };
        let all = names(Path::new("/proc")).filter_map(|n| n.parse().ok());
        let named = |pid: u32| {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            format!("{pid} ({})", name.trim_end())
        };
        all.filter(|pid| *pid != std::process::id() && of_run(*pid) && alive(*pid)).map(named).collect()
    }
}

fn names(folder: &Path) -> impl Iterator<Item = String> {
    fs::read_dir(folder).into_iter().flatten().flatten().filter_map(|e| e.file_name().into_string().ok())
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|w| w == part)
}

/// A process that runs, and is not only waiting to be collected.
pub fn alive(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")) else { return false };
    // The state stands behind the name, which is in brackets and may hold anything.
    !matches!(stat.rsplit(") ").next().and_then(|s| s.chars().next()), Some('Z' | 'X') | None)
}
