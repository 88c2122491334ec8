//! How the driver finds the injection of `--gpu-time`: the program does not see it, and one of the user is loaded too.

use cutap_e2e::{Scratch, cutap, finish, out, scratch};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Records `gpu_steps` with one step; its output, behind the process id, and the recording.
fn recorded(folder: &Scratch, name: &str, variables: &[(&str, &str)], flags: &[&str]) -> (String, PathBuf) {
    let file = folder.join(format!("{name}.cutap"));
    let mut record = Command::new(cutap());
    record.args(["record", "--sim", "--gpu-time"]).args(flags).arg("-o").arg(&file).arg(out().join("gpu_steps"));
    record.env_remove("CUDA_INJECTION64_PATH").envs(variables.iter().copied());
    let mut child = record.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("cutap runs");
    child.stdin.take().unwrap().write_all(b"\n").expect("the program reads");
    let done = child.wait_with_output().expect("cutap ends");
    assert!(done.status.success(), "{done:?}");
    let output = String::from_utf8_lossy(&done.stdout).into_owned();
    let lines = output.lines().filter(|line| line.parse::<u32>().is_err());
    (lines.collect::<Vec<_>>().join("\n"), file)
}

fn has_rows(file: &PathBuf) -> bool {
    let notes = finish(Command::new(cutap()).args(["report", "--notes"]).arg(file)).everything();
    notes.contains("1 of 1 rows of GPU time have their call")
}

/// The environment is that of the program, also where getenv of the driver is recorded.
#[test]
fn the_variable_is_not_set() {
    let folder = scratch("gpu-time-injection");
    for (name, flags) in
        [("plain", &[][..]), ("syscall", &["-e", "syscall,driver"]), ("ioctl", &["-e", "ioctl,driver"])]
    {
        let (output, file) = recorded(&folder, name, &[], flags);
        assert_eq!(output, "step 1\nvariable: (unset)", "{name}");
        assert!(has_rows(&file), "{name}");
    }
}

/// The value of the user stays, and is loaded; `none` is no injection.
#[test]
fn the_injection_of_the_user_is_loaded() {
    let folder = scratch("gpu-time-other-injection");
    let other = out().join("libother_injection.so").display().to_string();
    for (by, shows_own) in [("answer", false), ("variable", true)] {
        for (value, printed) in [(&*other, "other injection\n"), ("none", ""), ("", "")] {
            let variables = [("CUDA_INJECTION64_PATH", value), ("CUTAP_GPU_TIME_BY", by)];
            let (output, file) = recorded(&folder, &format!("{by}-{}", value.len()), &variables, &[]);
            let seen = output.lines().last().unwrap_or_default();
            assert_eq!(seen.ends_with("/libcutap_gpu_time.so"), shows_own, "{output}");
            assert!(shows_own || seen == format!("variable: {value}"), "{output}");
            assert_eq!(output.contains("other injection"), !printed.is_empty(), "{by} {value}: {output}");
            assert!(has_rows(&file), "{by} {value}");
        }
    }
}
