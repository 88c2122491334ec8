//! `cutap env` alone, with no process of ours around the program: in namespaces, with a read-only root, as another
//! user, and with folders whose names are hard to carry. What needs root or namespaces says that it was skipped, and
//! why, where they are missing.

use cutap_e2e::{Counts, Finished, Scratch, counted, cutap, finish, normal_form, out, scratch, shown, wait_for};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const NOBODY: u32 = 65534;
const LAZY: &str = "cuInit(...) = CUDA_SUCCESS\n";

/// `sh -c SCRIPT`, in which `$CUTAP`, `$RUN`, `$PROGRAMS` and `$SCRATCH` say where things are.
fn shell(prefix: &[&str], script: &str, folder: &Path) -> Command {
    let words: Vec<&str> = prefix.iter().copied().chain(["sh", "-e", "-c", script]).collect();
    let mut shell = Command::new(words[0]);
    shell.args(&words[1..]).current_dir(folder).env("CUTAP", cutap()).env("PROGRAMS", out()).env("SCRATCH", folder);
    shell.env("RUN", folder.join("run")).env("LD_LIBRARY_PATH", out()).env("FIXTURE_COUNTS", folder.join("counts"));
    shell
}

/// Separate mount and PID namespaces; none, and a line, where that is not permitted.
fn namespaces() -> Option<&'static [&'static str]> {
    const UNSHARE: &[&str] = &["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
    permitted(UNSHARE, "mount and PID namespaces")
}

/// Another user; none, and a line, where we are not root.
fn nobody() -> Option<&'static [&'static str]> {
    permitted(&["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"], "another user")
}

fn permitted(prefix: &'static [&'static str], what: &str) -> Option<&'static [&'static str]> {
    let why = match Command::new(prefix[0]).args(&prefix[1..]).arg("true").output() {
        Ok(done) if done.status.success() => return Some(prefix),
        Ok(done) => String::from_utf8_lossy(&done.stderr).trim().to_owned(),
        Err(e) => e.to_string(),
    };
    println!("skipped: {what} ({}: {why})", prefix[0]);
    None
}

fn show(run: &Path) -> String {
    let show = finish(Command::new(cutap()).arg("show").arg(run));
    assert!(show.status.success() && show.stderr.is_empty(), "{show:?}");
    show.stdout
}

/// The program said what it says alone.
fn unharmed(run: &Finished) {
    assert_eq!((run.stdout.as_str(), run.stderr.as_str(), run.status.code()), ("ok\n", "", Some(0)), "{run:?}");
}

/// That, and every call is in the run directory.
fn all_seen(run: &Finished, folder: &Path) {
    unharmed(run);
    let real = counted(&folder.join("counts"));
    assert!(!real.is_empty());
    assert_eq!(shown(&folder.join("run")), real);
}

#[test]
fn two_runs_in_pid_namespaces_share_a_folder() {
    let Some(unshare) = namespaces() else { return };
    let folder = scratch("namespaces");
    finish(&mut shell(&[], r#""$CUTAP" env -o run > env"#, &folder));
    // Pids start again in each: both programs have the same number, and so have their children.
    let mut real = Counts::new();
    for counts in ["first", "second"].map(|c| folder.join(c)) {
        let script = r#". "$SCRATCH/env"; exec "$PROGRAMS/fork_after""#;
        unharmed(&finish(shell(unshare, script, &folder).env("FIXTURE_COUNTS", &counts)));
        for (function, calls) in counted(&counts) {
            *real.entry(function).or_default() += calls;
        }
    }
    assert!(real.contains_key("libcuda.so.1:cuMemFree_v2"));
    assert_eq!(shown(&folder.join("run")), real);
    let names: Vec<_> = fs::read_dir(folder.join("run")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(["p1-0", "p1-1"].iter().all(|p| names.iter().any(|n| n == p)), "{names:?}");
}

#[test]
fn shown_from_outside_a_pid_namespace_while_it_runs() {
    let Some(unshare) = namespaces() else { return };
    let folder = scratch("outside");
    let script = r#"eval "$("$CUTAP" env -o "$RUN")"; exec "$PROGRAMS/until_killed""#;
    let mut child = shell(unshare, script, &folder).stdout(Stdio::null()).spawn().unwrap();
    let run = folder.join("run");
    let shown = || String::from_utf8(Command::new(cutap()).arg("show").arg(&run).output().unwrap().stdout).unwrap();
    wait_for("show prints the open call", Duration::from_secs(10), || {
        let text = shown();
        text.contains("cuFixtureSleep(1000000,") && text.contains("process 1 (") && text.contains("is still running")
    });
    child.kill().unwrap(); // and with it all that is in the namespace
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    wait_for("process 1 of the namespace is not ours", Duration::from_secs(10), || !shown().contains("still running"));
    assert!(normal_form(&show(&run)).ends_with("cuFixtureSleep(...) = ? <unfinished>\n"));
}

/// A container's process is switched alone: not what has its number in another one, at the same time or later.
#[test]
fn a_process_of_one_pid_namespace_is_switched_alone() {
    if namespaces().is_none() {
        return;
    }
    let folder = scratch("switched");
    let inner = r#"
        unshare -pf sh -c 'until [ -e go ]; do sleep 0.02; done; "$PROGRAMS/many_rings" 0 1 7; true' &
        unshare=$!
        until one=$(cat /proc/$unshare/task/$unshare/children) && [ "$one" ]; do sleep 0.02; done
        "$CUTAP" ctl $one off
        unshare -pf sh -c '"$PROGRAMS/many_rings" 0 1 5; true'
        touch go; wait
        unshare -pf sh -c '"$PROGRAMS/many_rings" 0 1 60; sh -c "\"$PROGRAMS/many_rings\" 0 1 800"; true'"#;
    let script =
        r#""$CUTAP" record --run-dir "$RUN" -o "$SCRATCH/run.cutap" -- sh -c "$INNER"; "$CUTAP" ctl "$RUN" status"#;
    let done = finish(shell(&[], script, &folder).env("INNER", inner));
    assert!(done.status.success() && done.stdout.contains("off in process "), "{done:?}");
    let shown = show(&folder.join("run.cutap"));
    assert_eq!(shown.matches("cuMemAlloc_v2(").count(), 865, "{done:?}");
    // Process 1 of this machine lives.
    assert!(done.stdout.contains("process: 2 (ended)") && !done.stdout.contains("running"), "{}", done.stdout);
}

#[test]
fn read_only_root() {
    let Some(unshare) = namespaces() else { return };
    let folder = scratch("read_only");
    for made in ["tmpfs", "root", "saved"] {
        fs::create_dir(folder.join(made)).unwrap();
    }
    // The copy is for the world outside, where this file system is not mounted.
    let script = r#"
        mount -t tmpfs -o mode=755 tmpfs "$SCRATCH/tmpfs"
        mount --rbind / "$SCRATCH/root"
        mount -o remount,bind,ro "$SCRATCH/root"
        chroot "$SCRATCH/root" sh -e -c "$INSIDE"
        cp -a "$SCRATCH/tmpfs/run" "$SCRATCH/tmpfs/counts" "$SCRATCH/saved/""#;
    let inside = r#"
        if touch "$SCRATCH/written" 2>&-; then echo "the root is not read-only"; exit 1; fi
        eval "$("$CUTAP" env -o "$SCRATCH/tmpfs/run")"
        "$PROGRAMS/lazy"
        LD_PRELOAD= "$CUTAP" show "$SCRATCH/tmpfs/run" >&2"#;
    let mut shell = shell(unshare, script, &folder);
    shell.env("INSIDE", inside).env("CUTAP_CACHE_DIR", folder.join("tmpfs/cache"));
    let mut run = finish(shell.env("FIXTURE_COUNTS", folder.join("tmpfs/counts")));
    assert!(normal_form(&run.stderr).starts_with(LAZY), "{run:?}");
    run.stderr.clear();
    all_seen(&run, &folder.join("saved"));
}

/// A folder in which another user finds what it needs to run, and may write nothing.
fn for_nobody() -> Scratch {
    let folder = scratch("nobody");
    let mode = |path: &str, mode| fs::set_permissions(folder.join(path), Permissions::from_mode(mode)).unwrap();
    for (from, name) in ["lazy", "libfixture.so", "libcuda.so.1"].map(|f| (out().join(f), f)) {
        fs::copy(from, folder.join(name)).unwrap();
        mode(name, 0o755);
    }
    fs::copy(cutap(), folder.join("cutap")).unwrap();
    mode("cutap", 0o755);
    mode("", 0o755);
    folder
}

#[test]
fn another_user_who_may_not_write() {
    let Some(setpriv) = nobody() else { return };
    let folder = for_nobody();
    let script = r#""$CUTAP" env -o run > env; chmod 644 env"#;
    // A folder that its owner has closed to others stays so.
    fs::create_dir(folder.join("cache")).unwrap();
    fs::set_permissions(folder.join("cache"), Permissions::from_mode(0o700)).unwrap();
    let made = finish(shell(&[], script, &folder).env("CUTAP_CACHE_DIR", folder.join("cache")));
    assert!(made.status.success(), "{made:?}");
    let lazy = || {
        let mut shell = shell(setpriv, ". ./env; exec ./lazy", &folder);
        let run = finish(shell.env("LD_LIBRARY_PATH", &*folder).env_remove("FIXTURE_COUNTS"));
        assert_eq!((run.stdout.as_str(), run.status.code()), ("ok\n", Some(0)), "{run:?}");
        assert_eq!(normal_form(&show(&folder.join("run"))), "");
        run.stderr
    };
    // The cache is its owner's alone: the loader says so, and the program runs.
    assert!(lazy().contains("cannot be preloaded"));
    let open = |what: &str, flags: &[&str]| {
        assert!(Command::new("chmod").args(flags).arg(folder.join(what)).status().unwrap().success());
    };
    // The preload is there, the run directory is closed, or open for reading only: nothing is written and nothing is
    // said.
    open("cache", &["-R", "a+rX"]);
    assert_eq!(lazy(), "");
    open("run", &["-R", "a+rX"]);
    assert_eq!(lazy(), "");
}

#[test]
fn two_users_at_once_without_a_home() {
    let Some(setpriv) = nobody() else { return };
    let folder = for_nobody();
    let start = |prefix: &[&str]| {
        let mut shell = shell(prefix, "exec ./cutap trace -- ./lazy", &folder);
        shell.env_remove("HOME").env_remove("XDG_CACHE_HOME").env_remove("XDG_RUNTIME_DIR");
        shell.env("LD_LIBRARY_PATH", &*folder).env_remove("FIXTURE_COUNTS");
        shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    for child in [start(&[]), start(setpriv), start(&[]), start(setpriv)] {
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success() && done.stdout == b"ok\n", "{done:?}");
        assert!(normal_form(&String::from_utf8_lossy(&done.stderr)).starts_with(LAZY), "{done:?}");
    }
}

#[test]
fn relative_folder_and_a_program_that_runs_elsewhere() {
    let folder = scratch("relative");
    fs::create_dir(folder.join("below")).unwrap();
    let script = r#"cd below; eval "$("$CUTAP" env -o ../run)"; cd /; exec "$PROGRAMS/exec""#;
    all_seen(&finish(&mut shell(&[], script, &folder)), &folder);
}

#[test]
fn folder_with_a_blank_and_a_quote() {
    for eval in [r#"eval "$("$CUTAP" env -o "$RUN")""#, r#"eval $("$CUTAP" env -o "$RUN")"#] {
        let outer = scratch("blank");
        let folder = outer.join("today's run: $HOME");
        fs::create_dir(&folder).unwrap();
        all_seen(&finish(&mut shell(&[], &format!(r#"{eval}; exec "$PROGRAMS/lazy""#), &folder)), &folder);
    }
}

#[test]
fn cache_that_the_loader_cannot_carry() {
    for name in ["a b", "a:b", "$ORIGIN"] {
        let folder = scratch("cache");
        let script = r#"eval "$("$CUTAP" env -o "$RUN")"; exec "$PROGRAMS/lazy""#;
        let mut shell = shell(&[], script, &folder);
        shell.env_remove("CUTAP_CACHE_DIR").env("XDG_CACHE_HOME", folder.join(name)).env("HOME", folder.join(name));
        all_seen(&finish(&mut shell), &folder);
        assert!(!folder.join(name).exists(), "something was put into a cache that cannot be used");
    }
}

#[test]
fn cache_of_another_user() {
    if nobody().is_none() {
        return;
    }
    let folder = scratch("owned");
    let cache = folder.join("cutap");
    fs::create_dir(&cache).unwrap();
    chown(&cache, Some(NOBODY), Some(NOBODY)).unwrap();
    let script = r#"eval "$("$CUTAP" env -o "$RUN")"; exec "$PROGRAMS/lazy""#;
    let mut shell = shell(&[], script, &folder);
    all_seen(&finish(shell.env_remove("CUTAP_CACHE_DIR").env("XDG_CACHE_HOME", &*folder)), &folder);
    assert_eq!(fs::read_dir(&cache).unwrap().count(), 0, "something was put into another user's folder");
}

#[test]
fn home_that_is_not_there() {
    let folder = scratch("home");
    let home = folder.join("nonexistent");
    let script = r#"eval "$("$CUTAP" env -o "$RUN")"; exec "$PROGRAMS/lazy""#;
    let mut shell = shell(&[], script, &folder);
    shell.env("HOME", &home).env_remove("XDG_CACHE_HOME").env_remove("CUTAP_CACHE_DIR");
    all_seen(&finish(&mut shell), &folder);
    assert!(!home.exists(), "a home was made");
}
