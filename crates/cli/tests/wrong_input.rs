//! Wrong input: one sentence on standard error that says what, why and what to do, a non-zero exit,
//! and no program has run. Driven through the real binary.

mod support;

use std::path::Path;
use std::process::{Command, Output};
use support::{CUTAP, Folder, cutap, err, is_root, out, refused};

fn trace(program: &Path) -> Output {
    cutap(&["trace", "--"]).arg(program).output().unwrap()
}

#[test]
fn a_program_that_is_not_there() {
    let run = |name: &str| cutap(&["trace", "--", name]).output().unwrap();
    refused(&run("no-such-program-at-all"), 127, &["no program of this name on PATH"]);
    refused(&run("pyhton3"), 127, &["did you mean python3"]);
    refused(&run("/no/such/program"), 127, &["there is no such file"]);
    refused(&run(""), 127, &["empty"]);
    let folder = Folder::new("here");
    folder.program("saxpy-here", b"#!/bin/sh\n");
    let done = cutap(&["trace", "--", "saxpy-here"]).current_dir(&folder.0).output().unwrap();
    refused(&done, 127, &["did you mean ./saxpy-here"]);
    std::os::unix::fs::symlink("/nowhere", folder.join("link")).unwrap();
    refused(&trace(&folder.join("link")), 127, &["leads nowhere"]);
}

#[test]
fn something_that_cannot_be_run() {
    let folder = Folder::new("not-run");
    refused(&trace(&folder.0), 126, &["it is a folder"]);
    std::fs::write(folder.join("plain"), "#!/bin/sh\n").unwrap();
    refused(&trace(&folder.join("plain")), 126, &["not marked executable", "chmod +x"]);
    refused(&trace(&folder.program("data", b"\0\x01\x02binary")), 126, &["neither a Linux program nor a script"]);
    refused(&trace(&folder.program("empty", b"")), 126, &["neither"]);
    refused(&trace(&folder.program("short", b"\x7fELF\x02\x01\x01")), 126, &["damaged"]);
    let on_path = cutap(&["trace", "--", "plain"]).env("PATH", &folder.0).output().unwrap();
    refused(&on_path, 126, &["not marked executable"]);
}

#[test]
fn scripts_whose_interpreter_is_missing_or_cannot_be_traced() {
    let folder = Folder::new("scripts");
    refused(&trace(&folder.program("gone", b"#!/no/python -u\nx")), 127, &["interpreter /no/python does not exist"]);
    refused(&trace(&folder.program("dos", b"#!/bin/sh\r\necho\r\n")), 127, &["Windows line ends"]);
    let Some(fixed) = static_program(&folder) else { return };
    let line = format!("#!{}\n", fixed.display());
    refused(&trace(&folder.program("via", line.as_bytes())), 125, &["statically linked"]);
}

/// A static program, if this machine has a C compiler and a static C library.
fn static_program(folder: &Folder) -> Option<std::path::PathBuf> {
    std::fs::write(folder.join("s.c"), "int main(void) { return 0; }\n").unwrap();
    let path = folder.join("fixed");
    let built = Command::new("cc").arg("-static").arg("-o").arg(&path).arg(folder.join("s.c")).output();
    if built.is_ok_and(|b| b.status.success()) {
        return Some(path);
    }
    eprintln!("skipped: a static program (cc -static does not work here)");
    None
}

#[test]
fn a_static_program_says_what_else_to_try() {
    let folder = Folder::new("static");
    let Some(path) = static_program(&folder) else { return };
    refused(&trace(&path), 125, &["statically linked", "no library can be loaded in front", "cutap env -o DIR"]);
}

/// The first bytes of an ELF file for another machine.
fn foreign(class: u8, machine: u16) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, 1, 1]);
    bytes[16] = 2;
    bytes[18..20].copy_from_slice(&machine.to_le_bytes());
    bytes
}

#[test]
fn programs_for_other_machines() {
    let folder = Folder::new("machines");
    refused(&trace(&folder.program("arm", &foreign(2, 183))), 126, &["aarch64", "x86-64 only"]);
    refused(&trace(&folder.program("small", &foreign(1, 3))), 125, &["32-bit", "build it for x86-64"]);
    refused(&trace(&folder.program("power", &foreign(2, 21))), 126, &["another processor (ELF machine 21)"]);
}

#[test]
fn a_missing_dynamic_loader() {
    let folder = Folder::new("loader");
    let bytes = std::fs::read("/bin/sh").unwrap();
    let name = b"/lib64/ld-linux-x86-64.so.2";
    let at = bytes.windows(name.len()).position(|w| w == name).unwrap();
    let mut changed = bytes.clone();
    changed[at + 1..at + 4].copy_from_slice(b"xyz");
    refused(&trace(&folder.program("sh", &changed)), 127, &["dynamic loader /xyz64/ld-linux", "does not exist"]);
}

#[test]
fn programs_that_gain_rights_at_their_start() {
    if !is_root() {
        return eprintln!("skipped: setuid programs and file capabilities (needs root to make one)");
    }
    let folder = Folder::new("rights");
    let mark = |name: &str, shell: &str| {
        let path = folder.program(name, &std::fs::read("/bin/true").unwrap());
        let done = Command::new("sh").args(["-ec", &format!("{shell} {}", path.display())]).output().unwrap();
        assert!(done.status.success(), "{}", err(&done));
        path
    };
    let set = |n: &str, who: &str, mode: &str| {
        mark(n, &format!("chmod() {{ chown {who} $1; command chmod {mode} $1; }}; chmod"))
    };
    refused(&trace(&set("user", "65534", "4755")), 125, &["it is setuid", "no library"]);
    refused(&trace(&set("group", ":65534", "2755")), 125, &["it is setgid"]);
    assert!(trace(&set("own", "0", "4755")).status.success(), "setuid to ourselves changes nothing");

    if Command::new("setcap").arg("-h").output().is_err() {
        return eprintln!("skipped: file capabilities (no setcap here)");
    }
    let path = mark("capable", "setcap cap_net_raw+ep");
    // As another user, from a copy that this user can reach.
    let copy = folder.program("cutap", &std::fs::read(CUTAP).unwrap());
    Command::new("chmod").args(["755", folder.0.to_str().unwrap()]).status().unwrap();
    let script =
        "import os, sys; os.setgroups([]); os.setgid(65534); os.setuid(65534); os.execv(sys.argv[1], sys.argv[1:])";
    let mut command = Command::new("python3");
    command.args(["-c", script]).arg(&copy).args(["trace", "--"]).arg(&path).env("HOME", "/nonexistent");
    refused(&command.output().unwrap(), 125, &["given capabilities by its file"]);
}

#[test]
fn filters_that_name_nothing() {
    let run = |filter: &str| cutap(&["trace", "-e", filter, "--", "echo", "ran"]).output().unwrap();
    refused(&run("cuMemAloc"), 125, &["unknown function cuMemAloc", "did you mean cuMemAlloc"]);
    refused(&run("runtime,cudaMaloc"), 125, &["did you mean cudaMalloc"]);
    refused(&run("drver"), 125, &["did you mean driver"]);
    refused(&run("RUNTIM"), 125, &["did you mean runtime"]);
    refused(&run("cumemalloc"), 125, &["did you mean cuMemAlloc"]);
    refused(&run("cudamalloc,driver"), 125, &["did you mean cudaMalloc?"]);
    refused(&run("bogus"), 125, &["unknown function bogus"]);
    refused(&run(""), 125, &["empty"]);
    refused(&run(">5days"), 125, &["no duration"]);
    refused(&run("cuda Malloc"), 125, &["no name"]);
    let many = (0..400).map(|n| format!("cudaNeverHeardOf{n}*")).collect::<Vec<_>>().join(",");
    refused(&run(&many), 125, &["the filter is too long"]);
    let folder = Folder::new("filter");
    let env = cutap(&["env", "-e", "cuMemAloc", "-o"]).arg(folder.join("run")).output().unwrap();
    refused(&env, 125, &["did you mean cuMemAlloc"]);
    assert!(!folder.join("run").exists());
}

/// An output that cannot be written is told before the program runs.
#[test]
fn unwritable_output() {
    let folder = Folder::new("output");
    let run = |path: &str| cutap(&["trace", "-o", path, "--", "echo", "ran"]).output().unwrap();
    refused(&run("/no/such/folder/file"), 125, &["cannot write the trace to", "no such file or folder", "-o FILE"]);
    refused(&run(folder.0.to_str().unwrap()), 125, &["it is a folder"]);
    refused(&run(&format!("/tmp/{}", "x".repeat(300))), 125, &["too long"]);
    let modules = cutap(&["trace", "--dump-modules", "/proc/nothing", "--", "echo", "ran"]).output().unwrap();
    refused(&modules, 125, &["cannot keep modules in /proc/nothing", "--dump-modules DIR"]);
    let plain = cutap(&["trace", "--dump-modules", "/etc/passwd", "--", "echo", "ran"]).output().unwrap();
    refused(&plain, 125, &["cannot keep modules in /etc/passwd: it is there and is not a folder; give a folder"]);
}

#[test]
fn an_output_that_fills_up_is_told_and_the_program_goes_on() {
    let run = |output: &str, end: &str| {
        let calls = format!("import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0); print('ran'); {end}");
        let done = cutap(&["trace", "--sim", "-o", output, "--", "python3", "-c", &calls]).output().unwrap();
        assert_eq!(out(&done), "ran\n", "{}", err(&done));
        done
    };
    let told =
        "cutap: cannot write the trace: the disk is full; the program runs on untraced; write to another place with -o";
    for (end, code) in [("raise SystemExit(3)", 3), ("", 125)] {
        let done = run("/dev/full", end);
        assert_eq!(done.status.code(), Some(code), "{}", err(&done));
        assert_eq!(err(&done).lines().filter(|l| !l.contains("simulated driver")).collect::<Vec<_>>(), [told]);
    }
    let killed = run("/dev/full", "import os; os.kill(os.getpid(), 9)");
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&killed.status), Some(9));
    assert_eq!(run("/dev/null", "").status.code(), Some(0));
}

#[test]
fn env_refuses_what_eval_would_change() {
    let folder = Folder::new("env");
    let env = |path: &Path| cutap(&["env", "-o"]).arg(path).output().unwrap();
    for name in ["a  b", "a*b", "a\tb", "a?"] {
        refused(&env(&folder.join(name)), 125, &["cannot carry"]);
        assert!(!folder.join(name).exists());
    }
    refused(&env(&folder.0.join("x/y")), 125, &["no such file or folder", "-o DIR"]);
}

#[test]
fn no_driver_is_said_once_and_the_simulated_one_offered() {
    let done = cutap(&["trace", "--", "echo", "ran"]).env("LD_LIBRARY_PATH", "").output().unwrap();
    assert_eq!((done.status.code(), out(&done).as_str()), (Some(0), "ran\n"));
    let has_driver =
        ["/usr/lib/x86_64-linux-gnu", "/usr/lib64"].iter().any(|f| Path::new(f).join("libcuda.so.1").exists());
    let said = err(&done).matches("--sim").count();
    assert_eq!(said, usize::from(!has_driver), "{}", err(&done));
    let folder = Folder::new("driver");
    std::fs::write(folder.join("libcuda.so.1"), "").unwrap();
    let with = cutap(&["trace", "--", "echo"]).env("LD_LIBRARY_PATH", &folder.0).output().unwrap();
    assert!(!err(&with).contains("--sim"), "{}", err(&with));
}

/// Builds `main.c` with these words; false, and said, without a C compiler.
fn compile(folder: &Folder, code: &str, words: &[&str]) -> bool {
    std::fs::write(folder.join("main.c"), code).unwrap();
    let built = Command::new("cc").current_dir(&folder.0).arg("main.c").args(words).output();
    let good = built.as_ref().is_ok_and(|b| b.status.success());
    if !good {
        eprintln!("skipped: programs that reach CUDA without a driver (no C compiler here)");
    }
    good
}

/// Without a driver a program that reaches cuda is refused and the simulated one offered.
#[test]
fn no_driver_offers_sim() {
    let probe = cutap(&["trace", "--", "true"]).env("LD_LIBRARY_PATH", "").output().unwrap();
    if !err(&probe).contains("no CUDA driver") {
        return eprintln!("skipped: programs that reach CUDA without a driver (there is a driver here)");
    }
    let folder = Folder::new("reaches");
    // A shared runtime, nvrtc and a driver, with nothing of NVIDIA's in them.
    for soname in ["libcudart.so.12", "libnvrtc.so.12", "libcuda.so.1"] {
        let name = format!("-Wl,-soname,{soname}");
        if !compile(&folder, "int thing(void) { return 0; }", &["-shared", "-fPIC", &name, "-o", soname]) {
            return;
        }
    }
    std::fs::create_dir(folder.join("driver")).unwrap();
    std::fs::rename(folder.join("libcuda.so.1"), folder.join("driver/libcuda.so.1")).unwrap();
    let code = "#include <stdio.h>\nint thing(void); int main(void) { puts(\"ran\"); return thing(); }";
    let origin = "-Wl,-rpath,$ORIGIN:$ORIGIN/more";
    assert!(compile(&folder, code, &["libcudart.so.12", origin, "-o", "shared"]));
    assert!(compile(&folder, code, &["libnvrtc.so.12", origin, "-o", "compiler"]));
    // The table that a static runtime answers for, and is known by.
    let table = "0xff, 0x55, 0x30, 0xa2, 0x83, 0xde, 0x5b, 0x45, 0xa4, 0x4d, 0x92, 0x76, 0xca, 0xef, 0xbb, 0xbd";
    let inside = format!(
        "#include <stdio.h>\nconst unsigned char t[] = {{{table}}}; int main(int c, char **v) {{ puts(\"ran\"); return t[c - 1] + c > 999; }}"
    );
    assert!(compile(&folder, &inside, &["-O0", "-Wl,-rpath,$ORIGIN/more", "-o", "linked"]));

    let file = folder.join("trace");
    std::fs::write(&file, "kept").unwrap();
    let run = |words: &[&str], name: &str| {
        let mut command = cutap(&["trace"]);
        command.args(words).arg("--").arg(folder.join(name)).env_remove("LD_LIBRARY_PATH").output().unwrap()
    };
    for name in ["shared", "linked"] {
        refused(&run(&["-o", file.to_str().unwrap()], name), 125, &[name, "it uses CUDA", "--sim", "libcuda.so.1"]);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "kept", "nothing is lost by a refusal");
        let behind = cutap(&["trace", "--"]).arg(folder.join(name)).arg("--sim").env_remove("LD_LIBRARY_PATH").output();
        refused(&behind.unwrap(), 125, &["it uses CUDA", "--sim stands after PROG"]);
        // The simulated driver calls no kernel driver, so it is not offered.
        for command in ["trace", "getenv"] {
            let done =
                cutap(&["syscall", command]).arg(folder.join(name)).env_remove("LD_LIBRARY_PATH").output().unwrap();
            refused(&done, 125, &[name, "it uses CUDA", "/dev/nvidiactl"]);
            assert!(!err(&done).contains("--sim"), "{}", err(&done));
        }
        assert_eq!(out(&run(&["--sim"], name)), "ran\n");
        let path = folder.join("driver");
        let found = cutap(&["trace", "--"]).arg(folder.join(name)).env("LD_LIBRARY_PATH", path).output().unwrap();
        assert_eq!(out(&found), "ran\n", "{}", err(&found));
    }
    let compiler = run(&[], "compiler");
    assert_eq!(out(&compiler), "ran\n", "a compiler needs no driver: {}", err(&compiler));
    // Where the program itself says.
    std::fs::rename(folder.join("driver"), folder.join("more")).unwrap();
    for name in ["shared", "linked"] {
        let found = run(&[], name);
        assert_eq!((out(&found).as_str(), err(&found).contains("--sim")), ("ran\n", false), "{}", err(&found));
    }
}

#[test]
fn stacks_that_cannot_be_kept() {
    let run =
        |words: &[&str]| cutap(&["record"]).args(words).args(["-o", "/dev/null", "--", "/bin/true"]).output().unwrap();
    for (words, why) in [
        (&["--stack="][..], "empty"),
        (&["--stack=cudaMaloc"], "did you mean cudaMalloc"),
        (&["--stack=error"], "before any call is made"),
        (&["--stack=cuMemAlloc[bytesize>1]"], "before any call is made"),
        (&["--stack=lookup"], "have no stacks"),
    ] {
        refused(&run(words), 125, &[why]);
    }
    let counted = cutap(&["trace", "--stack", "-c", "--", "/bin/true"]).output().unwrap();
    refused(&counted, 125, &["--stack is of no use with -c and -C"]);
}

/// A count has no arguments, times, errors or callers: a filter that needs them would choose all calls, or none.
#[test]
fn counts_of_calls_that_a_name_does_not_choose() {
    for filter in ["cudaMemcpy[count>=1KiB]", ">=1ms", "libcublas:hidden", "pid:7"] {
        let run = cutap(&["trace", "-C", "-e", filter, "--", "/bin/true"]).output().unwrap();
        refused(&run, 125, &[&format!("cannot choose calls by {filter}; use -c")]);
    }
    let run = cutap(&["trace", "-C", "-Z", "--", "/bin/true"]).output().unwrap();
    refused(&run, 125, &["cannot choose calls by error"]);
}

#[test]
fn numbers_of_rows() {
    for flag in ["--top", "--depth"] {
        let run = cutap(&["report", flag, "x", "none.cutap"]).output().unwrap();
        let said = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(125), "{said}");
        assert!(said.contains(&format!("'x' for '{flag} <N>': give a number, such as 10")), "{said}");
    }
}

/// What is named with -o is emptied: never the program or a file that it is given, nor one that another cutap is
/// writing.
#[test]
fn files_that_are_not_to_be_overwritten() {
    let folder = Folder::new("own-file");
    let (script, file) = (folder.join("script.sh"), folder.join("file"));
    std::fs::write(&script, "#!/bin/sh\necho ran\n").unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    for words in [&["record"][..], &["trace"]] {
        for program in [&[script.as_os_str()][..], &["sh".as_ref(), script.as_os_str()]] {
            let done = cutap(words).arg("-o").arg(&script).arg("--").args(program).output().unwrap();
            refused(&done, 125, &["script.sh", "would be overwritten", "-o FILE"]);
        }
    }
    assert_eq!(std::fs::read_to_string(&script).unwrap(), "#!/bin/sh\necho ran\n");

    // What the first line of a script names, also by way of env; and a hook library.
    let (shell, hook) = (folder.join("own-shell"), folder.join("hook.so"));
    std::fs::copy("/bin/sh", &shell).unwrap();
    let before = std::fs::read(&shell).unwrap();
    let path = format!("{}:/usr/bin:/bin", folder.0.display());
    for line in [format!("#!{}\necho ran\n", shell.display()), "#!/usr/bin/env own-shell\necho ran\n".to_owned()] {
        std::fs::write(&script, line).unwrap();
        let done = cutap(&["record", "-o"]).arg(&shell).arg("--").arg(&script).env("PATH", &path).output().unwrap();
        refused(&done, 125, &["own-shell", "would be overwritten", "-o FILE"]);
    }
    assert!(std::fs::read(&shell).unwrap() == before);
    let source = folder.join("hook.c");
    let text = cutap(&["hook-header"]).output().unwrap().stdout;
    std::fs::write(folder.join("cutap_hook.h"), text).unwrap();
    std::fs::write(&source, "#include \"cutap_hook.h\"\nCUTAP_HOOK { return 0; }\n").unwrap();
    let gcc = Command::new("gcc").args(["-shared", "-fPIC", "-o"]).arg(&hook).arg(&source).status().unwrap();
    assert!(gcc.success());
    let before = std::fs::read(&hook).unwrap();
    for words in [&["record"][..], &["trace"]] {
        let done = cutap(words).arg("--hook").arg(&hook).arg("-o").arg(&hook).args(["--", "true"]).output().unwrap();
        refused(&done, 125, &["hook.so", "would be overwritten", "-o FILE"]);
    }
    assert!(std::fs::read(&hook).unwrap() == before);

    let begun = folder.join("begun");
    let sleeps = format!("touch {}; exec sleep 30", begun.display());
    let mut first = cutap(&["record", "-o"]).arg(&file).args(["--", "sh", "-c", &sleeps]).spawn().unwrap();
    while !begun.exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    refused(
        &cutap(&["trace", "-o"]).arg(&file).args(["--", "true"]).output().unwrap(),
        125,
        &["another cutap is writing to it"],
    );
    // A pipe that is not read: it waits, and says so first.
    let (pipe, said) = (folder.join("pipe"), folder.join("said"));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut waits = cutap(&["trace", "-o"]);
    waits.arg(&pipe).args(["--", "true"]).stderr(std::fs::File::create(&said).unwrap());
    let mut waits = waits.spawn().unwrap();
    while !std::fs::read_to_string(&said).unwrap().contains("nobody reads ") {
        assert!(waits.try_wait().unwrap().is_none());
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    std::fs::read(&pipe).unwrap();
    assert_eq!(waits.wait().unwrap().code(), Some(0));

    // It hands the signal on, and ends as the program does.
    Command::new("kill").arg(first.id().to_string()).status().unwrap();
    first.wait().unwrap();
    let other = folder.join("trace.txt");
    let after = cutap(&["trace", "-o"]).arg(&other).args(["--", "true"]).output().unwrap();
    assert_eq!(after.status.code(), Some(0), "{after:?}");
}
