//! One run of the program, by cutap itself: the same line repeats it.

use crate::report_input;
use cutap_collect::{CallSite, Error, Result, cannot, filter, random_name, read_sites};
use cutap_report::REPORTS;
use cutap_trace::Runs;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Code(i32),
    Signal(i32),
    /// It did not, until the deadline.
    Hung,
}

/// A run that has ended.
pub struct Done {
    pub ending: Ended,
    pub lasted: Duration,
    /// Its standard output.
    pub output: Vec<u8>,
    /// The call sites with their numbers of calls; none where it could not be counted.
    pub sites: Vec<(CallSite, u64)>,
}

/// How the program is run.
pub struct Child {
    own: PathBuf,
    driver: Option<&'static str>,
    program: Vec<OsString>,
    folder: Folder,
}

/// A folder that goes with this command.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // Nothing can be run about one that cannot be removed.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// How long a program may take to end after a signal.
const PATIENCE: Duration = Duration::from_secs(2);
/// Pause between looks at a run.
const GLANCE: Duration = Duration::from_millis(2);

impl Child {
    pub fn new(driver: Option<&'static str>, program: Vec<OsString>) -> Result<Child> {
        let path = std::env::temp_dir().join(format!("cutap-chaos-{}", random_name()));
        let result = std::fs::DirBuilder::new().mode(0o700).create(&path);
        result.map_err(|e| cannot("make", &path, &e, "set TMPDIR to a folder that you may write"))?;
        let own = std::env::current_exe();
        let own = own.map_err(|e| cannot("find", Path::new("cutap"), &e, "call it by its path"))?;
        Ok(Child { own, driver, program, folder: Folder(path) })
    }

    /// The line that repeats a run with this rule.
    pub fn repeat(&self, rule: &str) -> String {
        let words = self.program.iter().map(|word| quoted(&word.to_string_lossy()));
        let driver = self.driver.map(|flag| format!("{flag} ")).unwrap_or_default();
        format!("cutap run {driver}--inject {} -- {}", quoted(rule), words.collect::<Vec<_>>().join(" "))
    }

    /// Runs the program, with one rule or none.
    pub fn run(&self, rule: Option<&str>, deadline: Duration) -> Result<Done> {
        let (output, sites) = (self.folder.0.join("output"), self.folder.0.join("sites"));
        let _ = std::fs::remove_file(&sites);
        let mut command = Command::new(&self.own);
        command.args(["run", "-q", "--call-sites"]).arg(&sites);
        let begin = Instant::now();
        let ending = self.ending(command, rule, &output, deadline)?;
        let lasted = begin.elapsed();
        let output = std::fs::read(&output).map_err(|e| cannot("read", &output, &e, "leave TMPDIR alone"))?;
        if ending == Ended::Code(cutap_collect::OWN_FAILURE.into()) && !sites.is_file() {
            let errors = std::fs::read_to_string(self.folder.0.join("errors")).unwrap_or_default();
            return Err(Error::own(format!("the program could not be run: {}", errors.trim())));
        }
        let sites = if sites.is_file() { read_sites(&sites)? } else { Vec::new() };
        Ok(Done { ending, lasted, output, sites })
    }

    /// How many things are left at the end of a run that is recorded; none where that is not known.
    pub fn count_left(&self, rule: Option<&str>, deadline: Duration) -> Result<Option<u64>> {
        let recording = self.folder.0.join("run.cutap");
        let _ = std::fs::remove_file(&recording);
        let mut command = Command::new(&self.own);
        command.args(["record", "-q", "-o"]).arg(&recording);
        let ending = self.ending(command, rule, &self.folder.0.join("output"), deadline)?;
        if ending == Ended::Hung || !recording.is_file() {
            return Ok(None);
        }
        let Some(kind) = REPORTS.iter().find(|kind| kind.flag == "leaks") else { return Ok(None) };
        let mut report = (kind.new)("");
        let runs = Runs::open(&[recording])?;
        report_input::read(&mut *report, &runs, filter(None)?, None)?;
        Ok(report.problems())
    }

    fn ending(&self, mut command: Command, rule: Option<&str>, output: &Path, deadline: Duration) -> Result<Ended> {
        let new_file = |path: &Path| File::create(path).map_err(|e| cannot("write", path, &e, "make room in TMPDIR"));
        command.args(self.driver);
        if let Some(rule) = rule {
            command.args(["--inject", rule]);
        }
        command.arg("--").args(&self.program).stdin(Stdio::null());
        command.stdout(new_file(output)?).stderr(new_file(&self.folder.0.join("errors"))?).process_group(0);
        // SAFETY: one system call between fork and exec, which allocates nothing.
        unsafe {
            command.pre_exec(|| {
                // The run ends with this command, also if that is killed.
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
                Ok(())
            });
        }
        let mut child = command.spawn().map_err(|e| cannot("start", &self.own, &e, "call it by its path"))?;
        let group = -i32::try_from(child.id()).unwrap_or(i32::MAX);
        let waits = |child: &mut std::process::Child, limit: Duration| -> Result<Option<ExitStatus>> {
            let begin = Instant::now();
            loop {
                let status = child.try_wait().map_err(|e| cannot("wait for", &self.own, &e, "run it again"))?;
                if status.is_some() || begin.elapsed() >= limit {
                    return Ok(status);
                }
                std::thread::sleep(GLANCE);
            }
        };
        if let Some(status) = waits(&mut child, deadline)? {
            return Ok(of_status(status));
        }
        for signal in [libc::SIGTERM, libc::SIGKILL] {
            // SAFETY: a signal for the group of the run that this command started.
            unsafe { libc::kill(group, signal) };
            if waits(&mut child, PATIENCE)?.is_some() {
                break;
            }
        }
        Ok(Ended::Hung)
    }
}

fn of_status(status: ExitStatus) -> Ended {
    /// Signals by which a program dies; a shell adds 128.
    const FATAL: [i32; 6] = [libc::SIGILL, libc::SIGABRT, libc::SIGBUS, libc::SIGFPE, libc::SIGSEGV, libc::SIGTRAP];
    match (status.code(), status.signal()) {
        (Some(code), _) if FATAL.contains(&(code - 128)) => Ended::Signal(code - 128),
        (Some(code), _) => Ended::Code(code),
        (None, signal) => Ended::Signal(signal.unwrap_or(0)),
    }
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+%@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_a_shell() {
        assert_eq!(quoted("./app"), "./app");
        assert_eq!(quoted("a[site=b+0x1]:error=2"), "'a[site=b+0x1]:error=2'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn a_shell_adds_to_signals() {
        assert_eq!(of_status(ExitStatus::from_raw(134 << 8)), Ended::Signal(libc::SIGABRT));
        assert_eq!(of_status(ExitStatus::from_raw(11)), Ended::Signal(libc::SIGSEGV));
        assert_eq!(of_status(ExitStatus::from_raw(3 << 8)), Ended::Code(3));
    }
}
