//! Whole outputs: text, JSON, summary, counts.

use crate::support::program::{
    CU_LAUNCH_KERNEL, CU_MEM_ALLOC, CUBLAS_CXX, CUDA_MALLOC, MS, compact, counts, json, program, simple, summary, text,
    write,
};
use cutap_trace::synthetic::Run;
use cutap_wire::record;
use expect_test::expect_file;
use serde_json::Value;

const ENDING: &str = "\
cutap: runtimes seen: 12.9 in saxpy (linked in)
cutap: 2 libraries opened while running: calls from their constructors were not seen
cutap:   libplugin.so
cutap: arguments shown as plain words, for nothing is known of them: 7 calls of 6 functions (cuMemAlloc_v2, cuLaunchKernel, cublasCreate_v2, ...)
";

#[test]
fn tree() {
    let folder = tempfile::tempdir().unwrap();
    simple(folder.path());
    let tree = "\
[libcublas.so.13] cublasCreate_v2(0x7ffd00001000, 1, 2, 3, 4, 5, ...) = 0 <1.2ms>
[saxpy, runtime 12.9] cudaMalloc(0x7ffd3c00, 262144) {
  cuMemAlloc_v2(0x7ffd3b00, 262144) = CUDA_ERROR_OUT_OF_MEMORY ! <1.2us>
} cudaMalloc = cudaErrorMemoryAllocation ! <14us>
[saxpy, runtime 12.9] cudaLaunchKernel() kernel=saxpy(int, float, float const*, float*) {
  cuLaunchKernel(0x55555550, 1) kernel=saxpy(int, float, float const*, float*) = CUDA_SUCCESS <5us>
} cudaLaunchKernel = cudaSuccess <5us>
cuMemAlloc_v2(1) {
} cuMemAlloc_v2 = CUDA_SUCCESS <51ms>
[libcublas.so.13] cublasGetStatusString(1) = 0x7f0012345678 <700ns>
[libcublas.so.13] cublas::init(int)(1)
[saxpy, runtime 12.9] cudaMalloc(1, 2) = ? <unfinished>
";
    assert_eq!(text(folder.path(), ""), format!("{tree}{ENDING}"));
}

/// All lines: the processes and instances, finished, failed and unfinished calls, and the end.
#[test]
fn json_lines() {
    let folder = tempfile::tempdir().unwrap();
    simple(folder.path());
    expect_file!["golden/lines.jsonl"].assert_eq(&compact(&json(folder.path(), "")));
}

#[test]
fn summary_and_counts() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    for pid in [100, 200] {
        let mut process = program(&run, pid);
        let mut thread = process.thread(pid, 8);
        for n in 1..=100 {
            thread.call(CU_MEM_ALLOC, &[], n * 1_000, if n == 50 { 2 } else { 0 });
        }
        thread.enter(CUDA_MALLOC, &[]);
        thread.call(CU_LAUNCH_KERNEL, &[], 5, 0);
        run.wait(20 * MS);
        thread.exit(0);
        thread.enter(CUBLAS_CXX, &[1]);
        thread.end();
    }
    let own = |text: &str| -> String { text.split_inclusive('\n').take_while(|l| !l.starts_with("cutap: ")).collect() };
    let without_end = |objects: &[Value]| {
        let (end, lines) = objects.split_last().unwrap();
        assert_eq!(end["type"], "end");
        compact(lines)
    };
    let (table, objects) = summary(folder.path());
    expect_file!["golden/summary.txt"].assert_eq(&own(&table));
    expect_file!["golden/summary.jsonl"].assert_eq(&without_end(&objects));
    let (table, objects) = counts(folder.path());
    expect_file!["golden/counts.txt"].assert_eq(&own(&table));
    expect_file!["golden/counts.jsonl"].assert_eq(&without_end(&objects));
}

#[test]
fn lookups() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = program(&run, 100);
    let mut thread = process.thread(100, 4);
    thread.lookup(record::lookup::DLSYM, 0x3_0010, 0, 0x1_2345, 1, "cuMemAlloc_v2");
    thread.enter(CUDA_MALLOC, &[]);
    thread.lookup(record::lookup::GET_PROC_ADDRESS_V2, 0x10, 12090, 0, 0, "cu\"No\n");
    thread.exit(0);
    thread.lookup(record::lookup::DLVSYM, 0x3_0010, u64::MAX, 0x77, 0, "x");
    thread.lookup(record::lookup::GET_EXPORT_TABLE, 0x2_0010, 0, 0x77, 0, "a094798c-2e74-2e74-93f2-0800200c0a66");
    assert_eq!(
        text(folder.path(), "lookup,runtime").lines().take(6).collect::<Vec<_>>(),
        [
            "lookup dlsym(RTLD_DEFAULT, \"cuMemAlloc_v2\") by libcublas.so.13 = cuMemAlloc_v2 of libcuda.so.1",
            "[saxpy, runtime 12.9] cudaMalloc() {",
            "  lookup cuGetProcAddress_v2(\"cu\\\"No\\n\", 12090, 0x0) by 0x10 = NULL",
            "} cudaMalloc = cudaSuccess <0ns>",
            "lookup dlvsym(RTLD_NEXT, \"x\") by libcublas.so.13 = 0x77",
            "lookup cuGetExportTable(a094798c-2e74-2e74-93f2-0800200c0a66) by saxpy = 0x77",
        ]
    );
    let mut objects = json(folder.path(), "lookup");
    objects.retain(|line| line["type"] == "lookup");
    expect_file!["golden/lookups.jsonl"].assert_eq(&compact(&objects));
}

#[test]
fn colours() {
    let folder = tempfile::tempdir().unwrap();
    simple(folder.path());
    assert!(!text(folder.path(), "").contains('\x1b'));
    let mut output = cutap_report::Text::new(Vec::new(), true);
    write(folder.path(), "", &mut output);
    let coloured = String::from_utf8(output.get_ref().clone()).unwrap();
    assert!(coloured.contains("\x1b["));
    let mut plain = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once("\x1b[") {
        plain.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    plain.push_str(rest);
    assert_eq!(plain, text(folder.path(), ""));
}
