//! A program under cutap whose collector or front is to be killed.

use cutap_e2e::{Counts, Scratch, counted, cutap, finish, out, scratch, wait_for, without_record_line};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub const LONG: Duration = Duration::from_secs(60);

/// A program under cutap, and whom to kill.
pub struct Run {
    pub folder: Scratch,
    pub front: Child,
}

impl Run {
    pub fn start(words: &[&str]) -> Run {
        Run::of("steady", words)
    }
    pub fn of(program: &str, words: &[&str]) -> Run {
        let folder = scratch("killed");
        let mut command = Command::new(cutap());
        command.args(words).arg("--run-dir").arg(folder.join("run")).arg("-o").arg(folder.join("out"));
        command.arg("--").arg(out().join(program)).env("LD_LIBRARY_PATH", out());
        command.env("FIXTURE_GO", folder.join("go"));
        command.env("FIXTURE_COUNTS", folder.join("counts")).stdin(Stdio::null());
        command.stdout(fs::File::create(folder.join("stdout")).unwrap());
        command.stderr(fs::File::create(folder.join("said")).unwrap());
        Run { front: command.spawn().unwrap(), folder }
    }
    pub fn file(&self) -> PathBuf {
        self.folder.join("out")
    }
    /// The collector, once it has written so much.
    pub fn collector(&self, bytes: u64) -> String {
        wait_for("something in the file", LONG, || fs::metadata(self.file()).is_ok_and(|m| m.len() > bytes));
        self.collector_now()
    }
    pub fn collector_now(&self) -> String {
        self.collector_if_any().expect("the collector is a child of the front")
    }
    pub fn collector_if_any(&self) -> Option<String> {
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.front.id())).unwrap();
        let named =
            |pid: &str| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|w| w.windows(9).any(|w| w == b"__collect"));
        children.split_whitespace().find(|pid| named(pid)).map(str::to_owned)
    }
    pub fn said(&self) -> String {
        without_record_line(&fs::read_to_string(self.folder.join("said")).unwrap())
    }
    pub fn real(&self) -> Counts {
        counted(&self.folder.join("counts"))
    }
    /// The program continues to its end, and cutap ends as it did.
    pub fn ends(&mut self) {
        assert_eq!(self.front.wait().unwrap().code(), Some(0), "{}", self.said());
        assert_eq!(fs::read_to_string(self.folder.join("stdout")).unwrap(), "ok\n");
    }
}

pub fn signal(name: &str, pids: &[String]) {
    assert!(Command::new("sh").args(["-c", "kill -s \"$0\" \"$@\"", name]).args(pids).status().unwrap().success());
}

pub fn show(file: &Path) -> String {
    finish(Command::new(cutap()).arg("show").arg(file)).everything()
}
