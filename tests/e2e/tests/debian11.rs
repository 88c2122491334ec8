//! The programs in a Debian 11 root, whose glibc (2.31) keeps dlsym and threads in separate libraries: built there,
//! run there plain and with what `cutap env` prints, counted as everywhere. Only with CUTAP_LARGE: the root is 700 MB,
//! made once.

use cutap_e2e::{NOT_ALONE, build, counted, cutap, finish, programs, scratch, shown, sources};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, process};

/// Programs whose calls cannot all be seen anywhere (routes.rs, descriptors.rs and record.rs say why): what is missing
/// must be listed.
const LISTED: &[(&str, &str)] = &[
    // Before glibc 2.34 libpthread asks to be first too, and the last to ask is.
    ("constructor_waits", "asked to be first"),
    ("ctor_needed", "asked to be first"),
    ("ctor_opened", "libctor.so"),
    ("forked_meanwhile", "ring could not be made"),
    ("namespace", "namespace"),
    ("no_folder", "ring could not be made"),
    ("no_names", "could not write to the run directory"),
    ("no_ring_files", "ring could not be made"),
    ("no_ring_folder", "ring could not be made"),
    ("plugin", "libplugin.so"),
    ("textrel", "libtextrel.so"),
    ("vfork_early", "could not write to the run directory"),
];

/// Left out, with reasons; and those that are not for running alone.
const LEFT_OUT: &[&str] = &[
    "reused_numbers", // its output may go to a file of cutap (docs/explanation/limits.md); descriptors.rs counts
    "asan", // the sanitizer's runtime insists on the first place in LD_PRELOAD; `cutap env` does not know the program
    "tsan", // its runtime may refuse a new kernel's address space
    "signal_jump", // how many calls are counted is a matter of chance (calls.rs allows for it)
    "timer_jump", // as signal_jump
    "daemon", // a child calls on after the program has ended, and nobody here waits for it (killed.rs does)
    "daemon_late", // as daemon
    "exec_daemon", // as daemon
    "elf_tables", // reads the library's symbol table, which nothing can see (unseen.rs)
    "elf_tables_exit", // as elf_tables
    "loads_late", // its driver is part of it, and counts nothing (kernel_layer.rs)
    "requests", // as loads_late
    "submits", // as loads_late (submit.rs)
    "stacks", // prints addresses, which differ from run to run
    "stacks_stripped", // as stacks
];

fn made(command: &mut Command) -> Result<(), String> {
    let done = command.output().map_err(|e| format!("{}: {e}", command.get_program().display()))?;
    let words = [done.stdout, done.stderr].concat();
    let words = String::from_utf8_lossy(&words);
    let last = words.lines().rfind(|l| !l.trim().is_empty()).unwrap_or("no word");
    if done.status.success() { Ok(()) } else { Err(format!("{}: {last}", command.get_program().display())) }
}

/// The root in the cache, made if it is not there.
fn root() -> Result<PathBuf, String> {
    if env::var_os("CUTAP_LARGE").is_none() {
        return Err("needs --large".into());
    }
    made(Command::new("unshare").args(["--mount", "chroot", "/", "true"]))?;
    let cache = env::var_os("CUTAP_CACHE").map_or_else(|| sources().join("../../.cache"), PathBuf::from);
    let root = cache.join("debian11");
    if root.is_dir() {
        return Ok(root);
    }
    if Command::new("debootstrap").arg("--version").output().is_err() {
        made(Command::new("apt-get").args(["install", "-qq", "-y", "--no-install-recommends", "debootstrap"]))?;
    }
    let aside = cache.join(format!("debian11.new-{}", process::id()));
    fs::create_dir_all(&aside).map_err(|e| format!("{}: {e}", aside.display()))?;
    let mut debootstrap = Command::new("debootstrap");
    debootstrap.args(["--variant=minbase", "--include=gcc,g++,libc6-dev", "bullseye"]).arg(&aside).arg(mirror());
    let done = made(&mut debootstrap).and_then(|()| fs::rename(&aside, &root).map_err(|e| e.to_string()));
    if done.is_err() {
        let _ = fs::remove_dir_all(&aside);
    }
    done.map(|()| root)
}

/// Where this machine gets Debian from.
fn mirror() -> String {
    let ask = Command::new("apt-get").args(["indextargets", "--format", "$(REPO_URI)", "Label: Debian"]).output();
    let text = ask.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or("http://deb.debian.org/debian").to_owned()
}

/// A command inside; the sources and the scratch folder have the same paths there as here.
fn inside(root: &Path, scratch: &Path, program: &str) -> Command {
    let script = r#"
        mount -t tmpfs tmpfs "$0/tmp"
        for shared in "$1" "$2"; do mkdir -p "$0$shared"; mount --bind "$shared" "$0$shared"; done
        mount -t proc proc "$0/proc"
        root=$0; shift 2; exec chroot "$root" "$@""#;
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-e", "-c", script]).arg(root).arg(sources()).arg(scratch).arg(program);
    command
}

#[test]
fn every_program() {
    let root = match root() {
        Ok(root) => root,
        Err(why) => return println!("skipped: Debian 11 root ({why})"),
    };
    let folder = scratch("debian11");
    let out = folder.join("e2e");
    fs::create_dir(&out).unwrap();
    build(&out, &|compiler| inside(&root, &folder, compiler), &["-ldl"]);
    let mut wrong = String::new();
    let all =
        programs().into_iter().filter(|n| !n.ends_with(".py") && ![LEFT_OUT, NOT_ALONE].concat().contains(&n.as_str()));
    for name in all {
        if let Err(why) = one(&root, &folder, &name) {
            wrong += &format!("{name}: {why}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn one(root: &Path, folder: &Path, name: &str) -> Result<(), String> {
    let (run, counts) = (folder.join(format!("run-{name}")), folder.join(format!("counts-{name}")));
    let program = folder.join("e2e").join(name);
    let started = |exports: &str, counts: &Path| {
        let mut shell = inside(root, folder, "sh");
        shell.args(["-c", r#"eval "$0"; exec "$1""#, exports]).arg(&program);
        finish(shell.env("FIXTURE_COUNTS", counts).env("LD_LIBRARY_PATH", folder.join("e2e")))
    };
    let plain = started("", &folder.join(format!("plain-{name}")));
    let exports =
        finish(Command::new(cutap()).args(["env", "-o"]).arg(&run).env("CUTAP_CACHE_DIR", folder.join("cache")));
    let traced = started(&exports.stdout, &counts);
    let end = |f: &cutap_e2e::Finished| (f.stdout.clone(), f.status.code(), f.status.signal());
    if end(&plain) != end(&traced) {
        return Err(format!("alone {plain:?}, with us {traced:?}"));
    }
    let (seen, real) = (shown(&run), counted(&counts));
    let text = || finish(Command::new(cutap()).arg("show").arg(&run)).stdout;
    let listed = LISTED
        .iter()
        .any(|(n, what)| *n == name && text().lines().any(|l| l.starts_with("cutap: ") && l.contains(what)));
    let shown_but_not_real = seen.iter().any(|(function, calls)| real.get(function).is_none_or(|r| calls > r));
    if seen != real && (!listed || shown_but_not_real) {
        Err(format!("seen {seen:?}, real {real:?}\n{}", text()))
    } else {
        Ok(())
    }
}
