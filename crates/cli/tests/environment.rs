//! `cutap env`, and how LD_PRELOAD and LD_LIBRARY_PATH look when others use them too.

mod support;

use std::process::Command;
use support::{CUTAP, Folder, cutap, err, out};

const SHOW: &str = "printf '%s|%s|%s' \"$LD_PRELOAD\" \"$CUTAP_RUN\" \"$LD_LIBRARY_PATH\"";

/// Runs a line of shell with `cutap` on the search path.
fn shell(shell: &str, line: &str, env: &[(&str, &str)]) -> std::process::Output {
    let folder = std::path::Path::new(CUTAP).parent().unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(shell);
    command.args(["-c", line]).env("PATH", path);
    for name in ["LD_PRELOAD", "LD_LIBRARY_PATH", "CUTAP_RUN"] {
        command.env_remove(name);
    }
    command.envs(env.iter().copied()).output().unwrap()
}

#[test]
fn eval_sets_it_in_every_shell_and_spelling() {
    let folder = Folder::new("eval");
    for (n, sh) in ["sh", "bash"].into_iter().enumerate() {
        for (m, name) in ["plain", "a b", "it's", "a$b", "a\"b", "a;b&c", "a`b`"].into_iter().enumerate() {
            for (k, eval) in
                ["eval $(cutap env -o \"$DIR\")", "eval \"$(cutap env -o \"$DIR\")\""].into_iter().enumerate()
            {
                let run = folder.join(&format!("{n}{m}{k}{name}"));
                let done = shell(sh, &format!("{eval}; {SHOW}"), &[("DIR", run.to_str().unwrap())]);
                let text = out(&done);
                let parts: Vec<&str> = text.split('|').collect();
                assert_eq!(parts[1], run.to_str().unwrap(), "{sh} {eval}: {}", err(&done));
                assert!(parts[0].ends_with("/libcutap_preload.so"), "{text}");
                assert_eq!(parts[2], "");
                assert!(run.join("control").is_file());
                assert_eq!(err(&done), "");
            }
        }
    }
}

#[test]
fn a_relative_folder_becomes_absolute_and_sim_is_found_first() {
    let folder = Folder::new("relative");
    let line = format!("cd {}; eval $(cutap env -o run --sim); {SHOW}", folder.0.display());
    let done = shell("sh", &line, &[("LD_LIBRARY_PATH", "/opt/x:/opt/y")]);
    let text = out(&done);
    let parts: Vec<&str> = text.split('|').collect();
    assert_eq!(parts[1], folder.join("run").to_str().unwrap());
    let sim = parts[2].strip_suffix(":/opt/x:/opt/y").unwrap();
    for name in ["libcuda.so.1", "libcuda.so", "libnvidia-ml.so.1", "libnvidia-ml.so"] {
        assert!(std::path::Path::new(sim).join(name).is_file(), "{text} {name}");
    }
}

#[test]
fn calls_of_libraries_without_a_version_are_seen() {
    let program = "import ctypes; ctypes.CDLL('libcuda.so').cuInit(0); ctypes.CDLL('libnvidia-ml.so').nvmlInit_v2()";
    let done = shell("sh", "cutap trace --sim -- python3 -c \"$PROGRAM\"", &[("PROGRAM", program)]);
    let text = err(&done);
    assert!(
        text.contains("cuInit(Flags=0x0) = CUDA_SUCCESS") && text.contains("nvmlInit_v2() = NVML_SUCCESS"),
        "{text}"
    );
}

#[test]
fn a_failure_sets_nothing_and_is_seen() {
    let folder = Folder::new("failure");
    let line = format!("cutap env -o {}; echo code=$?", folder.0.join("a/b/c").display());
    let done = shell("sh", &line, &[]);
    assert_eq!(out(&done), "code=125\n");
    assert!(err(&done).starts_with("cutap: "), "{}", err(&done));
}

#[test]
fn other_preloads_stay_behind_ours_and_sanitizers_in_front() {
    let folder = Folder::new("others");
    std::fs::write(folder.join("o.c"), "int other(void) { return 1; }\n").unwrap();
    let library = folder.join("other.so");
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(folder.join("o.c")).status();
    if !built.is_ok_and(|b| b.success()) {
        return eprintln!("skipped: another preload (no C compiler here)");
    }
    let other = library.to_str().unwrap();
    let run = |before: &str| {
        let done = cutap(&["trace", "--", "sh", "-c", "echo $LD_PRELOAD"]).env("LD_PRELOAD", before).output().unwrap();
        assert!(done.status.success(), "{}", err(&done));
        out(&done).trim().to_owned()
    };
    let alone = run("");
    assert!(alone.ends_with("/libcutap_preload.so") && !alone.contains(':'), "{alone}");
    assert_eq!(run(other), format!("{alone}:{other}"));
    assert_eq!(run(&format!("{other} {other}")), format!("{alone}:{other}:{other}"));
    // A trace inside a trace: one of us.
    assert_eq!(run(&alone), alone);

    let asan = Command::new("cc").arg("-print-file-name=libasan.so").output().map(|o| out(&o).trim().to_owned());
    let Ok(asan) = asan.map(std::fs::canonicalize).and_then(|p| p) else {
        return eprintln!("skipped: a sanitizer's runtime (no libasan here)");
    };
    let asan = asan.to_str().unwrap();
    assert_eq!(run(&format!("{asan}:{other}")), format!("{asan}:{alone}:{other}"));
}

#[test]
fn a_program_built_with_address_sanitizer_runs() {
    let folder = Folder::new("asan");
    let code = "#include <stdlib.h>\n#include <stdio.h>\nint main(int argc, char **argv) { char *p = malloc(8); p[0] = 1; \
                free(p); puts(\"fine\"), fflush(0); return argc > 1 ? system(argv[1]) != 0 : 0; }\n";
    std::fs::write(folder.join("a.c"), code).unwrap();
    let program = folder.join("a");
    let built = Command::new("cc").args(["-fsanitize=address", "-o"]).arg(&program).arg(folder.join("a.c")).output();
    let runs = || Command::new(&program).output().is_ok_and(|o| o.status.success());
    if !built.is_ok_and(|b| b.status.success()) || !runs() {
        return eprintln!("skipped: a program with AddressSanitizer (cc -fsanitize=address does not work here)");
    }
    let done = cutap(&["trace", "--"]).arg(&program).output().unwrap();
    assert_eq!((out(&done).as_str(), done.status.code()), ("fine\n", Some(0)), "{}", err(&done));

    // The runtime is before cutap in that process alone, and not in those that it starts.
    let inner = r#"set | sed -n 's/^LD_PRELOAD=//p; /^CUTAP_SANITIZER/p'; cat /proc/$PPID/comm /proc/$PPID/cmdline"#;
    let shell = |script: &str| {
        let done = cutap(&["trace", "--", "sh", "-c", script, inner]).arg(&program).output().unwrap();
        assert!(done.status.success(), "{script}: {}", err(&done));
        out(&done)
    };
    let preload = shell("echo $LD_PRELOAD");
    let wanted = |name: &str, first: &str| format!("fine\n'{}'\n{name}\n{first}\0{inner}\0", preload.trim_end());
    let path = program.to_str().unwrap();
    assert_eq!(shell(r#"exec "$1" "$0""#), wanted("a", path));
    assert_eq!(shell(r#"cd "${1%/*}"; "./a" "$0""#), wanted("a", "./a"));
    assert_eq!(shell(r#"ld=$(ls /lib64/ld-linux-x86-64.so.2); $ld "$1" "$0""#).lines().next(), Some("fine"));
}
