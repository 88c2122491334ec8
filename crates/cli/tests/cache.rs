//! The libraries inside `cutap` reach the program from a folder of the user's own, whatever the folders of the
//! user are like, however many starts there are at the same time, and whatever somebody else put there.

mod support;

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use support::{Folder, cutap, err, is_root, out, refused};

fn prints_preload(cache: &Path) -> Command {
    let mut command = cutap(&["trace", "--", "sh", "-c", "echo $LD_PRELOAD"]);
    command.env("XDG_CACHE_HOME", cache);
    command
}

/// Where the preload lay for a program that was started with this cache.
fn preload(cache: &Path) -> PathBuf {
    let done = prints_preload(cache).output().unwrap();
    assert!(done.status.success(), "{}", err(&done));
    let path = PathBuf::from(out(&done).trim());
    assert!(path.is_file(), "{}", path.display());
    assert!(!err(&done).contains("cannot be preloaded"), "{}", err(&done));
    path
}

fn files(folder: &Path) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        match entry.path().is_dir() {
            true => all.extend(files(&entry.path())),
            false => all.push(entry.file_name().into_string().unwrap()),
        }
    }
    all.sort();
    all
}

#[test]
fn sixteen_first_starts_at_once() {
    let folder = Folder::new("sixteen");
    for round in 0..4 {
        let cache = folder.join(&format!("cache{round}"));
        let start = || prints_preload(&cache).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let runs: Vec<_> = (0..16).map(|_| start()).collect();
        let done: Vec<_> = runs.into_iter().map(|r| r.wait_with_output().unwrap()).collect();
        for one in &done {
            assert!(one.status.success(), "{}", err(one));
            assert_eq!(out(one), out(&done[0]));
            assert!(out(one).starts_with(cache.to_str().unwrap()), "{}", out(one));
        }
        // The simulated driver is unpacked where it is wanted.
        assert_eq!(files(&cache), ["libcutap_preload.so"]);
    }
}

#[test]
fn what_was_changed_is_replaced() {
    let folder = Folder::new("changed");
    let path = preload(&folder.0);
    let good = std::fs::read(&path).unwrap();
    let elsewhere = folder.join("elsewhere");
    std::fs::write(&elsewhere, "mine").unwrap();

    let mut bad = good.clone();
    bad[1000] ^= 1;
    std::fs::write(&path, bad).unwrap();
    assert_eq!(preload(&folder.0), path);
    assert!(std::fs::read(&path).unwrap() == good);

    std::fs::write(&path, &good[..good.len() / 2]).unwrap();
    assert_eq!(preload(&folder.0), path);
    assert!(std::fs::read(&path).unwrap() == good);

    std::fs::remove_file(&path).unwrap();
    symlink(&elsewhere, &path).unwrap();
    assert_eq!(preload(&folder.0), path);
    assert!(std::fs::read(&path).unwrap() == good && !path.is_symlink());
    assert_eq!(std::fs::read(&elsewhere).unwrap(), b"mine");

    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o666)).unwrap();
    assert_eq!(preload(&folder.0), path);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, if is_root() { 0o644 } else { 0o600 });
}

/// Only the owner may write there. What root unpacks every user may read.
#[test]
fn folders_are_private() {
    let folder = Folder::new("private");
    let path = preload(&folder.0);
    for part in path.ancestors().skip(1).take_while(|p| *p != folder.0) {
        let mode = std::fs::metadata(part).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, if is_root() { 0o755 } else { 0o700 }, "{}", part.display());
    }
}

/// Another folder is taken.
fn is_avoided(cache: &Path) {
    let path = preload(cache);
    let elsewhere = if is_root() { "/var/cache/cutap" } else { "/tmp" };
    assert!(path.starts_with(elsewhere) && !path.starts_with(cache), "{}", path.display());
}

#[test]
fn folders_that_others_may_write_to_or_own_are_avoided() {
    let folder = Folder::new("planted");
    let open = folder.join("open");
    std::fs::create_dir_all(open.join("cutap")).unwrap();
    std::fs::set_permissions(open.join("cutap"), PermissionsExt::from_mode(0o777)).unwrap();
    is_avoided(&open);

    let linked = folder.join("linked");
    std::fs::create_dir_all(&linked).unwrap();
    symlink(folder.join("open"), linked.join("cutap")).unwrap();
    is_avoided(&linked);

    let file = folder.join("file");
    std::fs::create_dir_all(&file).unwrap();
    std::fs::write(file.join("cutap"), "").unwrap();
    is_avoided(&file);

    if !is_root() {
        return eprintln!("skipped: a folder of another user (needs root to make one)");
    }
    let foreign = folder.join("foreign");
    std::fs::create_dir_all(foreign.join("cutap")).unwrap();
    std::os::unix::fs::chown(foreign.join("cutap"), Some(65534), None).unwrap();
    is_avoided(&foreign);
    let inner = folder.join("inner");
    let place = preload(&inner);
    std::os::unix::fs::chown(place.parent().unwrap(), Some(65534), None).unwrap();
    is_avoided(&inner);
}

#[test]
fn paths_that_the_loader_cannot_carry_are_avoided() {
    let folder = Folder::new("names");
    for name in ["a b", "a:b", "$LIB"] {
        is_avoided(&folder.join(name));
    }
    let long = (0..14).fold(folder.0.clone(), |path, _| path.join("x".repeat(220)));
    std::fs::create_dir_all(&long).unwrap();
    is_avoided(&long);
}

#[test]
fn a_home_that_does_not_exist_is_not_made() {
    let folder = Folder::new("home");
    let home = folder.join("gone");
    let done = prints_preload(&home).env_remove("XDG_CACHE_HOME").env("HOME", &home).output().unwrap();
    let elsewhere = if is_root() { "/var/cache/cutap/" } else { "/tmp/cutap-" };
    assert!(out(&done).starts_with(elsewhere), "{} {}", out(&done), err(&done));
    assert!(!home.exists());
}

#[test]
fn cutap_cache_dir_comes_first() {
    let folder = Folder::new("named");
    let cache = folder.join("here");
    let done = prints_preload(&folder.join("other")).env("CUTAP_CACHE_DIR", &cache).output().unwrap();
    assert!(out(&done).starts_with(cache.to_str().unwrap()), "{} {}", out(&done), err(&done));
}

/// A folder that a person named is used or refused. No other one is used in its place.
#[test]
fn a_cutap_cache_dir_that_cannot_be_used_is_refused() {
    let folder = Folder::new("unusable");
    std::fs::write(folder.join("file"), "").unwrap();
    std::fs::create_dir(folder.join("open")).unwrap();
    std::fs::set_permissions(folder.join("open"), PermissionsExt::from_mode(0o777)).unwrap();
    for (name, why) in [
        ("file", "something that is not a folder stands there"),
        ("file/below", "something that is not a folder stands there"),
        ("no/such/folder", "no such file or folder"),
        ("open", "others may write to it"),
        ("a b", "LD_PRELOAD cannot carry a path with a space"),
    ] {
        let cache = folder.join(name);
        let named = format!("cannot unpack cutap's libraries into CUTAP_CACHE_DIR={}: {why}", cache.display());
        let done = prints_preload(&folder.join("other")).env("CUTAP_CACHE_DIR", &cache).output().unwrap();
        refused(&done, 125, &[&named, "set CUTAP_CACHE_DIR to a private folder", "or unset it"]);
        let run = folder.join("run");
        let mut env = cutap(&["env", "-o", run.to_str().unwrap()]);
        refused(&env.env("CUTAP_CACHE_DIR", &cache).output().unwrap(), 125, &[&named]);
        assert!(!run.exists() && !folder.join("other").exists(), "{name}: something was made");
    }
    let relative = prints_preload(&folder.0).env("CUTAP_CACHE_DIR", "here").output().unwrap();
    refused(&relative, 125, &["CUTAP_CACHE_DIR=here: the path does not begin with /"]);
    let unset = prints_preload(&folder.join("other")).env("CUTAP_CACHE_DIR", "").output().unwrap();
    assert!(unset.status.success(), "an empty variable counts as unset: {}", err(&unset));
}

/// Runs a script as root in a mount namespace of its own; `None` where that is not allowed.
fn in_namespace(script: &str) -> Option<std::process::Output> {
    let may = Command::new("unshare").args(["-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).output();
    if !may.is_ok_and(|o| o.status.success()) {
        eprintln!("skipped: mounts of a test's own (unshare -m is not allowed here)");
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-ec", script]).env("CUTAP", support::CUTAP).env_remove("CUTAP_CACHE_DIR");
    Some(command.env_remove("LD_PRELOAD").output().unwrap())
}

#[test]
fn mounts_that_are_noexec_or_read_only_are_avoided() {
    let folder = Folder::new("mounts");
    let script = format!(
        "mkdir {0}/noexec {0}/readonly; mount -t tmpfs -o noexec tmpfs {0}/noexec; mount -t tmpfs -o ro tmpfs {0}/readonly
         for m in noexec readonly; do XDG_CACHE_HOME={0}/$m $CUTAP trace -- sh -c 'echo $LD_PRELOAD'; done",
        folder.0.display()
    );
    let Some(done) = in_namespace(&script) else { return };
    assert!(done.status.success(), "{}", err(&done));
    assert_eq!(out(&done).lines().filter(|l| l.starts_with("/var/cache/cutap/")).count(), 2, "{}", out(&done));
}

#[test]
fn a_read_only_cache_that_holds_all_is_used() {
    let folder = Folder::new("filled");
    let script = format!(
        "XDG_CACHE_HOME={0} $CUTAP trace -- true; mount --bind {0} {0}; mount -o remount,ro,bind {0}
         XDG_CACHE_HOME={0} $CUTAP trace -- sh -c 'echo $LD_PRELOAD'",
        folder.0.display()
    );
    let Some(done) = in_namespace(&script) else { return };
    assert!(done.status.success(), "{}", err(&done));
    assert!(out(&done).starts_with(folder.0.to_str().unwrap()), "{}", out(&done));
}

/// Runs a program as root that becomes another user and reads the preload and the simulated driver, with this in front.
/// The path of the preload that it printed.
fn as_another_user(before: &str) -> Option<String> {
    let script = format!(
        "unset XDG_CACHE_HOME; other() {{ $CUTAP trace --sim -- setpriv --reuid 65534 --regid 65534 --clear-groups \"$@\"; }}
         mount -t tmpfs -o mode=755 tmpfs /mnt; mount -t tmpfs -o mode=755 tmpfs /var/cache; {before}
         other sh -c 'umask 077; cat $LD_PRELOAD | wc -c; cat ${{LD_LIBRARY_PATH%%:*}}/libcuda.so.1 | wc -c; echo $LD_PRELOAD'"
    );
    let done = in_namespace(&script)?;
    assert!(done.status.success() && !err(&done).contains("cannot be preloaded"), "{before}: {}", err(&done));
    let lines: Vec<String> = out(&done).lines().map(str::to_owned).collect();
    assert!(lines[..2].iter().all(|bytes| bytes.parse::<u32>().unwrap() > 100_000), "{before}: {lines:?}");
    Some(lines[2].clone())
}

/// Whatever root's home is like: its `.cache` is closed to others, or the home itself.
#[test]
fn what_root_starts_as_another_user_can_read_the_libraries() {
    for (before, place) in [
        ("mkdir -m 700 /mnt/home; export HOME=/mnt/home", "/var/cache/cutap/"),
        ("mkdir -m 755 /mnt/home; export HOME=/mnt/home", "/var/cache/cutap/"),
        ("export HOME=/", "/var/cache/cutap/"),
        ("unset HOME", "/var/cache/cutap/"),
        ("umask 077", "/var/cache/cutap/"),
        // An older cutap, or one that was stopped halfway, has left it closed.
        ("mkdir -m 700 /var/cache/cutap", "/var/cache/cutap/"),
        ("mount -o remount,ro /var/cache; mount -t tmpfs tmpfs /var/tmp", "/var/tmp/cutap-0/"),
        ("chmod 700 /var/cache; mount -t tmpfs tmpfs /var/tmp", "/var/tmp/cutap-0/"),
        ("mkdir -m 700 /mnt/closed; export XDG_CACHE_HOME=/mnt/closed/cache", "/var/cache/cutap/"),
        ("export XDG_CACHE_HOME=/mnt/cache", "/mnt/cache/cutap/"),
        ("umask 077; export CUTAP_CACHE_DIR=/mnt/named", "/mnt/named/"),
    ] {
        let Some(path) = as_another_user(before) else { return };
        assert!(path.starts_with(place), "{before}: {path}");
    }
}

/// /tmp and /var/tmp refuse programs but hide nothing: the program under test may be in one of them, where a mount of
/// its own keeps it executable. /var/cache is empty: libraries of another test in a read-only cache would be used.
#[test]
fn with_no_folder_at_all_one_sentence_says_why_for_each() {
    let folder = Folder::new("with a space");
    let script = format!(
        "mount --bind $CUTAP $CUTAP; for m in /tmp /var/tmp; do mount --rbind $m $m; done
         mount -o remount,bind,noexec /tmp; mount -o remount,bind,ro /var/tmp
         mount -t tmpfs -o ro tmpfs /var/cache
         HOME='{}' XDG_CACHE_HOME= $CUTAP trace -- echo ran",
        folder.0.display()
    );
    let Some(done) = in_namespace(&script) else { return };
    assert_eq!((done.status.code(), out(&done).as_str()), (Some(125), ""));
    let text = err(&done);
    for part in ["no folder can hold", "with a space", "noexec", "read-only", "set CUTAP_CACHE_DIR"] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    assert_eq!(text.lines().count(), 1, "{text}");
}
