//! Text while the program runs.

use crate::support::program::{
    CU_LAUNCH_KERNEL, CU_MEM_ALLOC, CUBLAS_CREATE, CUDA_MALLOC, MS, events, follow, program, simple, text,
};
use cutap_report::{Json, Output, Summary, Text};
use cutap_trace::synthetic::{Process, Run, Thread};
use std::io;

/// Two processes whose calls overlap; `step` is called whenever something has happened.
fn overlap(run: &Run, step: &mut dyn FnMut(u64)) -> (Vec<Process>, Vec<Thread>) {
    let mut first = program(run, 100);
    let mut one = first.thread(100, 4);
    one.call(CU_MEM_ALLOC, &[], 1_000, 0);
    step(run.now());
    let mut two = first.thread(101, 4);
    one.enter(CUDA_MALLOC, &[1]);
    two.enter(CUDA_MALLOC, &[2]);
    run.wait(MS);
    step(run.now());
    one.call(CU_MEM_ALLOC, &[3], 1_000, 0);
    two.call(CU_MEM_ALLOC, &[4], 1_000, 0);
    step(run.now());
    one.exit(0);
    two.enter(CU_LAUNCH_KERNEL, &[]);
    for _ in 0..6 {
        run.wait(20 * MS);
        step(run.now());
        one.call(CU_MEM_ALLOC, &[5], MS, 0);
    }
    let mut second = program(run, 200);
    let mut other = second.thread(200, 4);
    other.enter(CUBLAS_CREATE, &[]);
    step(run.now());
    two.exit(0);
    // An exception.
    two.open.clear();
    two.call(CU_MEM_ALLOC, &[6], 100, 0);
    run.wait(49 * MS);
    step(run.now());
    run.wait(2 * MS);
    step(run.now());
    run.wait(100 * MS);
    other.exit(1);
    other.enter(CUBLAS_CREATE, &[]);
    run.wait(51 * MS);
    // The folder is listed again after at most a tenth of a second.
    step(run.now());
    (vec![first, second], vec![one, two, other])
}

const TREE: &str = "\
cuMemAlloc_v2() = CUDA_SUCCESS <1us>
cutap: all lines up to here are of 100/100; from here on each has its own PID/TID
100/100 [saxpy, runtime 12.9] cudaMalloc(1) {
100/100   cuMemAlloc_v2(3) = CUDA_SUCCESS <1us>
100/101 [saxpy, runtime 12.9] cudaMalloc(2) {
100/101   cuMemAlloc_v2(4) = CUDA_SUCCESS <1us>
100/100 } cudaMalloc = cudaSuccess <1ms>
100/100 cuMemAlloc_v2(5) = CUDA_SUCCESS <1ms>
100/100 cuMemAlloc_v2(5) = CUDA_SUCCESS <1ms>
100/101   cuLaunchKernel() {
100/100 cuMemAlloc_v2(5) = CUDA_SUCCESS <1ms>
100/100 cuMemAlloc_v2(5) = CUDA_SUCCESS <1ms>
100/100 cuMemAlloc_v2(5) = CUDA_SUCCESS <1ms>
100/100 cuMemAlloc_v2(5) = CUDA_SUCCESS <1ms>
100/101   } cuLaunchKernel = CUDA_SUCCESS <126ms>
100/101 } cudaMalloc = ? <unwound>
100/101 cuMemAlloc_v2(6) = CUDA_SUCCESS <100ns>
200/200 [libcublas.so.13] cublasCreate_v2() {
200/200 } cublasCreate_v2 = 1 ! <151ms>
";

/// Lines of two threads have ids. Live output equals the output of the finished run.
#[test]
fn equal_to_show() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut live = Text::new(Vec::new(), false);
    let mut reader = None;
    let mut rounds = 0;
    let held = overlap(&run, &mut |now| {
        let reader = reader.get_or_insert_with(|| follow(folder.path(), ""));
        reader.poll_at(now, false, &mut |e| live.event(e).unwrap()).unwrap();
        live.tick(now).unwrap();
        rounds += 1;
    });
    assert!(rounds > 10);
    let mut reader = reader.unwrap();
    let before = String::from_utf8(live.get_ref().clone()).unwrap();
    assert!(
        before.ends_with("200/200 [libcublas.so.13] cublasCreate_v2() {\n"),
        "the call that hangs is visible:\n{before}"
    );
    reader.poll(true, &mut |e| live.event(e).unwrap()).unwrap();
    live.end(&reader.end()).unwrap();
    let live = String::from_utf8(live.get_ref().clone()).unwrap();
    let opened =
        format!("{TREE}200/200 [libcublas.so.13] cublasCreate_v2() {{\n200/200 }} cublasCreate_v2 = ? <unfinished>\n");
    assert!(live.starts_with(&opened), "{live}");
    assert!(live.contains("cutap: process 100 (/tmp/saxpy) is still running\n"), "{live}");

    // Only the last call differs: read after, it was never seen to last.
    let after = text(folder.path(), "");
    let started = "200/200 [libcublas.so.13] cublasCreate_v2() = ? <unfinished>\n";
    assert!(after.starts_with(&format!("{TREE}{started}")), "{after}");
    drop(held);
}

/// At the second process, one line names the thread of the lines before. It precedes the first line with ids.
#[test]
fn second_process() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut first = program(&run, 100);
    let mut one = first.thread(100, 4);
    one.call(CU_MEM_ALLOC, &[1], 1_000, 0);
    run.wait(MS);
    let mut second = program(&run, 200);
    run.wait(MS);
    one.call(CU_MEM_ALLOC, &[2], 1_000, 0);
    second.thread(200, 4).call(CU_MEM_ALLOC, &[3], 1_000, 0);
    let told = |text: &str| text.lines().take(4).map(|l| format!("{l}\n")).collect::<String>();
    let all = "\
cuMemAlloc_v2() = CUDA_SUCCESS <1us>
cutap: all lines up to here are of 100/100; from here on each has its own PID/TID
100/100 cuMemAlloc_v2(2) = CUDA_SUCCESS <1us>
200/200 cuMemAlloc_v2(3) = CUDA_SUCCESS <1us>
";
    let text = text(folder.path(), "");
    assert_eq!(told(&text).replace("v2(1)", "v2()"), all, "{text}");
    assert_eq!(text.matches("all lines up to here").count(), 1, "{text}");
}

/// Without lines before or after it, a second process needs no message.
#[test]
fn second_process_without_lines() {
    for (before, after) in [(0, 1), (1, 0)] {
        let folder = tempfile::tempdir().unwrap();
        let run = Run::new(folder.path());
        let mut first = program(&run, 100);
        let mut one = first.thread(100, 4);
        (0..before).for_each(|_| one.call(CU_MEM_ALLOC, &[1], 1_000, 0));
        run.wait(MS);
        let mut second = program(&run, 200);
        let mut other = second.thread(200, 4);
        (0..after).for_each(|_| other.call(CU_MEM_ALLOC, &[3], 1_000, 0));
        let text = text(folder.path(), "");
        assert!(text.contains("cuMemAlloc_v2(") && !text.contains("up to here"), "{text}");
        assert_eq!(text.contains("200/200 "), after > 0, "{text}");
    }
}

/// A reader that leaves after some bytes.
struct Leaves(usize);

impl io::Write for Leaves {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let n = bytes.len().min(self.0);
        self.0 -= n;
        Ok(n)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn broken_pipe() {
    let folder = tempfile::tempdir().unwrap();
    simple(folder.path());
    let (events, end) = events(folder.path(), "");
    let outputs: [fn(usize) -> Box<dyn Output>; 4] = [
        |n| Box::new(Text::new(Leaves(n), true)),
        |n| Box::new(Json::new(Leaves(n))),
        |n| Box::new(Summary::text(Leaves(n), false)),
        |n| Box::new(Summary::json(Leaves(n))),
    ];
    for make in outputs {
        for bytes in [0, 10, 100, 400] {
            let mut output = make(bytes);
            let broken = events.iter().try_for_each(|e| output.event(e)).and_then(|()| output.end(&end));
            assert_eq!(broken.unwrap_err().kind(), io::ErrorKind::BrokenPipe, "after {bytes} bytes");
        }
    }
}
