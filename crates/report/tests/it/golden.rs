//! The exact form of each output.

use crate::common::*;
use cutap_trace::made::Run;
use cutap_wire::record;
use serde_json::json;

const ENDING: &str = "\
cutap: runtimes seen: 12.9 in saxpy (linked in)
cutap: not seen in saxpy: __cudaRegister*, __cudaPushCallConfiguration, __cudaPopCallConfiguration (a runtime that is linked in reports no call of them), nor what is called before it is initialised (often cudaRuntimeGetVersion, cudaDriverGetVersion, cudaGetErrorString)
cutap: 2 libraries opened while running: calls from their constructors were not seen
cutap:   libplugin.so
cutap: arguments shown as plain words, for nothing is known of them: 7 calls of 6 functions (cuMemAlloc_v2, cuLaunchKernel, cublasCreate_v2, ...)
";

#[test]
fn a_tree() {
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

#[test]
fn calls_as_json() {
    let folder = tempfile::tempdir().unwrap();
    simple(folder.path());
    let lines = json(folder.path(), "");
    let types: Vec<_> = lines.iter().map(|l| l["type"].as_str().unwrap()).collect();
    assert_eq!(types[..3], ["process", "instance", "call"]);
    assert_eq!((types.len(), types[types.len() - 1]), (12, "end"));
    assert_eq!(
        lines[3],
        json!({
            "type": "call", "pid": 100, "tid": 100, "depth": 1, "layer": "driver", "library": "libcuda.so.1",
            "runtime": null, "name": "cuMemAlloc_v2", "args": ["0x7ffd3b00", "0x40000"], "result": 2,
            "result_name": "CUDA_ERROR_OUT_OF_MEMORY", "error": true,
            "start_ns": 1_001_210_000, "duration_ns": 1_200, "kernel": null, "caller": "0x400000", "state": "done",
        })
    );
    assert_eq!(lines[4]["runtime"], "12.9");
    assert_eq!(lines[5]["kernel"], "saxpy(int, float, float const*, float*)");
    assert_eq!(lines[8]["result"], "0x7f0012345678");
    assert_eq!(
        (&lines[9]["name"], &lines[9]["demangled"], &lines[9]["state"]),
        (&json!("_ZN6cublas4initEi"), &json!("cublas::init(int)"), &json!("entry_only"))
    );
    let last = &lines[10];
    assert_eq!(
        (&last["state"], &last["result"], &last["duration_ns"]),
        (&json!("unfinished"), &json!(null), &json!(null))
    );
    let end = &lines[11];
    assert_eq!(end["type"], "end");
}

#[test]
fn a_summary() {
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
    let (table, objects) = summary(folder.path());
    let table: Vec<_> = table.lines().take_while(|l| !l.starts_with("cutap: ")).collect();
    assert_eq!(
        table,
        [
            "    calls  errors     total      mean       min       p50       p99       max  function",
            "        2       0      40ms      20ms      20ms      20ms      20ms      20ms  cudaMalloc [saxpy, runtime 12.9]",
            "      200       2    10.1ms    50.5us       1us    49.9us    98.8us     100us  cuMemAlloc_v2",
            "        2       0      10ns       5ns       5ns       5ns       5ns       5ns  cuLaunchKernel",
            "        2       0         -         -         -         -         -         -  cublas::init(int) [libcublas.so.13]",
        ]
    );
    assert_eq!(
        objects[0],
        json!({
            "type": "summary", "layer": "runtime", "library": "saxpy", "runtime": "12.9", "name": "cudaMalloc",
            "calls": 2, "errors": 0, "unfinished": 0, "total_ns": 40_000_010, "mean_ns": 20_000_005, "min_ns": 20_000_005, "p50_ns": 20_000_005,
            "p99_ns": 20_000_005, "max_ns": 20_000_005,
        })
    );
    assert_eq!((objects.len(), &objects[4]["type"]), (5, &json!("end")));
    let (table, objects) = counts(folder.path());
    let table: Vec<_> = table.lines().take_while(|l| !l.starts_with("cutap: ")).collect();
    assert_eq!(
        table,
        [
            "       calls  function",
            "         200  cuMemAlloc_v2",
            "           2  cublas::init(int) [libcublas.so.13]",
            "           2  cuLaunchKernel",
            "           2  cudaMalloc [saxpy, runtime 12.9]",
        ]
    );
    let line = json!({"type": "count", "layer": "runtime", "library": "saxpy", "runtime": "12.9", "name": "cudaMalloc", "calls": 2});
    assert_eq!((objects.len(), &objects[3]), (5, &line));
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
    let objects = json(folder.path(), "lookup");
    assert_eq!((&objects[2]["type"], &objects[2]["function"]), (&json!("lookup"), &json!("cuMemAlloc_v2")));
}

#[test]
fn colours_only_when_told() {
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
