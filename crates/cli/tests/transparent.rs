//! What a program finds under `cutap trace` is what it finds without: exit code, signals, standard
//! input and output, descriptors, environment. Programs that know no CUDA are enough for that.

mod support;

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use support::{CUTAP, Folder, cutap, err, kill, out, processes, until};

#[test]
fn exit_codes_are_the_programs() {
    for code in [0, 1, 2, 42, 125, 126, 127, 128, 255] {
        let done = cutap(&["trace", "--", "sh", "-c", &format!("exit {code}")]).output().unwrap();
        assert_eq!(done.status.code(), Some(code));
    }
}

#[test]
fn death_by_signal_is_the_programs_and_leaves_no_core_of_ours() {
    let folder = Folder::new("core");
    for signal in [libc::SIGTERM, libc::SIGKILL, libc::SIGSEGV, libc::SIGABRT, libc::SIGPIPE, libc::SIGUSR1, 40] {
        let mut command = cutap(&["trace", "--", "sh", "-c", &format!("ulimit -c 0; kill -{signal} $$")]);
        let done = command.current_dir(&folder.0).output().unwrap();
        assert_eq!(done.status.signal(), Some(signal), "{}", err(&done));
        assert!(!done.status.core_dumped());
    }
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0);
}

#[test]
fn standard_input_and_output_pass_untouched() {
    let data: Vec<u8> = (0..3_000_000u32).map(|n| (n.wrapping_mul(2654435761) >> 13) as u8).collect();
    let mut run = cutap(&["trace", "--", "cat"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, copy) = (run.stdin.take().unwrap(), data.clone());
    let writer = std::thread::spawn(move || input.write_all(&copy).unwrap());
    let mut back = Vec::new();
    run.stdout.take().unwrap().read_to_end(&mut back).unwrap();
    writer.join().unwrap();
    assert!(run.wait().unwrap().success());
    assert!(back == data, "{} bytes came back", back.len());
}

#[test]
fn a_closed_output_is_seen_while_the_program_lives() {
    let script = "echo one; exec 1>&-; sleep 100";
    let mut run = cutap(&["trace", "--", "sh", "-c", script]).stdout(Stdio::piped()).spawn().unwrap();
    let mut text = String::new();
    run.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "one\n");
    assert!(run.try_wait().unwrap().is_none());
    kill(run.id() as i32, libc::SIGTERM);
    assert_eq!(run.wait().unwrap().signal(), Some(libc::SIGTERM));
}

/// Sets up what a parent may hand down, then runs the words behind it with `probe`.
const SETUPS: [(&str, &str); 6] = [
    ("plain", ""),
    ("pipe ignored", "signal.signal(signal.SIGPIPE, signal.SIG_IGN)"),
    ("as nohup", "signal.signal(signal.SIGHUP, signal.SIG_IGN); signal.signal(signal.SIGINT, signal.SIG_IGN)"),
    ("children ignored", "signal.signal(signal.SIGCHLD, signal.SIG_IGN)"),
    ("mask", "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGCHLD, 50])"),
    ("closed", "os.close(0); os.dup2(os.open('/dev/null', os.O_RDWR), 77)"),
];

/// Prints what it finds, but for what we say that we change.
const PROBE: &str = "import os
with open('/proc/self/status') as f:
    print(*(l for l in f if l.startswith(('SigB', 'SigI', 'SigC', 'ShdPnd', 'NoNewPrivs', 'Seccomp:'))))
here = '/proc/self/fd'
print([(n, os.readlink(here + '/' + n).split(':')[0]) for n in sorted(os.listdir(here)) if os.path.exists(here + '/' + n) and n not in '12'])
print(os.umask(0), os.getcwd(), os.getpriority(0, 0))
with open('/proc/self/environ') as f:
    ours = ('LD_PRELOAD=', 'CUTAP_RUN=', 'NVTX_INJECTION64_PATH=')
    print([v for v in f.read().split(chr(0)) if not v.startswith(ours)])
with open('/proc/self/cmdline') as f:
    print(f.read().split(chr(0)))
with open('/proc/self/limits') as f:
    print(f.read())
";

#[test]
fn what_the_program_inherits_is_the_same() {
    for (name, setup) in SETUPS {
        let run = |front: &[&str]| {
            let words = [front, &["python3", "-I", "-c", PROBE]].concat();
            let list = words.iter().map(|w| format!("{w:?}")).collect::<Vec<_>>().join(", ");
            let outer = format!(
                "import os, signal\nsignal.signal(signal.SIGPIPE, signal.SIG_DFL)\n{setup}\n\
                 signal.set_wakeup_fd(-1)\nos.execvp({:?}, [{list}])",
                words[0]
            );
            let mut command = Command::new("python3");
            command.args(["-I", "-c", &outer]).env("ZZZ", "1").env("AAA", "2 3").env("EMPTY", "");
            command.env_remove("LD_PRELOAD").env_remove("CUTAP_RUN");
            let done = command.output().unwrap();
            assert!(done.status.success(), "{name}: {}", err(&done));
            out(&done)
        };
        let (traced, plain) = (run(&[CUTAP, "trace", "--"]), run(&["env"]));
        for (traced, plain) in traced.lines().zip(plain.lines()) {
            assert_eq!(traced, plain, "{name}");
        }
        assert_eq!(traced.lines().count(), plain.lines().count(), "{name}");
    }
}

#[test]
fn signals_sent_to_us_reach_the_program() {
    let script = "trap 'echo term; exit 9' TERM; trap 'echo usr1' USR1; trap 'echo hup' HUP; trap 'echo int' INT
        echo ready; while :; do sleep 0.02; done";
    let mut run = cutap(&["trace", "--", "sh", "-c", script]).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = run.stdout.take().unwrap();
    let mut read = |wanted: &str| {
        let mut line = vec![0; wanted.len() + 1];
        output.read_exact(&mut line).unwrap();
        assert_eq!(String::from_utf8_lossy(&line), format!("{wanted}\n"));
    };
    read("ready");
    for (signal, word) in
        [(libc::SIGUSR1, "usr1"), (libc::SIGHUP, "hup"), (libc::SIGINT, "int"), (libc::SIGTERM, "term")]
    {
        kill(run.id() as i32, signal);
        read(word);
    }
    assert_eq!(run.wait().unwrap().code(), Some(9));
}

#[test]
fn a_signal_to_the_program_is_mirrored() {
    let mark = format!("10{}.5", std::process::id());
    let mut run = cutap(&["trace", "--", "sleep", &mark]).spawn().unwrap();
    let program = || processes(&mark).into_iter().find(|&p| p != run.id() as i32);
    until("the program runs", || program().is_some_and(|p| support::command_line(p).starts_with("sleep")));
    kill(program().unwrap(), libc::SIGTERM);
    assert_eq!(run.wait().unwrap().signal(), Some(libc::SIGTERM));
}

#[test]
fn a_script_without_an_interpreter_runs_as_execvp_runs_it() {
    let folder = Folder::new("script");
    let script = folder.program("script", b"echo \"$1\" ${0##*/}; exit 12\n");
    let done = cutap(&["trace", "--", script.to_str().unwrap(), "a b"]).output().unwrap();
    assert_eq!((out(&done).as_str(), done.status.code()), ("a b script\n", Some(12)), "{}", err(&done));
}

#[test]
fn the_program_outlives_a_killed_collector_and_a_killed_front() {
    let folder = Folder::new("killed");
    let (mark, go) = (folder.join("done"), folder.join("go"));
    let wait = format!("while [ ! -e {} ]; do sleep 0.05; done", go.display());
    let script = format!("echo ready; {wait}; echo over > {}; exit 13", mark.display());
    let collector = |front: u32| {
        let stat = |p: i32| std::fs::read_to_string(format!("/proc/{p}/stat")).unwrap_or_default();
        let parent = |p: i32| stat(p).rsplit(") ").next().and_then(|s| s.split(' ').nth(1)?.parse::<u32>().ok());
        processes("__collect").into_iter().find(|&p| parent(p) == Some(front))
    };

    let mut command = cutap(&["trace", "--", "sh", "-c", &script]);
    let messages = folder.join("messages");
    let said = |words: &str| std::fs::read_to_string(&messages).unwrap().matches(words).count();
    command.stdout(Stdio::piped()).stderr(std::fs::File::create(&messages).unwrap());
    let mut run = command.spawn().unwrap();
    run.stdout.take().unwrap().read_exact(&mut [0; 6]).unwrap();
    // Another continues in its place, a limited number of times.
    for others in 0..6 {
        until("another collector", || said("another goes on") == others);
        kill(collector(run.id()).unwrap(), libc::SIGKILL);
    }
    until("no other collector", || said("the collector ended early") == 6);
    std::fs::write(&go, "").unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(13));
    assert_eq!(said("another goes on"), 5);
    assert_eq!(std::fs::read_to_string(&mark).unwrap(), "over\n");
    let kept = std::fs::read_to_string(&messages).unwrap();
    let kept = kept.split("cutap show ").nth(1).and_then(|s| s.split([',', ')']).next()).unwrap();
    std::fs::remove_dir_all(kept).unwrap();

    std::fs::remove_file(&mark).unwrap();
    std::fs::remove_file(&go).unwrap();
    let mut run = command.spawn().unwrap();
    run.stdout.take().unwrap().read_exact(&mut [0; 6]).unwrap();
    let collector = collector(run.id()).unwrap();
    let options = support::command_line(collector);
    let options: serde_json::Value = serde_json::from_str(&options[options.find('{').unwrap()..]).unwrap();
    let folder_of_run = options["run"].as_str().unwrap();
    assert!(std::path::Path::new(folder_of_run).exists());
    kill(run.id() as i32, libc::SIGKILL);
    run.wait().unwrap();
    std::fs::write(&go, "").unwrap();
    until("the program is over", || std::fs::read_to_string(&mark).is_ok_and(|t| t == "over\n"));
    until("the collector has ended", || support::command_line(collector).is_empty());
    assert!(!std::path::Path::new(folder_of_run).exists(), "{folder_of_run} was left");
}
