//! NVIDIA's own libcuda on the model of the kernel driver: how far it gets, and what it is refused.

#[path = "../../../crates/kernel/tests/libcuda/mod.rs"]
mod libcuda;

use cutap_e2e::{Finished, Scratch, cutap, finish, out, scratch, sources};
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::{env, fs};

const VERSION: &str = "550.163.01";

/// The library that puts the model in front of a process.
fn model() -> PathBuf {
    static BUILT: OnceLock<()> = OnceLock::new();
    let target = out().parent().expect("out() is a folder in the target folder");
    BUILT.get_or_init(|| {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--quiet", "--package", "cutap-kernel-process", "--target-dir"]).arg(target);
        let done = finish(cargo.current_dir(env!("CARGO_MANIFEST_DIR")));
        assert!(done.status.success(), "{}", done.stderr);
    });
    target.join("debug/libkernel_model.so")
}

/// The program `queries`, and a folder with libcuda.
struct Queries {
    folder: Scratch,
}

impl Queries {
    fn new() -> Option<Self> {
        let library = libcuda::libcuda()?;
        let folder = scratch("model");
        std::os::unix::fs::symlink(library, folder.join("libcuda.so.1")).unwrap();
        let mut gcc = Command::new("gcc");
        gcc.args(["-O1", "-Wall", "-Werror", "-o"]).arg(folder.join("queries"));
        let done = finish(gcc.arg(sources().join("kernel/queries.c")).arg("-ldl"));
        assert!(done.status.success(), "{}", done.stderr);
        Some(Self { folder })
    }

    /// Runs it on the model, under cutap where there are words for it.
    fn run(&self, words: &[&str]) -> Finished {
        self.run_with(words, &[])
    }

    fn run_with(&self, words: &[&str], arguments: &[&str]) -> Finished {
        let program = self.folder.join("queries");
        let mut command = match words {
            [] => Command::new(program),
            words => {
                let mut command = Command::new(cutap());
                command.args(words).arg("-o").arg(self.folder.join("out")).arg("--").arg(program);
                command
            }
        };
        let _ = fs::remove_file(self.folder.join("log"));
        let run = self.folder.join("run.json");
        if run.is_file() {
            command.env("KERNEL_MODEL_RUN", run);
        }
        command.args(arguments).env("LD_LIBRARY_PATH", &*self.folder).env("LD_PRELOAD", model());
        finish(command.env("KERNEL_MODEL_VERSION", VERSION).env("KERNEL_MODEL_LOG", self.folder.join("log")))
    }

    /// What the model wrote of requests without an exact answer.
    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    fn traced(&self) -> String {
        fs::read_to_string(self.folder.join("out")).unwrap()
    }
}

fn refused(log: &str) -> Vec<&str> {
    log.lines().filter_map(|line| line.strip_prefix("refused: ")?.split(' ').next()).collect()
}

#[test]
fn init_and_queries() {
    let Some(queries) = Queries::new() else { return };
    let done = queries.run(&[]);
    let lines: Vec<&str> = done.stdout.lines().collect();
    // Values of the recorded H100.
    for line in [
        "cuDriverGetVersion: 12040",
        "cuInit = 0",
        "cuDeviceGetCount: 1",
        "cuDeviceGetName: NVIDIA H100 80GB HBM3",
        "cuDeviceGetUuid: 101112131415161718191a1b1c1d1e1f",
        "cuDeviceGetPCIBusId: 0000:00:06.0",
        "cuDeviceTotalMem: 85017493504",
        // Threads in a block, SMs, clock, capability 9.0, bus width, L2.
        "attribute 1: 1024",
        "attribute 16: 132",
        "attribute 13: 1980000",
        "attribute 75: 9",
        "attribute 76: 0",
        "attribute 37: 5120",
        "attribute 38: 52428800",
    ] {
        assert!(lines.contains(&line), "{line}: {}", done.everything());
    }
    // All attributes have a value.
    let failed: Vec<_> = lines.iter().filter(|line| line.contains(" = ") && **line != "cuInit = 0").collect();
    assert!(failed.is_empty(), "{failed:?}: {}", done.stdout);
    let names = ["NV2080_CTRL_CMD_GPU_GET_ACTIVE_PARTITION_IDS", "control"];
    assert_eq!(refused(&queries.log()), names, "{}", queries.log());
}

/// cutap shows the requests by name, and they are answered as before.
#[test]
fn under_cutap() {
    let Some(queries) = Queries::new() else { return };
    let plain = queries.run(&[]).stdout;
    let traced = queries.run(&["syscall", "trace"]);
    assert_eq!(traced.stdout, plain, "{}", traced.stderr);
    let text = queries.traced();
    for words in [
        "NV_ESC_RM_ALLOC NV01_DEVICE_0 {",
        "NV2080_CTRL_CMD_GPU_GET_NAME_STRING {",
        "UVM_REGISTER_GPU {",
        "mmap nvidia0(",
        "\ncuDeviceGetAttribute:\n",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(text.matches(" = 0, NV_OK").count() > 90, "{text}");
    queries.run(&["syscall", "trace", "--status", "0x56"]);
    let text = queries.traced();
    assert_eq!(text.matches("NV_ERR_NOT_SUPPORTED").count(), 2, "{text}");
    assert!(text.contains("NV2080_CTRL_CMD_GPU_GET_ACTIVE_PARTITION_IDS"), "{text}");
}

/// A context, copies, a fill: libcuda's channels run on the model, and cutap reads what was submitted.
#[test]
fn a_context_and_copies() {
    let Some(queries) = Queries::new() else { return };
    let plain = queries.run_with(&[], &["context"]);
    for line in ["\ncuCtxCreate done\n", "\nwords that differ: 0\n"] {
        assert!(plain.stdout.contains(line), "{}", plain.everything());
    }
    let failed = plain.stdout.lines().filter(|line| line.starts_with("cu") && line.contains(" = "));
    assert_eq!(failed.collect::<Vec<_>>(), ["cuInit = 0"], "{}", plain.stdout);
    // What it asked before is refused, and nothing else.
    assert_eq!(refused(&queries.log()).len(), 2, "{}", queries.log());
    let traced = queries.run_with(&["trace", "-e", "submit,driver"], &["context"]);
    assert!(traced.stdout.contains("\nwords that differ: 0\n"), "{}", traced.everything());
    let text = queries.traced();
    let of = |call: &str| text.split_once(call).map_or("", |(_, rest)| rest.split("\n}").next().unwrap_or(""));
    assert!(of("\ncuMemcpyHtoD_v2(").contains("copy 400000 bytes"), "{text}");
    assert!(of("\ncuMemsetD32_v2(").contains("write 4000 bytes"), "{text}");
    let back = of("\ncuMemcpyDtoH_v2(");
    assert!(["copy 400000 bytes", "release "].iter().all(|step| back.contains(step)), "{text}");
}

/// The answers of a run that cutap recorded give that run again.
#[test]
fn answers_of_a_recorded_run() {
    let Some(queries) = Queries::new() else { return };
    let first = queries.run(&["syscall", "trace", "--json"]).stdout;
    fs::rename(queries.folder.join("out"), queries.folder.join("run.json")).unwrap();
    let again = queries.run(&[]);
    assert_eq!(again.stdout, first, "{}", again.stderr);
    assert_eq!(refused(&queries.log()), Vec::<&str>::new(), "{}", queries.log());
}
