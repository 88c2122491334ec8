//! `cutap doctor`: what works on this machine, what does not, and what to do. It changes nothing but cutap's own cache.

use crate::embedded::LIBRARIES;
use crate::stdout::print;
use cutap_collect::unpack::Wanted;
use cutap_collect::{DriverChoice, Error, Result, has_driver_library};
use cutap_cudest::Survey;
use std::fmt::Write;
use std::fs::OpenOptions;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Debug, clap::Args)]
pub struct Doctor {}

/// The state of one thing.
struct Finding {
    subject: &'static str,
    state: State,
    /// What is there, or what is missing.
    detail: String,
    /// What to do; empty if there is nothing to do.
    advice: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Works,
    /// Some things do not work without it.
    Missing,
    /// Nothing works without it.
    Broken,
}

impl Doctor {
    pub fn run(self) -> Result<()> {
        let machine = [driver(), gpu(), cudest(), runtimes(), cupti(), ptrace(), files()];
        let all: Vec<Finding> = machine.into_iter().chain([cache(), run_directory(), tracing()]).collect();
        let mut text = String::new();
        for Finding { subject: what, state, detail: found, advice } in &all {
            let mark = match state {
                State::Works => "ok     ",
                State::Missing => "missing",
                State::Broken => "BROKEN ",
            };
            // Writing to a string does not fail.
            let _ = writeln!(text, "{mark}  {what:<14} {found}");
            if !advice.is_empty() {
                let _ = writeln!(text, "{:24} -> {advice}", "");
            }
        }
        print(&text)?;
        match all.iter().filter(|finding| finding.state == State::Broken).count() {
            0 => Ok(()),
            n => Err(Error::own(format!("{n} of {} checks failed; follow the advice above", all.len()))),
        }
    }
}

fn finding(what: &'static str, good: bool, found: String, advice: &'static str) -> Finding {
    let state = if good { State::Works } else { State::Missing };
    Finding { subject: what, state, detail: found, advice: if good { "" } else { advice } }
}

fn driver() -> Finding {
    let kernel = std::fs::read_to_string("/proc/driver/nvidia/version").ok();
    let version = kernel.as_deref().and_then(|text| text.lines().next()).map(|line| {
        line.split_whitespace().find(|word| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit()))
    });
    let library = has_driver_library();
    let detail = match (version.flatten(), library) {
        (Some(version), true) => format!("kernel driver {version}, libcuda.so.1"),
        (Some(version), false) => format!("kernel driver {version}, but no libcuda.so.1"),
        (None, true) => "libcuda.so.1, but no kernel driver".to_owned(),
        (None, false) => "no NVIDIA driver".to_owned(),
    };
    let good = version.flatten().is_some() && library;
    finding("driver", good, detail, "install the NVIDIA driver, or run programs on the simulated one: cutap --sim PROG")
}

fn gpu() -> Finding {
    let folders = std::fs::read_dir("/proc/driver/nvidia/gpus").into_iter().flatten().flatten();
    let model = |folder: PathBuf| {
        let text = std::fs::read_to_string(folder.join("information")).ok()?;
        Some(text.lines().find_map(|line| line.strip_prefix("Model:"))?.trim().to_owned())
    };
    let models: Vec<String> = folders.filter_map(|entry| model(entry.path())).collect();
    let usable = is_usable_node(Path::new("/dev/nvidiactl"));
    let detail = match (models.is_empty(), usable) {
        (true, _) => "no GPU".to_owned(),
        (false, true) => models.join(", "),
        (false, false) => format!("{}, but /dev/nvidiactl cannot be opened", models.join(", ")),
    };
    finding(
        "GPU",
        !models.is_empty() && usable,
        detail,
        "in a container pass the GPU on (docker run --gpus all); or use --sim",
    )
}

/// Whether cutap's driver finds a GPU that it can use.
fn cudest() -> Finding {
    let usable = Survey::new().and_then(Survey::usable_gpus);
    let detail = match &usable {
        Ok(gpus) => gpus.iter().map(|(_, facts)| facts.name.clone()).collect::<Vec<_>>().join(", "),
        Err(why) => why.to_string(),
    };
    finding(
        "--cudest",
        usable.is_ok(),
        detail,
        "only --cudest needs it: an H100 or H200, and a driver of branch 535 to 595",
    )
}

/// Whether a device node can be opened. What is there instead, such as a pipe, is not waited for.
fn is_usable_node(path: &Path) -> bool {
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    opened.and_then(|node| node.metadata()).is_ok_and(|data| data.file_type().is_char_device())
}

/// File names of the loader's cache that begin like this.
fn cached(prefix: &str) -> Vec<String> {
    let cache = std::fs::read("/etc/ld.so.cache").unwrap_or_default();
    let names = cache.split(|b| *b == 0).filter_map(|name| std::str::from_utf8(name).ok());
    let mut names: Vec<String> = names.filter(|n| n.starts_with(prefix) && n.len() < 64).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

fn runtimes() -> Finding {
    let mut names = cached("libcudart.so");
    if Path::new("/usr/local/cuda/lib64/libcudart.so").exists() && names.is_empty() {
        names.push("/usr/local/cuda/lib64/libcudart.so".to_owned());
    }
    let detail = if names.is_empty() { "no shared runtime in the loader's paths".to_owned() } else { names.join(", ") };
    finding("runtimes", !names.is_empty(), detail, "nothing to do: programs and Python packages bring their own")
}

fn cupti() -> Finding {
    let folder = "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so";
    let mut names = cached("libcupti.so");
    names.extend(Path::new(folder).exists().then(|| folder.to_owned()));
    let detail = names.first().cloned().unwrap_or_else(|| "no CUPTI".to_owned());
    finding(
        "CUPTI",
        !names.is_empty(),
        detail,
        "only --gpu-time needs it: programs and Python packages bring their own, else set CUTAP_CUPTI to its path",
    )
}

fn ptrace() -> Finding {
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_else(|_| "0".to_owned());
    let scope = scope.trim();
    let good = matches!(scope, "0" | "1");
    finding("ptrace", good, format!("yama scope {scope}"), "tracing does not need it; cutap syscall needs scope 0 or 1")
}

fn files() -> Finding {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let hard: u64 = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(u64::MAX);
    finding("limits", hard >= 1024, format!("{hard} open files"), "raise the hard limit: ulimit -Hn 4096")
}

fn cache() -> Finding {
    let wanted = Wanted { driver: DriverChoice::Simulated, gpu_time: true, inject: true, limit: true };
    match cutap_collect::unpack::unpack(LIBRARIES, wanted) {
        Ok(unpacked) => finding("cache", true, unpacked.preload.display().to_string(), ""),
        Err(e) => Finding {
            subject: "cache",
            state: State::Broken,
            detail: e.to_string(),
            advice: "set CUTAP_CACHE_DIR to a folder that you may write, on a file system without noexec",
        },
    }
}

fn run_directory() -> Finding {
    match cutap_collect::fresh_run_directory() {
        Ok(run) => {
            let run = run.path();
            let detail = run.parent().unwrap_or(&run).display().to_string();
            let _ = std::fs::remove_dir_all(&run);
            finding("run directory", true, detail, "")
        }
        Err(e) => Finding {
            subject: "run directory",
            state: State::Broken,
            detail: e.to_string(),
            advice: "make room in /tmp, /var/tmp or /dev/shm, or give a folder with --run-dir",
        },
    }
}

/// Traces the program of `cutap demo`.
fn tracing() -> Finding {
    let run = || -> Option<u64> {
        let cutap = std::env::current_exe().ok()?;
        let mut command = Command::new(&cutap);
        command.args(["trace", "--sim", "-C", "--json", "--"]).arg(&cutap).arg("__demo-program");
        let output = command.env_remove("LD_PRELOAD").output().ok()?;
        let text = String::from_utf8(output.stderr).ok()?;
        Some(text.lines().filter(|line| line.contains("\"cuMemAlloc")).count() as u64)
    };
    match run() {
        Some(1..) => finding("tracing", true, "a program on the simulated driver was traced".to_owned(), ""),
        _ => Finding {
            subject: "tracing",
            state: State::Broken,
            detail: "the program of cutap demo was not traced".to_owned(),
            advice: "run cutap demo and read its messages",
        },
    }
}
