//! Jobs of ranks that are recorded, with a stand-in for NCCL.

use super::normal_last;
use cutap_e2e::{Finished, Scratch, cutap, finish, out, scratch, sources, wait_for};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);

/// The program of the ranks, beside the stand-in for NCCL that it is linked with.
pub fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let folder = out().join("collectives");
        fs::create_dir_all(&folder).expect("the target folder is writable");
        let script = r#"eval "$("$0" env --sim -o "$1")"; unset LD_PRELOAD; echo "${LD_LIBRARY_PATH%%:*}""#;
        let run = scratch("sim");
        let said = finish(Command::new("sh").args(["-c", script]).arg(cutap()).arg(run.join("run")));
        let driver = Path::new(said.stdout.trim()).join("libcuda.so.1");
        assert!(driver.is_file(), "{said:?}");
        let library = ["-fPIC", "-shared", "-pthread", "-Wl,-soname,libnccl.so.2"].map(str::to_owned);
        build(&folder, "nccl.c", "libnccl.so.2", &library);
        let words = [driver.display().to_string(), folder.join("libnccl.so.2").display().to_string()];
        build(&folder, "ranks.c", "ranks", &[&words[..], &["-Wl,-rpath,$ORIGIN".to_owned()]].concat())
    })
}

/// Renamed into place: another test process may be running it.
fn build(folder: &Path, source: &str, name: &str, words: &[String]) -> PathBuf {
    let fresh = folder.join(format!(".{name}.{}", std::process::id()));
    let mut gcc = Command::new("gcc");
    gcc.args(["-O1", "-Wall", "-Wextra", "-Werror"]).arg(sources().join("collectives").join(source));
    let done = finish(gcc.arg("-o").arg(&fresh).args(words).args(["-ldl", "-lrt"]));
    assert!(done.status.success(), "{gcc:?}\n{}", done.stderr);
    let place = folder.join(name);
    fs::rename(&fresh, &place).expect("a rename within one folder");
    place
}

/// The ranks of a job, each under `cutap record`.
pub struct Job {
    pub ranks: Vec<Child>,
    pub folder: Scratch,
    pub kind: &'static str,
}

impl Job {
    pub fn start(kind: &'static str, count: usize) -> Job {
        Job::start_with(kind, count, &[])
    }

    /// The last rank is recorded with these flags.
    pub fn start_with(kind: &'static str, count: usize, flags: &[&str]) -> Job {
        let folder = scratch("collectives");
        let rank = |rank: usize| {
            let mut record = Command::new(cutap());
            record.args(["record", "--sim", "-q"]).args(flags.iter().filter(|_| rank + 1 == count));
            record.arg("-o").arg(folder.join(format!("run.{rank}.cutap"))).arg("--").arg(program());
            record.arg(kind).arg(folder.join("id"));
            record.envs([("RANK", rank.to_string()), ("WORLD_SIZE", count.to_string())]);
            record.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            record.spawn().expect("cutap starts")
        };
        let ranks = (0..count).map(rank).collect();
        Job { ranks, folder, kind }
    }

    pub fn files(&self) -> Vec<PathBuf> {
        (0..self.ranks.len()).map(|rank| self.folder.join(format!("run.{rank}.cutap"))).collect()
    }

    /// The process of each rank, or its file if it has ended.
    pub fn runs(&self) -> Option<Vec<String>> {
        let run = |(record, file): (&Child, PathBuf)| {
            let children = format!("/proc/{0}/task/{0}/children", record.id());
            let pids = fs::read_to_string(children).unwrap_or_default();
            let is_rank = |pid: &&str| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == *program());
            let pid = pids.split_whitespace().find(is_rank).map(str::to_owned);
            pid.or_else(|| file.is_file().then(|| file.display().to_string()))
        };
        self.ranks.iter().zip(self.files()).map(run).collect()
    }

    /// What `where` says of all ranks, once its last line is this.
    pub fn once(&self, last: &str) -> String {
        let mut text = String::new();
        wait_for(&format!("{} ranks, {}: {last}", self.ranks.len(), self.kind), LIMIT, || {
            let Some(runs) = self.runs() else { return false };
            text = finish(Command::new(cutap()).arg("where").args(runs)).stdout;
            normal_last(&text) == last
        });
        text
    }

    /// Kills the programs of all ranks, and waits until their recordings are whole.
    pub fn kill(&mut self) {
        let pids = self.runs().into_iter().flatten().filter(|run| run.parse::<u32>().is_ok());
        // At the same time, as those of a job that is killed.
        let _ = Command::new("kill").arg("-9").args(pids).status();
        self.wait();
    }

    pub fn wait(&mut self) {
        for rank in &mut self.ranks {
            rank.wait().expect("it is our child");
        }
    }

    pub fn report(&self, flags: &[&str]) -> Finished {
        finish(Command::new(cutap()).args(["report", "--collectives"]).args(flags).args(self.files()))
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if let Some(runs) = self.runs() {
            let pids = runs.into_iter().filter(|run| run.parse::<u32>().is_ok());
            pids.for_each(|pid| drop(Command::new("kill").args(["-9", &pid]).status()));
        }
        self.ranks.iter_mut().for_each(|rank| drop((rank.kill(), rank.wait())));
        // The memory in which ranks meet has a name until the last one has come.
        for file in ["id", "id.smaller", "id.grown"] {
            let number = fs::read(self.folder.join(file)).ok().and_then(|id| id.first_chunk::<8>().copied());
            if let Some(number) = number.map(u64::from_ne_bytes) {
                let _ = fs::remove_file(format!("/dev/shm/nccl-stand-in-{number:016x}"));
            }
        }
    }
}
