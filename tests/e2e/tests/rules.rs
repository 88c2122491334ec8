//! Files of rules: the six of docs/rules, mistakes, and rules that are replaced while a program runs.

use cutap_e2e::{Scratch, cutap, scratch, sources};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A compiled program in a folder that goes with the test.
struct Programs {
    folder: Scratch,
}

fn compile(args: &[&str], source: &Path, to: &Path) {
    let mut gcc = Command::new("gcc");
    gcc.args(["-O1", "-std=gnu17", "-Wall", "-Werror", "-pthread"])
        .args(args)
        .arg("-o")
        .arg(to)
        .arg(source)
        .arg("-ldl");
    let done = gcc.output().expect("gcc is installed");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

impl Programs {
    fn new(name: &str) -> Programs {
        let folder = scratch(name);
        compile(&[], &sources().join("rules/work.c"), &folder.join("work"));
        Programs { folder }
    }
    /// `cutap COMMAND --sim ARGS -- work MODE`.
    fn command(&self, command: &str, args: &[&str], mode: &[&str]) -> Command {
        let mut all = Command::new(cutap());
        all.arg(command).args(["-q", "--sim"]).args(args).arg("--").arg(self.folder.join("work")).args(mode);
        all.env_remove("LD_PRELOAD").env("LD_LIBRARY_PATH", self.folder.join("")).current_dir(self.folder.join(""));
        all
    }
    fn run(&self, args: &[&str], mode: &str) -> Output {
        self.command("run", args, &[mode]).output().expect("cutap starts")
    }
    /// What the program prints under a shipped file of rules.
    fn under(&self, rules: &str, mode: &str) -> String {
        out(&self.run(&["--rules", shipped(rules).to_str().unwrap()], mode))
    }
    fn file(&self, name: &str, text: &str) -> String {
        let path = self.folder.join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

fn shipped(name: &str) -> PathBuf {
    let path = sources().join("../../docs/rules").join(name);
    assert!(path.is_file(), "{}", path.display());
    path
}

fn out(done: &Output) -> String {
    assert!(done.status.success(), "{done:?}");
    String::from_utf8_lossy(&done.stdout).into_owned()
}

fn err(done: &Output) -> String {
    String::from_utf8_lossy(&done.stderr).into_owned()
}

/// `cutap ctl PID rules FILE`.
fn ctl(pid: &str, rules: &str) -> Output {
    Command::new(cutap()).args(["ctl", pid, "rules", rules]).output().expect("cutap starts")
}

/// The next line that a program prints.
fn line(from: &mut impl BufRead) -> String {
    let mut text = String::new();
    from.read_line(&mut text).unwrap();
    text.trim_end().to_owned()
}

fn start(mut command: Command) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child = command.stdout(Stdio::piped()).spawn().expect("cutap starts");
    let output = BufReader::new(child.stdout.take().unwrap());
    (child, output)
}

const AFTER: &str = "reset 0, retain 0, use 0, allocate 0\n";

#[test]
fn shipped_rules_do_what_they_say() {
    let programs = Programs::new("rules-shipped");
    assert_eq!(programs.under("out-of-memory.toml", "allocations"), "0 0\n0 0\n0 2\n0 0\n0 0\n");
    let fine = format!("wait 0\nwait 0, allocate 0, launch 0\n{AFTER}");
    let launches = programs.under("every-100th-launch.toml", "launches");
    assert_eq!(launches, format!("launch 100: 701\nlaunch 200: 701\n{fine}"));
    let dead = programs.under("dead-context.toml", "dead");
    assert_eq!(dead, format!("wait 700\nwait 700, allocate 700, launch 700\n{AFTER}"));
    let begin = Instant::now();
    assert_eq!(programs.under("slow-link.toml", "copies"), "0\n0\n");
    // Two copies of 4 MiB, at 1 GiB a second.
    assert!(begin.elapsed() >= Duration::from_micros(7800), "{:?}", begin.elapsed());
    let ecc = programs.under("ecc-error.toml", "waits");
    assert_eq!(ecc, "failed: 214, then 214\n");
    let seeded = ["--rules", shipped("ecc-error.toml").to_str().unwrap(), "--seed", "5"].map(str::to_owned);
    let seeded: Vec<&str> = seeded.iter().map(String::as_str).collect();
    assert_eq!(out(&programs.run(&seeded, "waits")), "failed: 214, then 214\n");
}

/// A collective that does not return until the rules are off; and one that is ended by SIGTERM.
#[test]
fn a_collective_hangs_until_rules_are_off() {
    let programs = Programs::new("rules-nccl");
    let source = programs.file("nccl.c", "int ncclAllReduce(void) { return 0; }\n");
    compile(
        &["-fPIC", "-shared", "-Wl,-soname,libnccl.so.2"],
        Path::new(&source),
        &programs.folder.join("libnccl.so.2"),
    );
    let rules = shipped("hanging-collective.toml");
    let args = ["--rules", rules.to_str().unwrap()];
    for is_ended in [false, true] {
        let (mut child, mut output) = start(programs.command("run", &args, &["collectives"]));
        let pid = line(&mut output);
        assert_eq!((line(&mut output), line(&mut output)), ("reduced 1: 0".to_owned(), "reduced 2: 0".to_owned()));
        std::thread::sleep(Duration::from_millis(300));
        assert!(child.try_wait().unwrap().is_none(), "it hangs");
        if is_ended {
            let pid = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
            assert!(!child.wait().unwrap().success());
            continue;
        }
        let said = out(&ctl(&pid, "off"));
        assert!(said.starts_with("no rules hold now\nbefore: 'ncclAllReduce:"), "{said}");
        assert!(said.contains("acted on 1 of 3 calls"), "{said}");
        assert_eq!((line(&mut output), line(&mut output)), ("reduced 3: 0".to_owned(), "reduced 4: 0".to_owned()));
        assert!(child.wait().unwrap().success());
    }
}

/// Threads that call all the time see the old rules or the new ones, and never a mixture.
#[test]
fn rules_are_replaced_under_threads() {
    let programs = Programs::new("rules-replaced");
    let lasts = programs.file("lasts", "");
    let first = programs.file("first.toml", "[[rule]]\ncalls = \"cuMemAlloc[bytesize=4096]\"\nretval = 22\n");
    let second = programs.file("second.toml", "[[rule]]\ncalls = \"cuMemAlloc[bytesize=8192]\"\nretval = 11\n");
    let (mut child, mut output) =
        start(programs.command("run", &["--rules", &first, "--arm", "cuEventCreate"], &["threads", &lasts]));
    let pid = line(&mut output);
    for rules in [&second, &first].into_iter().cycle().take(20) {
        let said = out(&ctl(&pid, rules));
        assert!(said.starts_with("1 rule holds now\nbefore: 'cuMemAlloc[bytesize="), "{said}");
    }
    // Functions that were not armed are named, as are faults for which the driver is not armed.
    let other = programs.file("other.toml", "[[rule]]\ncalls = \"cuMemFree,cuEventCreate\"\nerror = 2\n");
    let said = err(&ctl(&pid, &other));
    assert!(said.contains("cuMemFree") && said.contains("not armed"), "{said}");
    assert!(!said.contains("needs cuEventCreate") && said.contains("--arm 'cuMemFree,cuEventCreate'"), "{said}");
    let fault = programs.file("fault.toml", "[[rule]]\ncalls = \"cuMemAlloc\"\nerror = 700\n");
    let said = err(&ctl(&pid, &fault));
    assert!(said.contains("fault of the GPU") && said.contains("--arm 'driver:cu*'"), "{said}");
    let armed = programs.file("armed.toml", "[[rule]]\ncalls = \"cuEventCreate\"\nerror = 2\n");
    assert!(out(&ctl(&pid, &armed)).starts_with("1 rule holds now"));
    fs::remove_file(&lasts).unwrap();
    assert_eq!(line(&mut output), "ok");
    assert!(child.wait().unwrap().success());
}

#[test]
fn mistakes_are_named_before_the_program_starts() {
    let programs = Programs::new("rules-mistakes");
    for (text, part) in [
        (
            "[[rule]]\ncalls = \"cuMemAloc\"\nerror = 2\n",
            ":2: no function cuMemAloc is known; did you mean cuMemAlloc?",
        ),
        ("[[rule]]\ncalls = \"cuMemAlloc\"\nerorr = 2\n", ":3: a rule has no erorr; did you mean error?"),
        ("[[rule]]\ncalls = \"cuMemAlloc[bytes>1]\"\nerror = 2\n", ":2: cuMemAlloc has no parameter bytes"),
        ("# nothing\n", ":1: there is no rule; begin each with [[rule]]"),
        (
            "{\"cudaDriverFaults\": {\"cuMemAlloc\": {\"injectionType\": 5}}}",
            ": cuMemAlloc: injectionType is 5, expected",
        ),
    ] {
        let file = programs.file("rules.toml", text);
        let done = programs.run(&["--rules", &file], "allocations");
        let said = err(&done);
        assert!(done.status.code() == Some(125) && said.contains(&format!("{file}{part}")), "{text}: {said}");
        assert!(done.stdout.is_empty());
    }
}

/// The JSON of faultinj: results are changed after the call, and a trap is seen by the next call that waits.
#[test]
fn faults_of_faultinj() {
    let programs = Programs::new("rules-faultinj");
    let text = r#"{"cudaDriverFaults": {"cuMemAlloc_v2":
        {"injectionType": 2, "substituteReturnCode": 999, "interceptionCount": 3}}}"#;
    let file = programs.file("codes.json", text);
    assert_eq!(out(&programs.run(&["--rules", &file], "allocations")), "999 999\n999 0\n0 0\n0 0\n0 0\n");
    let text = r#"{"logLevel": 1, "cudaDriverFaults": {"cuLaunchKernel": {"percent": 100, "injectionType": 0}}}"#;
    let file = programs.file("trap.json", text);
    let said = out(&programs.run(&["--rules", &file], "dead"));
    assert!(said.starts_with("wait 719\nwait 719, allocate 719, launch 719\n"), "{said}");
}

/// The record has what was asked, what was done, and by which rule; also of the calls that fail later.
#[test]
fn the_record_names_the_rule() {
    let programs = Programs::new("rules-record");
    let rules = shipped("dead-context.toml");
    let shown = |args: &[&str], mode: &str| {
        let done = programs.command("record", &[&["-o", "run.cutap"], args].concat(), &[mode]).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        let show = Command::new(cutap()).arg("show").arg(programs.folder.join("run.cutap")).output().unwrap();
        out(&show)
    };
    let text = shown(&["--rules", rules.to_str().unwrap()], "dead");
    let rule = "[rule 'cuLaunchKernel*:error=CUDA_ERROR_ILLEGAL_ADDRESS:when=10']";
    let of = |name: &str| text.lines().filter(|l| l.contains(name) && l.contains(rule)).collect::<Vec<&str>>();
    assert!(of("cuLaunchKernel ").first().is_some_and(|line| line.contains("= CUDA_SUCCESS")), "{text}");
    assert!(of("cuCtxSynchronize(").iter().all(|line| line.contains("= CUDA_ERROR_ILLEGAL_ADDRESS")), "{text}");
    assert_eq!((of("cuCtxSynchronize(").len(), of("cuMemAlloc_v2(").len()), (2, 1), "{text}");
    let text = shown(&["--inject", "cuMemAlloc:delay_exit=1us:when=2"], "allocations");
    assert_eq!(text.matches("[rule 'cuMemAlloc:delay_exit=1us:when=2']").count(), 1, "{text}");
}

/// The process stops before the call, until SIGCONT.
#[test]
fn a_process_stops_before_a_call() {
    let programs = Programs::new("rules-stop");
    let nccl = programs.file("nccl.c", "int ncclAllReduce(void) { return 0; }\n");
    compile(&["-fPIC", "-shared", "-Wl,-soname,libnccl.so.2"], Path::new(&nccl), &programs.folder.join("libnccl.so.2"));
    let (mut child, mut output) =
        start(programs.command("run", &["--stop-at", "ncclAllReduce[count=8]"], &["collectives"]));
    let pid = line(&mut output);
    let state = || {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        text.rsplit(") ").next().and_then(|rest| rest.chars().next())
    };
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(begin.elapsed() < Duration::from_secs(60));
        if state() == Some('T') {
            let pid = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(child.wait().unwrap().success());
}
