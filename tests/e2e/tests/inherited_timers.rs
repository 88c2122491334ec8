//! What somebody ordered from the kernel before cutap's start, the program gets: signals of timers, and of the parent's
//! death.

use cutap_e2e::{Finished, Scratch, cutap, finish, out, scratch, sources, wait_for};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

/// What stands in front of a program, for each way in which cutap starts one.
fn ways(folder: &Scratch) -> Vec<Vec<String>> {
    let (cutap, hook, file) = (cutap().to_str().unwrap(), folder.join("hook.so"), folder.join("out"));
    let header = sources().join("../../crates/hook/include");
    let mut gcc = Command::new("gcc");
    gcc.args(["-shared", "-fPIC", "-I"]).arg(header).arg("-o").arg(&hook).arg(sources().join("hooks/nothing.c"));
    assert!(finish(&mut gcc).status.success());
    let text = folder.join("trace.txt");
    let [file, hook, text] = [&file, &hook, &text].map(|path| path.to_str().unwrap());
    let all = [&["record", "--force", "-o", file][..], &["trace", "-o", text], &["run", "--hook", hook]];
    all.map(|words| [&[cutap][..], words, &["--"]].concat().into_iter().map(str::to_owned).collect()).into()
}

/// A program behind those words, of which a script was the process before.
fn started(interpreter: &[&str], words: &[String], program: &str) -> Finished {
    let mut command = Command::new(interpreter[0]);
    command.args(&interpreter[1..]).args(words).arg(out().join(program)).env("LD_LIBRARY_PATH", out());
    finish(&mut command)
}

/// The program has the timers and the signal at the parents death.
#[test]
fn timers_and_death_signal() {
    let ordered = r#"
import ctypes, os, signal, sys
for which in range(3):
    signal.setitimer(which, 1000 * (which + 1), which + 7)
ctypes.CDLL(None).prctl(1, signal.SIGUSR1)
os.execv(sys.argv[1], sys.argv[1:])"#;
    let came = r#"
import os, signal, sys, time
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
signal.setitimer(signal.ITIMER_REAL, 0.01, 3)
while signal.SIGALRM not in signal.sigpending():
    time.sleep(0.01)
os.execv(sys.argv[1], sys.argv[1:])"#;
    let folder = scratch("orders");
    for (script, said) in [
        ("import os, sys\nos.execv(sys.argv[1], sys.argv[1:])", "0 0\n0 0\n0 0\n0 0\nok\n"),
        (ordered, "10 7\n20 8\n30 9\n0 10\nok\n"),
        (came, "0 3\n0 0\n0 0\n1 0\nok\n"),
    ] {
        assert_eq!(started(&["python3", "-c", script], &[], "orders").stdout, said);
        for words in ways(&folder) {
            let done = started(&["python3", "-c", script], &words, "orders");
            assert_eq!((&*done.stdout, done.status.code()), (said, Some(0)), "{words:?}: {done:?}");
        }
    }
}

#[test]
fn an_alarm_ends_the_program() {
    let folder = scratch("alarm");
    for words in ways(&folder) {
        let done = started(&["perl", "-e", "alarm 3; exec @ARGV"], &words, "until_killed");
        assert_eq!(
            (done.status.signal(), done.stdout.starts_with("waiting ")),
            (Some(14), true),
            "{words:?}: {done:?}"
        );
    }
}

/// Who started cutap dies, so cutap is killed, and so is the program; its calls are in the recording.
#[test]
fn the_parents_death_ends_the_program() {
    let folder = scratch("death");
    for words in ways(&folder) {
        let stdout = folder.join("stdout");
        let mut shell = Command::new("sh");
        shell
            .args(["-c", r#"setpriv --pdeathsig KILL "$@" & wait"#, "sh"])
            .args(&words)
            .arg(out().join("until_killed"));
        shell.env("LD_LIBRARY_PATH", out()).stdin(Stdio::null()).stdout(fs::File::create(&stdout).unwrap());
        let mut shell = shell.stderr(Stdio::null()).spawn().unwrap();
        wait_for("the program says that it waits", LONG, || read(&stdout).ends_with('\n'));
        let said = read(&stdout);
        let pid = said.trim().strip_prefix("waiting ").unwrap_or_else(|| panic!("{said}"));
        shell.kill().unwrap();
        shell.wait().unwrap();
        // Whoever has it now may not have waited for it yet.
        let state = Path::new("/proc").join(pid).join("stat");
        wait_for("the program's end", LONG, || !state.exists() || read(&state).contains(") Z "));
        if words.contains(&"record".to_owned()) {
            let show = || finish(Command::new(cutap()).arg("show").arg(folder.join("out")));
            wait_for("the recording's end", LONG, || {
                show().status.success() && !show().stderr.contains("being written")
            });
            assert!(show().stdout.contains("cuFixtureSleep("), "{:?}", show());
        }
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}
