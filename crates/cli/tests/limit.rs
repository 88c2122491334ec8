//! `--limit-memory` and `--gpus`: processes that share a limit, and die, fork and replace themselves under it.

mod support;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use support::{Folder, cutap, err, out};

/// Does what lines of its input say, or its words: `take N` MiB, `give`, `free`, `nvml`, `fork`, `exec WORDS`, `die`.
/// It prints a line for each.
const PROGRAM: &str = r#"#!/usr/bin/env python3
import ctypes, os, sys
driver = ctypes.CDLL('libcuda.so.1')
memory = []
def begin(device=0):
    context = ctypes.c_void_p()
    driver.cuInit(0)
    return driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) or driver.cuCtxSetCurrent(context)
def take(mib):
    address = ctypes.c_uint64()
    result = driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(int(mib) << 20))
    if result == 0: memory.append(address)
    return result
def give():
    return driver.cuMemFree_v2(memory.pop())
def free():
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
    return free.value >> 20, total.value >> 20
def total():
    bytes = ctypes.c_size_t()
    driver.cuDeviceTotalMem_v2(ctypes.byref(bytes), 0)
    return bytes.value >> 20
def nvml():
    nvml = ctypes.CDLL('libnvidia-ml.so.1')
    device, told = ctypes.c_void_p(), (ctypes.c_uint64 * 3)()
    nvml.nvmlInit_v2()
    nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device))
    nvml.nvmlDeviceGetMemoryInfo(device, told)
    second = (ctypes.c_uint64 * 5)(2 << 24 | 40)
    nvml.nvmlDeviceGetMemoryInfo_v2(device, second)
    count, none = ctypes.c_uint(0), ctypes.c_uint(8)
    asked = nvml.nvmlDeviceGetComputeRunningProcesses_v3(device, ctypes.byref(count), None)
    list = (ctypes.c_uint64 * 24)()
    nvml.nvmlDeviceGetComputeRunningProcesses_v3(device, ctypes.byref(none), list)
    of = [list[n * 3 + 1] >> 20 for n in range(none.value)]
    is_own = os.getpid() in [list[n * 3] & 0xffffffff for n in range(none.value)]
    return [n >> 20 for n in told], [n >> 20 for n in second][1:], asked, count.value, sorted(of), is_own
def fork():
    child = os.fork()
    if child == 0:
        # It forgets what it believes to have of its parent, and gives nothing back.
        print('child', take(1), driver.cuMemFree_v2(memory[-1]), flush=True)
        exec('begin+take_60+free')
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
def count():
    number = ctypes.c_int()
    driver.cuInit(0)
    return driver.cuDeviceGetCount(ctypes.byref(number)), number.value
def place(name):
    at = ctypes.cast(getattr(driver, name), ctypes.c_void_p).value
    for line in open('/proc/self/maps'):
        first, last = [int(word, 16) for word in line.split()[0].split('-')]
        if first <= at < last: return line.split('/')[-1].strip()
def exec(words):
    os.execv(sys.executable, [sys.executable, sys.argv[0], words.replace('+', ',').replace('_', ' ')])
def die():
    os.kill(os.getpid(), 9)
def lines():
    if len(sys.argv) > 1: yield from ' '.join(sys.argv[1:]).split(',')
    else: yield from sys.stdin
for line in lines():
    word, *rest = line.split()
    print(word, globals()[word](*rest), flush=True)
"#;

/// The command of a program in a folder under a limit.
fn limited(folder: &Folder, flags: &[&str], words: &str) -> Command {
    let script = folder.program("program.py", PROGRAM.as_bytes());
    let mut command = cutap(&["run", "--sim", "-q"]);
    command.args(flags).arg("--").arg("python3").arg(script);
    if !words.is_empty() {
        command.arg(words);
    }
    command
}

fn done(folder: &Folder, flags: &[&str], words: &str) -> Output {
    limited(folder, flags, words).output().unwrap()
}

const LIMIT: [&str; 2] = ["--limit-memory", "100MiB"];

#[test]
fn a_device_is_as_large_as_its_limit() {
    let folder = Folder::new("limit-size");
    let ended = done(&folder, &LIMIT, "begin,free,total,take 60,take 60,free,give,take 100,free,give,free");
    assert_eq!(
        out(&ended),
        "begin 0\nfree (100, 100)\ntotal 100\ntake 0\ntake 2\nfree (40, 100)\ngive 0\ntake 0\nfree (0, 100)\ngive 0\n\
         free (100, 100)\n",
        "{ended:?}"
    );
    assert_eq!(
        err(&ended),
        "cutap: --limit-memory refused cuMemAlloc_v2 for 60 MiB: 60 MiB of 100 MiB of device 0 were in use\n"
    );
}

#[test]
fn nvml_tells_the_same() {
    let folder = Folder::new("limit-nvml");
    let ended = done(&folder, &LIMIT, "begin,take 30,nvml,free");
    assert_eq!(
        out(&ended),
        "begin 0\ntake 0\nnvml ([100, 70, 30], [100, 0, 70, 30], 7, 1, [30], True)\nfree (70, 100)\n",
        "{ended:?}"
    );
}

#[test]
fn limits_of_devices() {
    let folder = Folder::new("limit-devices");
    let flags = ["--limit-memory", "100MiB@1", "--limit-memory", "50MiB", "-E", "CUTAP_SIM_DEVICES=3"];
    let ended = done(&folder, &flags, "begin,take 60");
    assert_eq!(out(&ended), "begin 0\ntake 2\n", "{ended:?}");
    let script = folder.program("second.py", PROGRAM.replace("device=0", "device=1").as_bytes());
    let mut second = cutap(&["run", "--sim", "-q"]);
    let second = second.args(flags).arg("--").arg("python3").arg(script);
    let ended = second.arg("begin,take 60,take 60,free").output().unwrap();
    assert_eq!(out(&ended), "begin 0\ntake 0\ntake 2\nfree (40, 100)\n", "{ended:?}");
    let other = ["--limit-memory", "100MiB@1", "-E", "CUTAP_SIM_DEVICES=2", "-E", "CUTAP_SIM_MEMORY=500MiB"];
    assert_eq!(out(&done(&folder, &other, "begin,take 300,free")), "begin 0\ntake 0\nfree (200, 500)\n");
}

/// A child has nothing of its parent's, and counts with it. A program that replaces itself begins with nothing.
#[test]
fn fork_and_exec() {
    let folder = Folder::new("limit-fork");
    let ended = done(&folder, &LIMIT, "begin,take 30,fork,take 50,free");
    assert_eq!(
        out(&ended),
        "begin 0\ntake 0\nchild 3 3\nbegin 0\ntake 0\nfree (10, 100)\nfork 0\ntake 0\nfree (20, 100)\n",
        "{ended:?}"
    );
    let ended = done(&folder, &LIMIT, "begin,take 50,fork,take 50");
    assert_eq!(
        out(&ended),
        "begin 0\ntake 0\nchild 3 3\nbegin 0\ntake 2\nfree (50, 100)\nfork 0\ntake 0\n",
        "{ended:?}"
    );
    let ended = done(&folder, &LIMIT, "begin,take 90,exec begin+free+take_90");
    assert_eq!(out(&ended), "begin 0\ntake 0\nbegin 0\nfree (100, 100)\ntake 0\n", "{ended:?}");
}

/// A program that receives commands on standard input.
struct Told {
    child: Child,
    answers: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Told {
    fn new(folder: &Folder, flags: &[&str]) -> Told {
        let mut command = limited(folder, flags, "");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap()).lines();
        Told { child, answers }
    }
    fn say(&mut self, line: &str) -> String {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
        self.answers.next().map_or_else(String::new, |line| line.unwrap())
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Two runs with one folder: each sees what the other one has. What a killed process had is there again.
#[test]
fn runs_with_one_folder_count_together() {
    let folder = Folder::new("limit-together");
    let shared = folder.join("shared");
    std::fs::create_dir(&shared).unwrap();
    let flags = [LIMIT[0], LIMIT[1], "--accounts", shared.to_str().unwrap()];
    let (mut a, mut b) = (Told::new(&folder, &flags), Told::new(&folder, &flags));
    assert_eq!((a.say("begin"), b.say("begin")), ("begin 0".into(), "begin 0".into()));
    assert_eq!(a.say("take 60"), "take 0");
    assert_eq!((b.say("take 60"), b.say("free")), ("take 2".into(), "free (40, 100)".into()));
    assert_eq!(b.say("take 40"), "take 0");
    assert!(b.say("nvml").ends_with(", 7, 2, [40, 60], True)"), "both are listed");
    assert_eq!(a.say("take 1"), "take 2");
    assert_eq!(a.say("die"), "");
    drop(a);
    assert_eq!((b.say("free"), b.say("take 60")), ("free (60, 100)".into(), "take 0".into()));
    drop(b);
    assert_eq!(out(&done(&folder, &flags, "begin,free")), "begin 0\nfree (100, 100)\n");
}

/// Processes are killed in the middle of taking and giving, many times. At the end all is there.
#[test]
fn killed_processes_lose_nothing() {
    let folder = Folder::new("limit-killed");
    let killer = PROGRAM.replace(
        "for line in lines():",
        "if sys.argv[1] == 'storm':
    import signal, time, random
    for n in range(60):
        child = os.fork()
        if child == 0:
            begin()
            while True:
                if take(40) == 0: give()
        time.sleep(random.random() * 0.02)
        os.kill(child, 9)
        os.waitpid(child, 0)
    sys.argv[1:] = ['begin,free,take 100']
for line in lines():",
    );
    let script = folder.program("storm.py", killer.as_bytes());
    let ended = cutap(&["run", "--sim", "-q"]).args(LIMIT).arg("--").arg("python3").arg(script).arg("storm").output();
    assert_eq!(out(&ended.unwrap()), "begin 0\nfree (100, 100)\ntake 0\n");
}

/// Functions that are not counted cost nothing.
#[test]
fn other_functions_keep_their_address() {
    let folder = Folder::new("limit-address");
    let words = "place cuLaunchKernel,place cuMemcpyHtoD_v2,place cuCtxGetCurrent,place cuMemAlloc_v2";
    assert_eq!(
        out(&done(&folder, &LIMIT, words)),
        "place libcuda.so.1\nplace libcuda.so.1\nplace libcuda.so.1\nplace libcutap_preload.so\n"
    );
}

/// 32 threads take and give: the sum is never above the limit, and nothing is lost.
#[test]
fn threads_count_together() {
    let folder = Folder::new("limit-threads");
    let threads = PROGRAM.replace(
        "for line in lines():",
        "if sys.argv[1] == 'threads':
    import threading
    begin()
    current, results = ctypes.c_void_p(), []
    driver.cuCtxGetCurrent(ctypes.byref(current))
    def work():
        driver.cuCtxSetCurrent(current)
        for n in range(50):
            address = ctypes.c_uint64()
            result = driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(7 << 20))
            results.append(result)
            if result == 0: driver.cuMemFree_v2(address)
    all = [threading.Thread(target=work) for _ in range(32)]
    [thread.start() for thread in all]
    [thread.join() for thread in all]
    print(len(results), set(results) <= {0, 2}, flush=True)
    sys.argv[1:] = ['free,take 100']
for line in lines():",
    );
    let script = folder.program("threads.py", threads.as_bytes());
    let ended = cutap(&["run", "--sim", "-q"]).args(LIMIT).arg("--").arg("python3").arg(script).arg("threads").output();
    assert_eq!(out(&ended.unwrap()), "1600 True\nfree (100, 100)\ntake 0\n");
}

#[test]
fn shown_gpus() {
    let folder = Folder::new("limit-gpus");
    let flags = ["--gpus", "0,2", "-E", "CUTAP_SIM_DEVICES=4"];
    assert_eq!(out(&done(&folder, &flags, "count")), "count (0, 2)\n");
    let outer = |list: &str| {
        let mut command = limited(&folder, &["--gpus", "1", "-E", "CUTAP_SIM_DEVICES=4"], "count");
        command.env("CUDA_VISIBLE_DEVICES", list).output().unwrap()
    };
    assert_eq!(out(&outer("3,2")), "count (0, 1)\n");
    assert!(err(&outer("3")).contains("has 1 devices, counted from 0"), "{:?}", outer("3"));
}

/// The record has the call as the program made it, and who answered.
#[test]
fn a_refused_call_is_recorded() {
    let folder = Folder::new("limit-recorded");
    let script = folder.program("program.py", PROGRAM.as_bytes());
    let mut command = cutap(&["trace", "--sim", "-q", "-e", "cuMemAlloc", "--limit-memory", "1MiB", "--", "python3"]);
    let ended = command.arg(script).arg("begin,take 2").output().unwrap();
    let text = err(&ended);
    assert!(text.contains("bytesize=2097152) = CUDA_ERROR_OUT_OF_MEMORY"), "{text}");
    assert!(text.contains("[answered by cutap-limit]"), "{text}");
}

#[test]
fn mistakes_are_refused_before_the_program_starts() {
    let folder = Folder::new("limit-mistakes");
    let marker = folder.join("ran");
    let run = |flags: &[&str]| {
        let ended = cutap(&["run", "--sim"]).args(flags).arg("--").arg("touch").arg(&marker).output().unwrap();
        assert_eq!(ended.status.code(), Some(125), "{ended:?}");
        err(&ended)
    };
    for (flags, part) in [
        (&["--limit-memory", "much"][..], "much is no size; write it as 2GiB"),
        (&["--limit-memory", "1GiB@x"], "x is no device"),
        (&["--limit-memory", "1GiB", "--limit-memory", "2GiB"], "given twice for each device"),
        (&["--limit-memory", "0"], "with so little"),
        (&["--gpus", "a"], "'a' is no number of a GPU"),
        (&["--limit-memory", "1GiB", "--accounts", "/none/such"], "cannot count memory in"),
    ] {
        let said = run(flags);
        assert!(said.contains(part), "{said}");
    }
    let planted = |content: &[u8]| {
        std::fs::write(folder.join("accounts"), content).unwrap();
        run(&["--limit-memory", "1GiB", "--accounts", Path::new(&folder.0).to_str().unwrap()])
    };
    assert!(planted(b"x").contains("it is no file of accounts"));
    assert!(planted(b"cutapacc\x09\0\0\0\0\0\0\0").contains("another version of cutap"));
    assert!(!marker.exists());
}
