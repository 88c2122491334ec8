//! Files that are no files, places that must not be written to, words of `ctl`: one sentence each, at once, and nothing spoilt.

mod support;

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};
use support::{Folder, cutap, err, out, refused};

/// Of what never ends, or waits for somebody.
#[test]
fn pipes_and_devices() {
    let folder = Folder::new("odd-pipes");
    let pipe = folder.join("pipe");
    let path = std::ffi::CString::new(pipe.as_os_str().as_bytes()).unwrap();
    // SAFETY: a string that ends with a zero.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
    let run = |words: &[&str], path: &str| {
        // A hang is a failure of its own: who waits is ended, and that is no 125.
        let mut command = Command::new("timeout");
        command.arg("30").arg(support::CUTAP).args(words).arg(path).stdin(Stdio::null()).output().unwrap()
    };
    let pipe = pipe.to_str().unwrap();
    for path in [pipe, "/dev/zero", "/dev/null"] {
        let export = folder.join("export");
        for words in [&["show"][..], &["report"], &["report", "--tree"], &["recover", "-o", "/nowhere/x"]] {
            refused(&run(words, path), 125, &["cannot read", "it is a pipe or a device"]);
        }
        refused(&run(&["export", "--json", export.to_str().unwrap()], path), 125, &["it is a pipe or a device"]);
        refused(&run(&["pack"], path), 125, &["it is not a file"]);
        let hooked = cutap(&["run", "--hook", path, "--", "/bin/echo", "ran"]).output().unwrap();
        refused(&hooked, 125, &["it is a pipe or a device; name a shared library"]);
        assert!(!export.exists());
    }
}

/// In the place of a file of a run directory: nobody will ever write to such a pipe.
#[test]
fn pipes_in_a_run_folder() {
    let folder = Folder::new("odd-inside");
    let run = folder.join("run");
    let calls = "import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0)";
    let done =
        cutap(&["trace", "--sim", "--run-dir", run.to_str().unwrap(), "-o", "/dev/null", "--", "python3", "-c", calls]);
    assert!({ done }.output().unwrap().status.success());
    let process = fs::read_dir(&run).unwrap().flatten().find(|e| e.path().is_dir()).unwrap().file_name();
    let process = process.to_str().unwrap();
    let pipe = "it is a pipe, a folder or a device, and no file";
    for (file, says) in [
        ("control".to_owned(), pipe),
        (format!("{process}/process"), "/process (it is damaged or not there"),
        (format!("{process}/names"), "/names (it is not there or cannot be opened"),
        (format!("{process}/t0.ring"), "/t0.ring (it is not there or cannot be opened"),
    ] {
        let file = run.join(file);
        let kept = folder.join("kept");
        fs::rename(&file, &kept).unwrap();
        assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
        let new = folder.join("new");
        for words in [&["show"][..], &["report"], &["report", "--leaks"], &["recover", "-o", new.to_str().unwrap()]] {
            let mut command = Command::new("timeout");
            let done =
                command.arg("30").arg(support::CUTAP).args(words).arg(&run).stdin(Stdio::null()).output().unwrap();
            let said = err(&done);
            assert_eq!(done.status.code(), Some(125), "{words:?} {file:?}: {said}");
            assert!(said.contains(says), "{words:?} {file:?}: {said}");
        }
        let _ = fs::remove_file(new);
        fs::rename(&kept, &file).unwrap();
    }
}

/// A run directory says what it cannot give: functions would only be numbers, or not there, without a word.
#[test]
fn names_that_are_damaged_and_a_control_page_that_is_none() {
    let folder = Folder::new("odd-names");
    let (run, new) = (folder.join("run"), folder.join("new"));
    let calls = "import ctypes, os; c = ctypes.CDLL('libcuda.so.1'); c.cuInit(0)
if not os.fork(): c.cuInit(0); os._exit(0)
os.wait()";
    let done = cutap(&["env", "--sim", "-o"]).arg(&run).output().unwrap();
    let sh = format!("{}\nexec python3 -c \"$0\"", out(&done));
    assert!(Command::new("sh").args(["-c", &sh, calls]).status().unwrap().success());
    let is_read = |code: i32, says: &str| {
        for words in [&["show"][..], &["report"], &["report", "--leaks"], &["recover", "-o", new.to_str().unwrap()]] {
            let done = cutap(words).arg(&run).output().unwrap();
            let said = err(&done);
            assert_eq!(done.status.code(), Some(code), "{words:?} {says}: {said}");
            assert!(said.contains(says), "{words:?} {says}: {said}");
        }
        let _ = fs::remove_file(&new);
    };
    is_read(0, "");
    let processes = fs::read_dir(&run).unwrap().flatten().filter(|e| e.path().join("names").exists());
    let processes: Vec<_> = processes.map(|e| e.path()).collect();
    assert_eq!(processes.len(), 2);
    for process in processes {
        let path = process.join("names");
        let good = fs::read(&path).unwrap();
        let mut random = good.clone();
        random.iter_mut().fold(1u32, |x, byte| {
            let x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *byte = (x >> 24) as u8;
            x
        });
        for (bytes, says) in [
            (&[][..], "names (it is damaged"),
            (&random, "names (it is damaged"),
            (&vec![0; good.len()], "names (it is damaged"),
            (&good[..good.len() - 64], "names (it is cut off"),
        ] {
            fs::write(&path, bytes).unwrap();
            is_read(125, says);
        }
        fs::write(&path, good).unwrap();
    }
    is_read(0, "");
    let control = run.join("control");
    fs::remove_file(&control).unwrap();
    std::os::unix::fs::symlink("control", &control).unwrap();
    is_read(125, "it is a link, and those are not followed; give the folder as cutap made it");
    fs::remove_file(&control).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(&control).unwrap();
    is_read(125, "it is a socket; give the folder as cutap made it");
}

/// Holes have no bytes on disk and may have any length: nobody reads through them.
#[test]
fn files_of_any_length() {
    let folder = Folder::new("odd-long");
    let (run, file) = (folder.join("run"), folder.join("run.cutap"));
    let calls = "import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0)";
    let mut record = cutap(&["record", "--sim", "--run-dir"]);
    record.arg(&run).arg("-o").arg(&file).args(["--", "python3", "-c", calls]);
    assert!(record.output().unwrap().status.success());
    let traced = folder.join("traced");
    let done = cutap(&["env", "--sim", "-o"]).arg(&traced).output().unwrap();
    let sh = format!("{}\nexec python3 -c \"$0\"", out(&done));
    assert!(Command::new("sh").args(["-c", &sh, calls]).status().unwrap().success());
    let run = traced;
    let process = fs::read_dir(&run).unwrap().flatten().find(|e| e.path().is_dir()).unwrap().file_name();
    let process = process.to_str().unwrap();
    let longer = |path: &Path, to: u64| {
        let file = fs::OpenOptions::new().write(true).create(true).truncate(false).open(path).unwrap();
        let before = file.metadata().unwrap().len();
        file.set_len(to).is_ok().then_some(before)
    };
    // As much memory as they need, and no more: a read of all of it fails at once, and does not take the machine's.
    let within = |words: &[&str], path: &Path| {
        let limits = "ulimit -v 4000000; exec timeout 60 \"$0\" \"$@\"";
        let mut command = Command::new("sh");
        command.args(["-c", limits, support::CUTAP]).args(words).arg(path).stdin(Stdio::null()).output().unwrap()
    };
    const LONG: u64 = 8 << 40;
    let new = folder.join("new");
    let recover = ["recover", "-o", new.to_str().unwrap()];
    for (name, says) in
        [("control".into(), None), (format!("{process}/process"), None), (format!("{process}/names"), Some(()))]
    {
        let path = run.join(&name);
        let Some(before) = longer(&path, LONG) else {
            return eprintln!("skipped: files of 8 TiB (this file system has none so long)");
        };
        for words in [&["show"][..], &["report"], &recover] {
            let done = within(words, &run);
            let said = err(&done);
            // The page at its beginning is whole; names never get so long.
            assert_eq!(done.status.code(), Some(if says.is_some() { 125 } else { 0 }), "{words:?} {name}: {said}");
            assert_eq!(said.contains("names (it is longer than cutap makes it)"), says.is_some(), "{words:?}: {said}");
            assert!(words[0] != "show" || out(&done).contains("cuInit"), "{name}: {said}");
        }
        let _ = fs::remove_file(&new);
        longer(&path, before).unwrap();
    }
    longer(&file, LONG).unwrap();
    for words in [&["show"][..], &["report"]] {
        let done = within(words, &file);
        assert_eq!(done.status.code(), Some(125), "{}", err(&done));
        assert!(out(&done).contains("cuInit") && err(&done).contains("cut off"), "{}", err(&done));
    }
    let done = within(&["pack"], &file);
    assert_eq!(done.status.code(), Some(125));
    assert!(err(&done).contains("it is cut off or damaged"), "{}", err(&done));
    let hook = folder.join("hook.so");
    longer(&hook, LONG).unwrap();
    let done = within(&["run", "--sim", "--hook", hook.to_str().unwrap(), "--"], Path::new("/bin/true"));
    refused(&done, 125, &["it is no shared library"]);
}

/// A run directory is only read, and one that is over cannot be switched: that would be said of its calls ever after.
#[test]
fn a_run_that_is_over() {
    let folder = Folder::new("odd-over");
    let (run, file) = (folder.join("run"), folder.join("run.cutap"));
    let calls = "import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0)";
    let mut record = cutap(&["record", "--sim", "--run-dir"]);
    record.arg(&run).arg("-o").arg(&file).args(["--", "python3", "-c", calls]);
    let done = record.output().unwrap();
    assert!(done.status.success(), "{}", err(&done));
    let all = |words: &[&str]| cutap(words).arg(&run).output().unwrap();
    let report = || {
        let done = all(&["report"]);
        (done.status.code(), out(&done), err(&done))
    };
    let before = report();
    for word in [&["on"][..], &["off"], &["filter", "cuInit"]] {
        for all in [&[][..], &["--all"]] {
            let done = cutap(&["ctl"]).args(all).arg(&run).args(word).output().unwrap();
            refused(&done, 125, &["nothing can be switched in", "its program has ended"]);
        }
    }
    assert!(cutap(&["ctl"]).arg(&run).arg("status").output().unwrap().status.success());
    // What a program could not decide is not left away without a word.
    for (filter, said) in [
        ("error", "before any call is made"),
        ("error,cuInit", "before any call is made"),
        (">1ms", "before any call is made"),
        ("cuMemAlloc[bytesize>1]", "before any call is made"),
        ("lookup", "at the start alone"),
        ("cuInit,cxx", "at the start alone"),
        ("driver,hidden", "was started without the layer hidden"),
    ] {
        let done = cutap(&["ctl"]).arg(&run).args(["filter", filter]).output().unwrap();
        refused(&done, 125, &[&format!("filter {filter}: "), said]);
    }
    for name in ["control", "new", "p1/new"] {
        let done = cutap(&["export", "--perfetto"]).arg(run.join(name)).arg(&run).output().unwrap();
        let sentence = if name == "p1/new" { "no such file or folder" } else { "which is only read" };
        refused(&done, 125, &[sentence]);
    }
    assert_eq!(report(), before);
    for output in ["/dev/full", "/dev/null", "-"] {
        let done = cutap(&["recover"]).arg(&run).args(["-o", output]).current_dir(&folder.0).output().unwrap();
        refused(&done, 125, &["it is no file"]);
    }
}

/// The program and the collector would both write it from its beginning; a recording is read again. Neither may start.
#[test]
fn outputs_that_are_the_programs_own() {
    let folder = Folder::new("odd-own");
    let (file, link) = (folder.join("file"), folder.join("link"));
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let run = |words: &[&str], name: &str, to: fn(&mut Command, fs::File)| {
        let mut command = cutap(words);
        command.arg("--sim").args(["-o", name, "--", "sh", "-c", "echo ran; echo ran >&2"]);
        to(&mut command, fs::OpenOptions::new().append(true).create(true).open(&file).unwrap());
        command.output().unwrap()
    };
    type To = fn(&mut Command, fs::File);
    let streams: [(&str, To); 2] = [
        ("output", |c, f| {
            c.stdout(f);
        }),
        ("error", |c, f| {
            c.stderr(f);
        }),
    ];
    for words in [&["record"][..], &["trace"]] {
        for (stream, to) in streams {
            let device = if stream == "output" { "/dev/stdout" } else { "/dev/stderr" };
            for name in [device, file.to_str().unwrap(), link.to_str().unwrap()] {
                fs::write(&file, "before\n").unwrap();
                let done = run(words, name, to);
                let now = fs::read_to_string(&file).unwrap();
                let said =
                    if stream == "error" { now.strip_prefix("before\n").unwrap().to_owned() } else { err(&done) };
                let sentence = format!(
                    "{name}: it is the file that standard {stream} goes to, and what the program prints would be written over \
                     it; give another file with -o FILE\n"
                );
                assert!(said.ends_with(&sentence) && said.lines().count() == 1, "{words:?}: {said}");
                assert_eq!(done.status.code(), Some(125), "{said}");
                assert!(stream == "error" || now == "before\n", "{now}");
            }
        }
    }
    // Lines may stand between others in a pipe; a recording may not.
    let traced = run(&["trace"], "/dev/stdout", |_, _| ());
    let (lines, said) = (out(&traced), err(&traced));
    assert!(traced.status.success() && lines.lines().any(|l| l == "ran"), "{lines}{said}");
    assert!(lines.lines().all(|l| l == "ran" || l.starts_with("cutap: no CUDA call was seen")), "{lines}{said}");
    let pipe = folder.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for name in ["/dev/stdout", pipe.to_str().unwrap(), "/dev/full", "/dev/ptmx"] {
        let done = run(&["record"], name, |_, _| ());
        refused(&done, 125, &["it is a pipe or a device, and a recording must be a file"]);
        assert_eq!(out(&done), "");
    }
    let done = run(&["record"], "/dev/null", |_, _| ());
    assert_eq!((done.status.code(), out(&done).as_str()), (Some(0), "ran\n"), "{}", err(&done));
}

#[test]
fn words_that_say_nothing() {
    let folder = Folder::new("odd-words");
    let run = |words: &[&str]| cutap(words).current_dir(&folder.0).output().unwrap();
    refused(&run(&["ctl", "4294967294", "status"]), 125, &["there is no process 4294967294; give the number of"]);
    refused(&run(&["record", "-o", "-", "--", "echo", "ran"]), 125, &["standard output is the program's own"]);
    refused(&run(&["trace", "-o", "-", "--", "echo", "ran"]), 125, &["standard output is the program's own"]);
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0);
}

/// A process that has ended is still listed until its parent asks how it ended.
#[test]
fn ctl_of_a_process_that_has_ended() {
    let mut child = Command::new("true").spawn().unwrap();
    let stat = format!("/proc/{}/stat", child.id());
    while !fs::read_to_string(&stat).unwrap().contains(") Z ") {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let pid = child.id().to_string();
    let done = cutap(&["ctl", &pid, "status"]).output().unwrap();
    refused(&done, 125, &[&format!("process {pid} has ended; give the number of a program that runs")]);
    child.wait().unwrap();
}

/// What is printed and cannot be written is a failure, whatever it is.
#[test]
fn a_full_standard_output() {
    for words in [&["--help"][..], &["--version"], &["show", "--help"], &["hook-header"], &["api", "cuInit"]] {
        let full = fs::File::create("/dev/full").unwrap();
        let done = cutap(words).stdout(full).output().unwrap();
        let said = "cutap: cannot write to standard output: the disk is full; write elsewhere\n";
        assert_eq!((done.status.code(), err(&done).as_str()), (Some(125), said), "{words:?}");
    }
}

#[test]
fn a_shared_library_is_no_program() {
    let folder = Folder::new("library");
    fs::write(folder.join("l.c"), "#include <stdio.h>\nint f(void) { return puts(\"\"); }\n").unwrap();
    for name in [&[][..], &["-Wl,-soname,libplug.so"]] {
        let path = folder.join("libplug.so");
        let mut cc = Command::new("cc");
        let built = cc.args(["-shared", "-fPIC"]).args(name).arg("-o").arg(&path).arg(folder.join("l.c")).output();
        if !built.is_ok_and(|b| b.status.success()) {
            return eprintln!("skipped: a shared library (cc does not work here)");
        }
        let done = cutap(&["trace", "--"]).arg(&path).output().unwrap();
        refused(&done, 126, &["it is a shared library and no program"]);
    }
}
