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
memory for another process: 801
done
";

/// What `chosen_addresses` prints on every driver, without a GPU that computes.
const AT_CHOSEN_ADDRESSES: &str = "granule: 2097152
mapped twice: 1
access before: 0
access: 3
the same piece: 1, on device 0
three pieces are one range: 1
beyond the pieces: 1
four pieces: 1 1
changed places: 1 1
at two places: 8 7
without access: 1
with access again: 1
in use: 1
released: 1
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
    let refused = "cutap-cudest: cuMemExportToShareableHandle was refused once";
    assert!(done.stderr.contains(refused) && done.stderr.contains("own_driver on cutap's driver"), "{}", done.stderr);
}

#[test]
fn memory_at_chosen_addresses() {
    let folder = built("chosen_addresses", &[]);
    let done = on_model(&folder, &["run", "--cudest"], "chosen_addresses", "580.159.04");
    assert_eq!((&*done.stdout, done.status.code()), (AT_CHOSEN_ADDRESSES, Some(7)), "{}", done.stderr);
    assert!(!done.stderr.contains("was refused"), "{}", done.stderr);
    let mut simulated = Command::new(cutap());
    let done = finish(simulated.args(["run", "--sim", "--"]).arg(folder.join("chosen_addresses")).arg(cubin()));
    assert_eq!((&*done.stdout, done.status.code()), (AT_CHOSEN_ADDRESSES, Some(7)), "{}", done.stderr);
}

/// Copies and sets of four streams, between launches that have no effect on the model.
#[test]
fn random_launches_on_four_streams() {
    let folder = built("random_launches", &[]);
    let run = |seed: &str| {
        let mut command = Command::new(cutap());
        command.args(["run", "--cudest", "--"]).arg(folder.join("random_launches")).arg(cubin()).args(["no", seed]);
        command.env("LD_PRELOAD", model()).env("KERNEL_MODEL_VERSION", "580.159.04");
        finish(command.env("CUTAP_CUDEST_MODE", "B"))
    };
    let (one, again, other) = (run("1"), run("1"), run("2"));
    for done in [&one, &again, &other] {
        assert_eq!(done.status.code(), Some(7), "{} {}", done.stdout, done.stderr);
        assert!(done.stdout.ends_with("the same as on the CPU: 8 of 8\n"), "{}", done.stdout);
        assert!(!done.stderr.contains("cutap-cudest:"), "{}", done.stderr);
    }
    assert_eq!(one.stdout, again.stdout);
    assert_ne!(one.stdout, other.stdout);
}

/// Threads, objects that come and go, and a fault that ends the context: every later call has its error.
#[test]
fn hard_use() {
    let folder = built("hard_use", &["-pthread"]);
    let cubin = cubin().with_file_name("faults-ptxas-12.9-sm_90.cubin");
    let run = |words: &[&str], fault: &str| {
        let mut command = Command::new(cutap());
        command.args(["run", "--cudest", "--"]).arg(folder.join("hard_use")).arg(&cubin).args(words);
        command.env("LD_PRELOAD", model()).env("KERNEL_MODEL_VERSION", "580.159.04");
        if !fault.is_empty() {
            command.env("KERNEL_MODEL_FAULT", fault);
        }
        let done = finish(command.env("CUTAP_CUDEST_MODE", "B"));
        assert_eq!(done.status.code(), Some(7), "{words:?}: {} {}", done.stdout, done.stderr);
        (done.stdout, done.stderr)
    };
    assert_eq!(run(&["short"], "").0, "right: 1\n");
    assert_eq!(run(&["threads", "no", "10"], "").0, "threads right: 64 of 64, functions of the host: 64\n");
    assert_eq!(run(&["churn", "no", "3"], "").0, "memory came back: 1\n");
    let calls = ["wait", "query", "context", "another launch", "a copy", "an allocation", "a stream", "a free"];
    for (fault, name, error) in [("31@1", "unmapped", 700), ("13@1", "trapped", 719)] {
        let (printed, errors) = run(&[name], fault);
        let sticky: String = calls.iter().map(|call| format!("{call}: {error}\n")).collect();
        assert_eq!(printed, format!("launch: 0\n{sticky}"), "{errors}");
        let kernel = if name == "trapped" { name } else { "add" };
        let lines: Vec<&str> = errors.lines().filter(|line| line.starts_with("cutap-cudest:")).collect();
        assert!(lines.len() == 1 && lines[0].contains(&format!("error {error} ended the context: Xid ")), "{errors}");
        assert!(lines[0].contains(&format!("kernel {kernel}")), "{errors}");
    }
}

/// What the driver refuses is listed at the end, with the place of the first call.
#[test]
fn refused_calls_are_listed() {
    let folder = built("refused_calls", &[]);
    let run = |words: &[&str]| {
        let mut command = Command::new(cutap());
        command.args(words).arg("--").arg(folder.join("refused_calls"));
        command.env("LD_PRELOAD", model()).env("KERNEL_MODEL_VERSION", "580.159.04");
        finish(command.env("CUTAP_CUDEST_MODE", "B"))
    };
    let done = run(&["run", "--cudest"]);
    assert_eq!(done.status.code(), Some(7), "{} {}", done.stdout, done.stderr);
    let answers: Vec<&str> = done.stdout.lines().collect();
    assert!(answers.len() == 9 && answers.iter().all(|line| line.ends_with(": 801")), "{}", done.stdout);
    for line in &answers {
        let name = line.split(": ").next().unwrap();
        let times = if name == "cuIpcGetMemHandle" { "2 times" } else { "once" };
        let is_listed = |line: &str| {
            line.starts_with(&format!("cutap-cudest: {name}"))
                && line.contains(&format!(" was refused {times}, first by refused_calls+0x"))
        };
        assert!(done.stderr.lines().any(is_listed), "{name}: {}", done.stderr);
    }
    // On simulated devices the same objects exist, although no kernel reads through them.
    let done = run(&["run", "--sim"]);
    assert!(done.stdout.contains("cuTexObjectCreate: 0\n"), "{} {}", done.stdout, done.stderr);
    assert!(!done.stderr.contains("was refused"), "{}", done.stderr);
}

/// A program that opens libcuda by a path gets the driver of cutap. So does one that is linked with an RPATH, or has a
/// library that is.
#[test]
fn a_driver_that_is_named_by_a_path() {
    let folder = built("opened_driver", &["-ldl"]);
    let other = folder.join("libcuda.so.1");
    let library = |out: &PathBuf, source: &str| {
        let (text, mut gcc) = (folder.join("library.c"), Command::new("gcc"));
        fs::write(&text, source).unwrap();
        gcc.args(["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o"]).arg(out).arg(&text);
        assert!(finish(&mut gcc).status.success());
    };
    library(&other, "int nothing;");
    let run = |words: &[&str], program: &str, arguments: &[&str]| {
        let mut command = Command::new(cutap());
        command.args(words).arg("--").arg(folder.join(program)).args(arguments);
        command.env("LD_PRELOAD", model()).env("CUTAP_CUDEST_MODE", "B").env("KERNEL_MODEL_VERSION", "580.159.04");
        let done = finish(&mut command);
        (done.stdout, done.stderr)
    };
    let path = other.to_str().unwrap();
    let tail = "/no/libcudart.so: cannot open shared object file: No such file or directory\n";
    let opened = |name: &str| format!("{name}: cuInit 0, devices 1\n{tail}");
    for name in [path, "libcuda.so", "libcuda.so.1"] {
        let (printed, errors) = run(&["run", "--sim"], "opened_driver", &[name]);
        assert_eq!(printed, opened("sim"), "{name}: {errors}");
        let (printed, errors) = run(&["run", "--cudest"], "opened_driver", &[name]);
        assert_eq!(printed, opened("cudest"), "{name}: {errors}");
    }
    let (recording, out) = (folder.join("run.cutap"), ["record", "-q", "--sim", "-e", "driver", "-o"]);
    let words = [&out[..], &[recording.to_str().unwrap()]].concat();
    assert_eq!(run(&words, "opened_driver", &[path]).0, opened("sim"));
    let calls = finish(Command::new(cutap()).args(["show", "-e", "driver"]).arg(&recording)).stdout;
    assert!(calls.contains("cuInit(") && calls.contains("cuDeviceGetCount("), "{calls}");
    // Without a driver of cutap the path leads where it says.
    let done = finish(Command::new(folder.join("opened_driver")).arg(path));
    assert_eq!(&*done.stdout, "other: no driver\n");

    // Linked: the file of the RPATH has no such function that works.
    library(&other, "int cuInit(unsigned flags) { return 42; }");
    let link = |name: &str, source: &str, with: &PathBuf, words: &[&str]| {
        let text = folder.join("linked.c");
        fs::write(&text, source).unwrap();
        let mut gcc = Command::new("gcc");
        gcc.arg("-o").arg(folder.join(name)).arg(text).arg(with).args(words);
        assert!(finish(gcc.arg(format!("-Wl,-rpath,{}", folder.display()))).status.success());
    };
    link("linked", "int cuInit(unsigned); int main() { return cuInit(0); }", &other, &["-Wl,--disable-new-dtags"]);
    // A library has the RPATH. The program finds it without one.
    let words = ["-shared", "-fPIC", "-Wl,--disable-new-dtags"];
    link("libuser.so", "int cuInit(unsigned); int use(void) { return cuInit(0); }", &other, &words);
    let user = folder.join("libuser.so");
    link("through", "int use(void); int main() { return use(); }", &user, &["-Wl,--enable-new-dtags"]);
    let code = |program: &str, words: &[&str]| {
        let mut command = Command::new(cutap());
        command.args(words).arg("--").arg(folder.join(program));
        command.env("LD_PRELOAD", model()).env("CUTAP_CUDEST_MODE", "B").env("KERNEL_MODEL_VERSION", "580.159.04");
        finish(&mut command).status.code()
    };
    for program in ["linked", "through"] {
        let codes = (code(program, &["run", "--sim"]), code(program, &["run", "--cudest"]));
        assert_eq!(codes, (Some(0), Some(0)), "{program}");
        assert_eq!(finish(&mut Command::new(folder.join(program))).status.code(), Some(42), "{program}");
    }
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
    assert_eq!(count(&calls, "cuMemExportToShareableHandle("), 1);
    assert!(count(&calls, "CUDA_ERROR_NOT_SUPPORTED") == 1 && count(&calls, "CUDA_ERROR") == 1, "{calls}");
    // Each launch is a submission of its channel.
    assert!(count(&shown("submit"), "[submit]") > 1001);
    let requests = shown("syscall");
    assert!(count(&requests, "NV_ESC_RM_") > 50);
    // What never changes is asked for once.
    for fact in [
        "NV_ESC_CARD_INFO",
        "GPU_GET_ID_INFO",
        "GPU_GET_CLASSLIST_V2",
        "GR_GET_GPC_MASK",
        "CE_GET_ALL_CAPS",
        "GPU_GET_GID_INFO",
    ] {
        assert_eq!(count(&requests, fact), 1, "{fact}: {requests}");
    }
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
