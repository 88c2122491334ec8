//! `--inject`: errors, delays, signals and arguments, with exact numbers of calls.

mod support;

use std::process::Output;
use std::time::Instant;
use support::{CUTAP, Folder, cutap, err, out};

/// Allocates so often in each of so many threads, and in a child if `fork` is a word. It prints the numbers of results.
const ALLOCATES: &str = "\
#!/usr/bin/env python3
import collections, ctypes, os, sys, threading
driver = ctypes.CDLL('libcuda.so.1')
driver.cuInit(0)
context = ctypes.c_void_p()
driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
results = collections.Counter()
def work(calls):
    driver.cuCtxSetCurrent(context)
    for n in range(calls):
        address = ctypes.c_uint64()
        results[driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4096 * (1 + n % 2)))] += 1
threads = [threading.Thread(target=work, args=(int(sys.argv[2]),)) for _ in range(int(sys.argv[1]))]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(sorted(results.items()))
";

fn injected(folder: &Folder, rules: &[&str], program: &[&str]) -> Output {
    let script = folder.program("allocates.py", ALLOCATES.as_bytes());
    let mut command = cutap(&["record", "--sim", "-q", "-o"]);
    command.arg(folder.join("run.cutap"));
    for rule in rules {
        command.args(["--inject", rule]);
    }
    command.arg("--").arg("python3").arg(script).args(program).output().unwrap()
}

/// What the program printed.
fn results(folder: &Folder, rule: &str, program: &[&str]) -> String {
    let done = injected(folder, &[rule], program);
    assert!(done.status.success(), "{rule}: {done:?}");
    out(&done)
}

#[test]
fn numbers_of_calls_are_exact_in_threads() {
    let folder = Folder::new("inject-threads");
    for (rule, expected) in [
        ("cuMemAlloc:error=CUDA_ERROR_OUT_OF_MEMORY:when=3", "[(0, 3199), (2, 1)]\n"),
        ("cuMemAlloc_v2:error=CUDA_ERROR_OUT_OF_MEMORY:when=1..10", "[(0, 3190), (2, 10)]\n"),
        ("driver:cuMemAlloc*:retval=700:when=1+100", "[(0, 3168), (700, 32)]\n"),
        ("cuMemAlloc[bytesize>4096]:error=2", "[(0, 1600), (2, 1600)]\n"),
        ("cuMemAlloc[bytesize>4096&bytesize<8192]:error=2", "[(0, 3200)]\n"),
        ("cuMemAlloc:retval=999:after:when=5+", "[(0, 4), (999, 3196)]\n"),
        ("cuMemAlloc:error=2:chance=0%", "[(0, 3200)]\n"),
    ] {
        assert_eq!(results(&folder, rule, &["32", "100"]), expected, "{rule}");
    }
    let some = results(&folder, "cuMemAlloc:error=2:chance=50%", &["4", "500"]);
    assert_eq!(some, results(&folder, "cuMemAlloc:error=2:chance=50%", &["4", "500"]), "one seed, one result");
    let failed: u64 = some.trim_end_matches(")]\n").rsplit(' ').next().unwrap().parse().unwrap();
    assert!((900..1100).contains(&failed), "{some}");
}

/// The record has what the program asked for, and what was done. The work is done only with `after`.
#[test]
fn what_a_rule_did_is_recorded() {
    let folder = Folder::new("inject-recorded");
    let shown = |rule: &str| {
        results(&folder, rule, &["1", "3"]);
        out(&cutap(&["show", "-e", "cuMemAlloc"]).arg(folder.join("run.cutap")).output().unwrap())
    };
    let text = shown("cuMemAlloc:error=CUDA_ERROR_OUT_OF_MEMORY:when=2");
    assert_eq!(text.matches("[answered by cutap-inject]").count(), 1, "{text}");
    assert!(text.lines().nth(1).is_some_and(|line| line.contains("CUDA_ERROR_OUT_OF_MEMORY")), "{text}");
    let text = shown("cuMemAlloc:error=CUDA_ERROR_OUT_OF_MEMORY:after:when=2");
    assert!(text.contains("[cutap-inject: result was 0]"), "{text}");
    let text = shown("cuMemAlloc:set=bytesize=64KiB:when=3");
    assert!(text.contains("[cutap-inject: bytesize=65536]"), "{text}");
}

/// Rules that did nothing are named at the end; those that worked are not.
#[test]
fn rules_that_did_nothing() {
    let folder = Folder::new("inject-nothing");
    let script = folder.program("allocates.py", ALLOCATES.as_bytes());
    let mut command = cutap(&["run", "--sim"]);
    for rule in ["cuLaunchKernel:error=700", "cuMemAlloc:error=2:when=9", "cuMemAlloc:delay_exit=1us:when=2"] {
        command.args(["--inject", rule]);
    }
    let done = command.arg("--").arg("python3").arg(script).args(["1", "3"]).output().unwrap();
    let said = err(&done);
    assert!(said.contains("--inject 'cuLaunchKernel:error=700' did nothing: no such call was made"), "{said}");
    assert!(said.contains("'cuMemAlloc:error=2:when=9' did nothing: 3 calls matched, and none was its turn"), "{said}");
    assert!(!said.contains("delay_exit"), "{said}");
}

#[test]
fn delays_and_signals() {
    let folder = Folder::new("inject-delays");
    let begin = Instant::now();
    assert_eq!(results(&folder, "cuMemAlloc:delay_enter=200ms:delay_exit=100ms:when=2+", &["1", "3"]), "[(0, 3)]\n");
    assert!(begin.elapsed().as_millis() >= 600, "{:?}", begin.elapsed());
    let done = injected(&folder, &["cuMemAlloc:signal=SIGKILL:when=2"], &["1", "3"]);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&done.status), Some(libc::SIGKILL), "{done:?}");
}

#[test]
fn mistakes_are_refused_before_the_program_starts() {
    let folder = Folder::new("inject-mistakes");
    let marker = folder.join("ran");
    for (rule, part) in [
        ("cuMemAloc:error=2", "did you mean cuMemAlloc?"),
        ("cuMemAlloc:error=CUDA_ERROR_OUT_OF_MEMRY", "did you mean CUDA_ERROR_OUT_OF_MEMORY?"),
        ("cuMemAlloc", "says not what to do"),
        ("cuMemAlloc:error=2:when=x", "is no number of calls"),
        ("syscall:RM_ALLOC:error=1", "cutap syscall trace --fail"),
    ] {
        let mut command = cutap(&["trace", "--sim", "--inject", rule, "--", "touch"]);
        let done = command.arg(&marker).output().unwrap();
        let said = err(&done);
        assert!(done.status.code() == Some(125) && said.contains(part), "{rule}: {said}");
    }
    assert!(!marker.exists());
    let done = cutap(&["run", "--", CUTAP, "__demo-program"]).output().unwrap();
    assert!(done.status.code() == Some(125) && err(&done).contains("--hook"), "{done:?}");
}
