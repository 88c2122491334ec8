//! Run directorys that cannot be used or read: refused in one sentence, before a program has run; a disk that
//! fills up later is counted. Driven through the real binary.

mod support;

use std::path::Path;
use std::process::{Command, Output};
use support::{CUTAP, Folder, cutap, err, is_root, out, refused};

#[test]
fn run_folders_that_cannot_be_used() {
    let folder = Folder::new("run");
    let run = |path: &Path| cutap(&["trace", "--run-dir"]).arg(path).args(["--", "echo", "ran"]).output().unwrap();
    std::fs::write(folder.join("file"), "").unwrap();
    refused(&run(&folder.join("file")), 125, &["not a folder", "--run-dir DIR"]);
    refused(&run(&folder.0), 125, &["not empty"]);
    refused(&run(&folder.join("a/b")), 125, &["no such file or folder"]);
    refused(&run(&folder.join(&"x/".repeat(800))), 125, &["too long"]);
    refused(&run(&folder.join(&"x".repeat(300))), 125, &["too long"]);
    refused(&run(Path::new("/proc/run")), 125, &["cannot make the run directory /proc/run"]);
    let open = folder.join("open");
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    refused(&run(&open), 125, &["others may write to it"]);
    if !is_root() {
        return eprintln!("skipped: a run directory of another user, a full disk (needs root)");
    }
    let theirs = folder.join("theirs");
    std::fs::create_dir(&theirs).unwrap();
    std::os::unix::fs::chown(&theirs, Some(65534), None).unwrap();
    refused(&run(&theirs), 125, &["belongs to another user"]);
}

/// What is written through memory is not safe there: the program would die of SIGBUS when the quota is used up.
#[test]
fn a_btrfs_with_a_quota_is_refused_and_one_without_is_not() {
    let folder = Folder::new("quota");
    let script = "set -e; cd \"$1\"; truncate -s 120M image; mkfs.btrfs -q image > /dev/null; mkdir disk; mount -o loop image disk; \
                  trap 'umount -l disk' EXIT; \"$0\" trace --run-dir disk/one -- true; btrfs quota enable disk; \
                  \"$0\" trace --run-dir disk/two -- true; btrfs qgroup limit 100M disk > /dev/null; echo limited; \
                  ! \"$0\" trace --run-dir disk/three -- echo ran; echo end";
    let done = Command::new("unshare").args(["-m", "sh", "-c", script, CUTAP]).arg(&*folder.0).output().unwrap();
    let (said, text) = (err(&done), out(&done));
    if !text.contains("limited\n") && !said.contains("cutap: cannot") {
        return eprintln!("skipped: a btrfs with a quota cannot be made here: {said}");
    }
    assert_eq!(text, "limited\nend\n", "{said}");
    assert!(
        said.contains("disk/three as run directory: it is on btrfs with a quota") && said.contains("--run-dir DIR"),
        "{said}"
    );
}

/// Runs `cutap trace` with these words on a fresh file system of `size` bytes at `$DISK`; `None`, and said, if that is not allowed.
fn on_a_small_disk(mount: &str, words: &str) -> Option<Output> {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let folder = Folder::new(&format!("full-{count}"));
    let script = format!("set -e; mount -t tmpfs -o {mount} tmpfs $DISK; cd $DISK; exec env {words}");
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &script]).env("DISK", &folder.0).env("CUTAP", CUTAP);
    let done = command.env_remove("LD_PRELOAD").env_remove("CUTAP_RUN").output();
    let done = done.ok().filter(|d| !err(d).contains("unshare: ") && !err(d).contains("mount: "));
    if done.is_none() {
        eprintln!("skipped: a full disk (unshare -m and mount are not allowed here)");
    }
    done
}

/// A run directory without room for the beginning of a trace is refused.
#[test]
fn run_dir_too_small() {
    let sh = "$CUTAP trace --run-dir $DISK/run -- echo ran";
    for (mount, what) in
        [("size=8k", "8 KiB are free"), ("size=1500k", "1500 KiB are free"), ("nr_inodes=9", "more files fit")]
    {
        let Some(done) = on_a_small_disk(mount, sh) else { return };
        refused(&done, 125, &["cannot use ", "as run directory: its disk is full", what, "--run-dir DIR"]);
        let env = on_a_small_disk(mount, "$CUTAP env -o run").unwrap();
        refused(&env, 125, &["its disk is full", what, "-o DIR"]);
    }
    let there =
        on_a_small_disk("size=8k", "sh -c 'mkdir -m 700 run; exec $CUTAP trace --run-dir run -- echo ran'").unwrap();
    refused(&there, 125, &["its disk is full"]);
    let enough = on_a_small_disk("size=4m", sh).unwrap();
    assert_eq!((enough.status.code(), out(&enough).as_str()), (Some(0), "ran\n"), "{}", err(&enough));
    // Without --run-dir the next place is taken.
    let next = on_a_small_disk("size=8k", "XDG_RUNTIME_DIR=$DISK $CUTAP trace -- echo ran").unwrap();
    assert_eq!((next.status.code(), out(&next).as_str()), (Some(0), "ran\n"), "{}", err(&next));
}

#[test]
fn a_disk_that_fills_up_while_the_program_runs_is_counted() {
    let code = "import ctypes; c = ctypes.CDLL(\"libcuda.so.1\"); open(\"fill\", \"wb\").write(bytes(3900 << 10)); c.cuInit(0); print(\"ran\")";
    let words = format!("$CUTAP trace --sim --run-dir run -- python3 -c '{code}'");
    let Some(done) = on_a_small_disk("size=4m", &words) else { return };
    assert_eq!((done.status.code(), out(&done).as_str()), (Some(0), "ran\n"), "{}", err(&done));
    assert!(err(&done).contains("no room") || err(&done).contains("could not write"), "{}", err(&done));
}

#[test]
fn the_run_folder_of_another_user() {
    if !is_root() {
        return eprintln!("skipped: the run directory of another user (needs root to become one)");
    }
    let folder = Folder::new("theirs");
    let copy = folder.program("cutap", &std::fs::read(CUTAP).unwrap());
    let run = folder.join("run");
    assert!(cutap(&["trace", "--sim", "--run-dir"]).arg(&run).args(["--", "true"]).output().unwrap().status.success());
    let as_nobody_asks = |mode: u32, words: &[&str], more: &[&str]| {
        std::fs::set_permissions(&folder.0, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        let mut show = Command::new("setpriv");
        show.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&copy).args(words).arg(&run).args(more);
        show.output().unwrap()
    };
    let as_nobody = |mode| as_nobody_asks(mode, &["show"], &[]);
    let there = as_nobody(0o755);
    refused(
        &there,
        125,
        &["cannot read the run directory", "permission denied", "run cutap show as user 0, who", "or as root"],
    );
    let status = as_nobody_asks(0o755, &["ctl"], &["status"]);
    refused(&status, 125, &["may not be opened: it belongs to user 0", "run cutap ctl as that user, or as root"]);
    // The pages inside are for their owner alone too.
    std::fs::set_permissions(&run, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    refused(&as_nobody(0o755), 125, &["permission denied", "user 0"]);
}

/// A process that is not under cutap, whether or not we may look into it.
#[test]
fn processes_that_have_no_run() {
    for what in ["off", "status"] {
        let done = cutap(&["ctl", "1", what]).output().unwrap();
        refused(&done, 125, &["process 1"]);
        assert_eq!(err(&done).contains("or as root"), !is_root() && err(&done).contains("another user"), "{done:?}");
    }
}

#[test]
fn folders_that_hold_no_run() {
    let folder = Folder::new("show");
    let show = |path: &Path| cutap(&["show"]).arg(path).output().unwrap();
    for path in [&folder.0, Path::new("/no/such/run")] {
        refused(&show(path), 125, &["cutap env -o DIR or cutap trace --run-dir DIR"]);
    }
    refused(&show(Path::new("/etc/passwd")), 125, &["/etc/passwd is not a recording of cutap", "cutap record -o FILE"]);
    refused(
        &show(Path::new("/no/such/run")),
        125,
        &["cannot read /no/such/run: no such file or folder", "cutap record -o FILE"],
    );
    for (file, part) in
        [("/no/such/file", "no such file or folder"), ("/tmp", "it is a folder"), ("/etc/passwd", "no ELF")]
    {
        refused(&cutap(&["inspect", file]).output().unwrap(), 125, &[part]);
    }
}

/// What was recorded before is not lost to a run that never was, and no empty file is left.
#[test]
fn a_refused_run_leaves_the_output_as_it_was() {
    let folder = Folder::new("kept");
    let (old, new, full) = (folder.join("old.cutap"), folder.join("new.cutap"), folder.join("full"));
    let recorded = "CUTAPREC and what was recorded";
    std::fs::write(&old, recorded).unwrap();
    std::fs::create_dir(&full).unwrap();
    std::fs::write(full.join("something"), "").unwrap();
    let full = full.to_str().unwrap();
    for (words, says) in [
        (&["record", "--run-dir", full][..], "it is not empty"),
        (&["trace", "--run-dir", full], "it is not empty"),
        (&["record", "--run-dir", "/proc/nothing"], "cannot make the run directory"),
        (&["trace", "--dump-modules", "/proc/nothing"], "cannot keep modules"),
        (&["record", "--hook", "/no/hook.so"], "there is no such file"),
        (&["record", "-e", "cuMemAloc"], "did you mean cuMemAlloc"),
    ] {
        // What each may write over: a trace a text, a recording another one.
        let before = if words[0] == "trace" { "a trace of before" } else { recorded };
        std::fs::write(&old, before).unwrap();
        for file in [&old, &new] {
            let done = cutap(words).arg("-o").arg(file).args(["--", "echo", "ran"]).output().unwrap();
            refused(&done, 125, &[says]);
        }
        assert_eq!(std::fs::read_to_string(&old).unwrap(), before, "{words:?}");
        assert!(!new.exists(), "{words:?}");
    }
    std::fs::write(&old, "a trace of before").unwrap();
    let done = cutap(&["trace", "-o"]).arg(&old).args(["--", "true"]).output().unwrap();
    assert!(done.status.success() && !std::fs::read_to_string(&old).unwrap().contains("of before"));
}
