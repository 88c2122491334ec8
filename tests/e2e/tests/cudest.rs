//! cutap's driver (`--cudest`) on the model of the kernel driver. Kernels there end immediately and compute nothing;
//! copies, sets and fences are real.

use cutap_e2e::{Finished, Scratch, cutap, finish, out, scratch, sources};
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::{env, fs};

/// What `own_driver` prints without a GPU that computes.
const PRINTED: &str = "devices 1, H100, 132 SMs
memory is free: 1
pageable copies right: 1
page-locked copies right: 1
time passes: 1
registered copies and sets right: 1
functions of the host: 2
managed memory: 1010101
memory without an address: 801
done
";

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

fn cubin() -> PathBuf {
    sources().join("../../crates/cudest/tests/cubins/kernels-12.9-sm_90.cubin")
}

/// A folder with a program. `gcc` has what else its build needs.
fn built(name: &str, gcc: &[&str]) -> Scratch {
    let folder = scratch(name);
    let source = sources().join(format!("cudest/{name}.c"));
    // A libcuda to link with, whose functions do nothing: the driver comes with cutap.
    let (stub, functions) = (folder.join("libcuda.so.1"), folder.join("stub.c"));
    let text = fs::read_to_string(&source).unwrap();
    let name_of = |line: &str| Some(line.strip_prefix("int ")?.split_once('(')?.0.to_owned());
    let names: Vec<String> = text.lines().filter_map(name_of).filter(|name| name.starts_with("cu")).collect();
    let all: String = names.iter().map(|name| format!("void {name}(void) {{}}\n")).collect();
    fs::write(&functions, all).unwrap();
    let mut link = Command::new("gcc");
    link.args(["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o"]).arg(&stub).arg(&functions);
    assert!(finish(&mut link).status.success());
    let mut compile = Command::new("gcc");
    compile.args(["-std=gnu11", "-O1", "-Wall", "-Werror", "-o"]).arg(folder.join(name));
    compile.arg(source).args(gcc);
    if !names.is_empty() {
        compile.arg(&stub);
    }
    let done = finish(&mut compile);
    assert!(done.status.success(), "{}", done.stderr);
    fs::remove_file(stub).unwrap();
    folder
}

/// `cutap WORDS -- PROGRAM CUBIN` on the model.
fn on_model(folder: &Scratch, words: &[&str], program: &str, version: &str) -> Finished {
    let mut command = Command::new(cutap());
    command.args(words).arg("--").arg(folder.join(program)).arg(cubin());
    command.env("LD_PRELOAD", model()).env("KERNEL_MODEL_VERSION", version);
    // The model has no mode A.
    finish(command.env("CUTAP_CUDEST_MODE", "B"))
}

#[test]
fn a_program_of_the_driver_api() {
    let folder = built("own_driver", &[]);
    let done = on_model(&folder, &["run", "--cudest"], "own_driver", "580.159.04");
    assert_eq!((&*done.stdout, done.status.code()), (PRINTED, Some(7)), "{}", done.stderr);
    let refused = "cutap-cudest: cuMemCreate was refused once, first by own_driver+0x";
    assert!(done.stderr.contains(refused) && done.stderr.contains("own_driver on cutap's driver"), "{}", done.stderr);
}

#[test]
fn its_calls_and_submissions() {
    let folder = built("own_driver", &[]);
    let (recording, path) = (folder.join("run.cutap"), |path: &PathBuf| path.to_str().unwrap().to_owned());
    let words = ["record", "-q", "--cudest", "-e", "driver,submit,syscall", "-o", &path(&recording)];
    let done = on_model(&folder, &words, "own_driver", "580.159.04");
    assert_eq!((&*done.stdout, done.status.code()), (PRINTED, Some(7)), "{}", done.stderr);
    let shown = |filter: &str| finish(Command::new(cutap()).args(["show", "-a", "-e", filter]).arg(&recording)).stdout;
    let count = |text: &str, part: &str| text.lines().filter(|line| line.contains(part)).count();
    let calls = shown("driver");
    assert_eq!(count(&calls, "cuLaunchKernel vecadd"), 1001, "{calls}");
    assert_eq!(count(&calls, "cuMemCreate("), 1);
    assert!(count(&calls, "CUDA_ERROR_NOT_SUPPORTED") == 1 && count(&calls, "CUDA_ERROR") == 1, "{calls}");
    // Each launch is a submission of its channel.
    assert!(count(&shown("submit"), "[submit]") > 1001);
    assert!(count(&shown("syscall"), "NV_ESC_RM_") > 50);
}

#[test]
fn a_program_with_the_static_runtime() {
    let wheel = Command::new("python3").arg(sources().join("wheels.py")).args(["cudart", "12.9"]).output();
    let Some(wheel) = wheel.ok().filter(|wheel| wheel.status.success()) else {
        return println!("skipped: a program with NVIDIA's static runtime (its wheel cannot be fetched here)");
    };
    let wheel = String::from_utf8_lossy(&wheel.stdout).trim().to_owned();
    let include = sources().join("include");
    let (own, theirs, archive) =
        (format!("-I{}", include.display()), format!("-I{wheel}/include"), format!("{wheel}/lib/libcudart_static.a"));
    let folder = built("static_runtime", &[&own, &theirs, &archive, "-lpthread", "-ldl", "-lrt"]);
    let done = on_model(&folder, &["run", "--cudest"], "static_runtime", "580.159.04");
    assert_eq!((&*done.stdout, done.status.code()), ("H100\ncopied: 1\ntime passes: 1\n", Some(0)), "{}", done.stderr);
}

#[test]
fn machines_that_are_refused() {
    let folder = built("own_driver", &[]);
    let refused = |done: &Finished, sentence: &str| {
        assert_eq!((&*done.stdout, done.status.code()), ("", Some(125)), "{}", done.stderr);
        assert!(done.stderr.contains(sentence) && done.stderr.lines().count() == 1, "{}", done.stderr);
    };
    let done = on_model(&folder, &["run", "--cudest"], "own_driver", "470.256.02");
    refused(&done, "--cudest cannot run here: kernel driver 470.256.02 has no checked tables");
    let recording = folder.join("none.cutap");
    let words = ["record", "--cudest", "--gpu-time", "-o", recording.to_str().unwrap()];
    refused(&on_model(&folder, &words, "own_driver", "580.159.04"), "--cudest has no --gpu-time");
    if PathBuf::from("/dev/nvidiactl").exists() {
        return println!("skipped: a machine without a kernel driver (this one has it)");
    }
    let mut command = Command::new(cutap());
    command.args(["run", "--cudest", "--"]).arg(folder.join("own_driver"));
    refused(&finish(&mut command), "--cudest cannot run here: no NVIDIA kernel driver: /dev/nvidiactl");
}
