//! Arguments by name and value, as a trace shows them; with the small tables of `cutap_trace::made`.

use crate::common::*;
use cutap_calls::Layer;
use cutap_trace::made::{Process, Run, Thread};
use cutap_wire::{names, record};
use serde_json::json;

/// A process with one driver function in slot 0.
pub(crate) fn driver(run: &Run, name: &str, shape: (u8, u8, u8)) -> (Process, Thread) {
    let mut process = run.process(100, "/bin/prog");
    process.driver(&[]);
    process.slot(0, 1, shape, name);
    let thread = process.thread(100, 8);
    (process, thread)
}

/// The line of one call of a driver function.
pub(crate) fn line(name: &str, words: &[u64], before: &[(u64, &[u8])], result: u64, after: &[(u64, &[u8])]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let (_process, mut thread) = driver(&run, name, (words.len() as u8, 0, 0));
    thread.call_with(0, words, before, result, after);
    decoded(folder.path(), "").lines().next().unwrap().to_owned()
}

pub(crate) fn words(all: &[u64]) -> Vec<u8> {
    all.iter().flat_map(|w| w.to_le_bytes()).collect()
}

#[test]
fn outputs_scalars_and_results() {
    assert_eq!(
        line("cuMemAlloc_v2", &[0x7ffd00, 262_144], &[], 0, &[(0x7ffd00, &words(&[0x7f00_0000_0000]))]),
        "cuMemAlloc_v2(dptr=&0x7f0000000000, bytesize=262144) = CUDA_SUCCESS <1us>"
    );
    assert_eq!(
        line("cuMemAlloc_v2", &[0x7ffd00, 1 << 60], &[], 2, &[]),
        "cuMemAlloc_v2(dptr=0x7ffd00, bytesize=1152921504606846976) = CUDA_ERROR_OUT_OF_MEMORY ! <1us>"
    );
    assert_eq!(line("cuMemAlloc_v2", &[0, 1], &[], 77, &[]), "cuMemAlloc_v2(dptr=NULL, bytesize=1) = 77 ! <1us>");
    assert_eq!(
        line("cuDriverGetVersion", &[0x10], &[], 0, &[(0x10, &12090u32.to_le_bytes())]),
        "cuDriverGetVersion(driverVersion=&12090 [12.9]) = CUDA_SUCCESS <1us>"
    );
    assert_eq!(
        line("cuGetErrorString", &[0x2_0000_0002, 0x10], &[], 0, &[(0x10, &words(&[0x500])), (0x500, b"out of\n\0")]),
        "cuGetErrorString(error=CUDA_ERROR_OUT_OF_MEMORY, pStr=&\"out of\\n\") = CUDA_SUCCESS <1us>"
    );
    let turned = "exe\u{202e}fdp\u{1b}[2J\u{2028}\0";
    assert_eq!(
        line("cuGetErrorString", &[2, 0x10], &[], 0, &[(0x10, &words(&[0x500])), (0x500, turned.as_bytes())]),
        "cuGetErrorString(error=CUDA_ERROR_OUT_OF_MEMORY, \
         pStr=&\"exe\\u{202e}fdp\\u{1b}[2J\\u{2028}\") = CUDA_SUCCESS <1us>"
    );
    let uuid: Vec<u8> = (0..16).collect();
    assert_eq!(
        line("cuDeviceGetUuid", &[0x10, 0xdead_ffff_ffff, 5, 255], &[], 0, &[(0x10, &uuid)]),
        "cuDeviceGetUuid(uuid=&00010203-0405-0607-0809-0a0b0c0d0e0f, dev=CU_DEVICE_CPU, mask=5, bits=0xff) = \
         CUDA_SUCCESS <1us>"
    );
}

#[test]
fn enums_code_lists_and_structs() {
    let mut mixed = b"name\0after the end".to_vec();
    mixed.truncate(16);
    mixed.extend([1u32, 2, 3, 4, 3].iter().flat_map(|n| n.to_le_bytes()));
    mixed.extend([0x00, 0x3e, 0xc0, 0x3f]);
    mixed.extend(words(&[0x4000]));
    mixed.extend([0xab; 16]);
    let list: Vec<u8> = [5i32, -6, 0].iter().flat_map(|n| n.to_le_bytes()).collect();
    let call =
        |mixed: &[u8]| line("cuFixtureKinds", &[1, 1, 0x9, 0, 0x100, 0x200], &[(0x100, &list), (0x200, mixed)], 0, &[]);
    let head = "cuFixtureKinds(kind=HostToDevice, flag=true, cookie=0x9, callback=NULL, list=[5, -6], mixed=";
    assert_eq!(
        call(&mixed),
        format!(
            "{head}&{{name=\"name\", numbers=[1, 2, 3], used=3, half=1.5, brain=1.5, callback=0x4000, \
             uuid=abababab-abab-abab-abab-abababababab}}) = CUDA_SUCCESS <1us>"
        )
    );
    mixed.extend([0; 8]);
    assert!(call(&mixed).contains("abababab, ...+8 bytes}) = "), "{}", call(&mixed));
    assert!(call(&mixed[..36]).contains("used=3, ...}) = "), "{}", call(&mixed[..36]));
    assert!(call(&mixed[..3]).contains("mixed=&{...}) = "), "{}", call(&mixed[..3]));
    assert_eq!(
        line("cuFixtureKinds", &[9, 0, 0, 0x4000, 0x100, 0], &[], 0, &[]),
        "cuFixtureKinds(kind=9, flag=false, cookie=NULL, callback=0x4000, list=0x100, mixed=NULL) = CUDA_SUCCESS <1us>"
    );
}

#[test]
fn texts_in_buffers_and_without_an_end() {
    let name = |n: u64, bytes: &[u8]| line("cuDeviceGetName", &[0x10, n, 0], &[], 0, &[(0x10, bytes)]);
    assert!(name(100, b"GPU \"1\"\0garbage").starts_with(r#"cuDeviceGetName(name="GPU \"1\"", len=100, dev=0)"#));
    assert!(name(4, b"GPU1").contains("name=\"GPU1\", "));
    assert!(name(100, b"GPU1").contains("name=\"GPU1\"..., "));
    assert!(name(u64::MAX, b"GPU1").contains("name=\"GPU1\"..., len=-1"), "{}", name(u64::MAX, b"GPU1"));
    assert!(name(4000, &[b'x'; 1000]).contains(&format!("{}\"..., ", "x".repeat(256))));
}

#[test]
fn arrays_whose_length_is_known_after_the_call() {
    let streams = words(&[0x500, 0x600, 0x500]);
    let nodes = |before: u64, after: u64| {
        let (before, after) = (words(&[before]), words(&[after]));
        line("cuGraphGetNodes", &[7, 0x10, 0x20], &[(0x20, &before)], 0, &[(0x10, &streams), (0x20, &after)])
    };
    assert!(nodes(3, 3).contains("nodes=[stream#1, stream#2, stream#1], numNodes=&3)"), "{}", nodes(3, 3));
    assert!(nodes(3, 2).contains("nodes=[stream#1, stream#2], numNodes=&3 -> 2)"), "{}", nodes(3, 2));
    let absurd = nodes(u64::MAX, u64::MAX);
    assert!(absurd.contains("stream#1, ... 18446744073709551615 in all], "), "{absurd}");
    assert!(nodes(3, 0).contains("nodes=[], numNodes=&3 -> 0)"), "{}", nodes(3, 0));
}

#[test]
fn values_by_tag() {
    let get = |tag: u64, bytes: &[u8]| line("cuPointerGetAttribute", &[0x10, tag, 0], &[], 0, &[(0x10, bytes)]);
    assert!(get(2, &(-7i32).to_le_bytes()).contains("(data=&-7, attribute=PRIORITY, ptr=NULL)"));
    assert!(get(3, b"text\0").contains("(data=\"text\", attribute=NAME"));
    assert!(get(1, &[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]).contains("data=&{x=1, y=2, z=3}, attribute=CLUSTER"));
    assert!(get(99, &[1, 0, 0, 0]).contains("(data=0x10, attribute=99"));

    let tags: Vec<u8> = [2u32, 3, 8].iter().flat_map(|n| n.to_le_bytes()).collect();
    let after: &[(u64, &[u8])] = &[(0x10, &words(&[0x100, 0x200, 0x300])), (0x100, &[4, 0, 0, 0]), (0x200, b"x\0")];
    let many = line("cuPointerGetAttributes", &[3, 0x20, 0x10, 0], &[(0x20, &tags)], 0, after);
    assert!(many.contains("attributes=[PRIORITY, NAME, 8], data=[&4, \"x\", 0x300], ptr"), "{many}");

    let keys: Vec<u8> = [0u32, 1, 5, 9].iter().flat_map(|n| n.to_le_bytes()).collect();
    let values = words(&[32, u64::from(1.5f32.to_bits()), 0x700, 4]);
    let before: &[(u64, &[u8])] = &[(0x20, &keys), (0x30, &values), (0x700, b"log\0")];
    let options = line("cuModuleLoadDataEx", &[0x9, 4, 0x20, 0x30], before, 0, &[]);
    assert!(options.contains("optionValues=[32, 1.5, \"log\", 0x4])"), "{options}");
}

#[test]
fn configurations_of_launches_by_version() {
    let mut config = words(&[0x2_0000_0001]);
    config.extend(3u32.to_le_bytes());
    config.extend(words(&[0x900]));
    config.extend(3u32.to_le_bytes());
    config.extend(words(&[5]));
    let mut attributes = words(&[1, 0x2_0000_0002, 2]);
    attributes.extend(words(&[2, 9, 0]));
    attributes.extend(words(&[77, 9, 8]));
    let before: &[(u64, &[u8])] = &[(0x100, &config), (0x900, &attributes)];
    let new = line("cuLaunchKernelEx", &[0x100, 0x1, 0], before, 0, &[]);
    let attrs = "attrs=[{id=CLUSTER, cluster={x=2, y=2, z=2}}, {id=PRIORITY, priority=9}, \
                 {id=77, union={0x9, 0x8}}], numAttrs=3";
    let grid = "cuLaunchKernelEx(config=&{gridDim={x=1, y=2, z=3}, ";
    assert!(new.starts_with(&format!("{grid}{attrs}, priority=5}}, f=function#1")), "{new}");
}

#[test]
fn kernels_parameters_go_up_to_the_runtime() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&[]);
    process.runtime(2, "saxpy", 12090, 10, &[]);
    process.slot(0, 1, (6, 0, 5), "cuLaunchKernel");
    process.slot(1, 1, (2, 0, 0), "cuMemAlloc_v2");
    process.runtime_slot(10, 2, 8, "cudaLaunchKernel");
    process.runtime_slot(11, 2, 2, "cudaMalloc");
    process.kernel_parameters(0xf00, &[(0, 4), (4, 4), (8, 8), (16, 8)]);
    process.name(names::kind::KERNEL_NAME, 7, 0, 0, "_Z5saxpyifPKfPf", "");
    let mut thread = process.thread(100, 8);
    thread.enter(11, &[0x7ffc, 2 << 20]);
    thread.call_with(1, &[0x7ffc, 2 << 20], &[], 0, &[(0x7ffc, &words(&[0x7f00_0000]))]);
    thread.exit_with(0, &[(0x7ffc, &words(&[0x7f00_0000]))]);
    let grid = [0x40_0000, 16 | 1 << 32, 1 | 256 << 32, 1 | 1 << 32, 0x7ffd, 0, 0, 0];
    thread.enter(10, &grid);
    thread.note(record::note::KERNEL, 7);
    let mut packed = words(&[4096 | u64::from(2f32.to_bits()) << 32]);
    packed.extend(words(&[0x7f00_0000, 0x7f00_4000]));
    let launch = [0xf00, 16, 1, 1, 256, 1, 1, 0, 0, 0x7ffd, 0];
    thread.call_with(0, &launch, &[(0x7ffd, &packed)], 0, &[]);
    thread.exit(0);
    // Its line is written before the launch is known; two layers of runtime.
    thread.enter(10, &grid);
    thread.enter(10, &grid);
    thread.call_with(1, &[0x7ffc, 0], &[], 1, &[]);
    thread.call_with(0, &launch, &[(0x7ffd, &packed)], 0, &[]);
    thread.exit(0);
    thread.exit(0);
    // In a buffer, with its gaps.
    let extra = words(&[1, 0x8000, 2, 0x8100, 0]);
    let before: &[(u64, &[u8])] = &[(0x7ffe, &extra), (0x8100, &words(&[24])), (0x8000, &packed)];
    thread.call_with(0, &[0xf00, 1, 1, 1, 1, 1, 1, 0, 1, 0, 0x7ffe], before, 0, &[]);
    let kernel = "kernel=saxpy(int, float, float const*, float*)";
    let list = "{4096, 2.0, 0x7f000000 [device, 2 MiB], 0x7f004000 [device, 2 MiB, +16 KiB]}";
    let plain = "{4096, 1073741824, 0x7f000000 [device, 2 MiB], 0x7f004000 [device, 2 MiB, +16 KiB]}";
    let opening = "[saxpy, runtime 12.9] cudaLaunchKernel(func=0x400000, gridDim={x=16, y=1, z=1}, \
                   blockDim={x=256, y=1, z=1}, args=0x7ffd, sharedMem=0, stream=0)";
    let text = decoded(folder.path(), "");
    let expected = format!(
        "[saxpy, runtime 12.9] cudaMalloc(devPtr=0x7ffc, size=2097152) {{\n  \
         cuMemAlloc_v2(dptr=&0x7f000000, bytesize=2097152) = CUDA_SUCCESS <1us>\n\
         }} cudaMalloc(devPtr=&0x7f000000) = cudaSuccess <1us>\n\
         [saxpy, runtime 12.9] cudaLaunchKernel(func=0x400000, gridDim={{x=16, y=1, z=1}}, blockDim={{x=256, y=1, z=1}}, \
         args={list}, sharedMem=0, stream=0) {kernel} {{\n  \
         cuLaunchKernel(f=function#1, gridDimX=16, gridDimY=1, gridDimZ=1, blockDimX=256, blockDimY=1, blockDimZ=1, \
         sharedMemBytes=0, hStream=0, kernelParams={list}, extra=NULL) {kernel} = CUDA_SUCCESS <1us>\n\
         }} cudaLaunchKernel = cudaSuccess <1us>\n\
         {opening} {{\n  {opening} {{\n    \
         cuMemAlloc_v2(dptr=0x7ffc, bytesize=0) = CUDA_ERROR_INVALID_VALUE ! <1us>\n    \
         cuLaunchKernel(f=function#1, gridDimX=16, gridDimY=1, gridDimZ=1, blockDimX=256, blockDimY=1, blockDimZ=1, \
         sharedMemBytes=0, hStream=0, kernelParams={plain}, extra=NULL) = CUDA_SUCCESS <1us>\n  \
         }} cudaLaunchKernel(args={plain}) = cudaSuccess <2us>\n\
         }} cudaLaunchKernel(args={plain}) = cudaSuccess <2us>\n\
         cuLaunchKernel(f=function#1, gridDimX=1, gridDimY=1, gridDimZ=1, blockDimX=1, blockDimY=1, blockDimZ=1, \
         sharedMemBytes=0, hStream=CU_STREAM_LEGACY, kernelParams=NULL, extra={plain}) = CUDA_SUCCESS <1us>\n"
    );
    assert!(text.starts_with(&expected), "{text}\nis not\n{expected}");
}

#[test]
fn kernels_in_graphs() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&[]);
    process.runtime(2, "graph", 12090, 10, &[]);
    process.slot(0, 1, (1, 0, 0), "cuGraphAddKernelNode");
    process.runtime_slot(10, 2, 1, "cudaGraphAddKernelNode");
    process.kernel_parameters(0xf00, &[(0, 4), (8, 24)]);
    process.name(names::kind::KERNEL_HANDLE, 0xf00, 0, 0, "_Z3runi3Box", "");
    let mut thread = process.thread(100, 8);
    let mut packed = vec![0xff; 4];
    packed.extend(words(&[1, u64::MAX, 0]));
    thread.enter_with(10, &[0x100], &[(0x100, &words(&[0x40_0000, 0x7ffd, 0]))]);
    let node = words(&[0xf00, 0x7ffd, 0]);
    thread.call_with(0, &[0x200], &[(0x200, &node), (0x7ffd, &packed)], 0, &[]);
    thread.exit(0);
    let text = decoded(folder.path(), "");
    let list = "{-1, {1, 0xffffffffffffffff, 0}}";
    let lines: Vec<_> = text.lines().take(2).collect();
    assert_eq!(
        lines,
        [
            &format!(
                "[graph, runtime 12.9] cudaGraphAddKernelNode(pNodeParams=&{{func=function#1, kernelParams={list}, extra=NULL}}) {{"
            ),
            &format!(
                "  cuGraphAddKernelNode(nodeParams=&{{func=function#2, kernelParams={list}, extra=NULL}}) = CUDA_SUCCESS <1us>"
            ),
        ]
    );
    let call = decoded_json(folder.path(), "runtime");
    let list =
        &call.iter().find(|l| l["type"] == "call").unwrap()["arguments"][0]["value"]["to"]["fields"]["kernelParams"];
    assert_eq!(
        list,
        &json!({"address": "0x7ffd", "to": {"items": [-1, {"items": [1, u64::MAX, 0], "total": 3}], "total": 2}})
    );
}

#[test]
fn values_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&[]);
    for (slot, name) in ["cuMemAlloc_v2", "cuMemcpyHtoD_v2", "cuGraphGetNodes", "cuFixtureKinds"].iter().enumerate() {
        process.slot(slot as u64, 1, (6, 0, 0), name);
    }
    process.library(5, Layer::RUNTIME.number(), "libcudart.so.13", 32, &["cudaGetErrorString"]);
    let mut thread = process.thread(100, 8);
    thread.call_with(0, &[0x10, 4096, 0, 0, 0, 0], &[], 0, &[(0x10, &words(&[0x7f00]))]);
    thread.call_with(1, &[0x7f10, 0x5555_555e_0000, 16, 0, 0, 0], &[], 1, &[]);
    let after: &[(u64, &[u8])] = &[(0x20, &words(&[1])), (0x10, &words(&[0x500]))];
    thread.call_with(2, &[7, 0x10, 0x20, 0, 0, 0], &[(0x20, &words(&[3]))], 0, after);
    thread.call_with(3, &[1, 1, 9, 0, 0x100, 0x200], &[(0x100, &[1, 0, 0, 0]), (0x200, &[b'x'; 17])], 0, &[]);
    thread.call_with(32, &[2], &[], 0x7f00_1234_5678, &[(0x7f00_1234_5678, b"out of memory\0")]);
    let lines = decoded_json(folder.path(), "");
    let calls: Vec<_> = lines.iter().filter(|l| l["type"] == "call").collect();
    assert_eq!((&calls[0]["args"][1], &calls[0]["result"]), (&json!("0x1000"), &json!(0)));
    assert_eq!(
        (&calls[0]["result_name"], &calls[1]["result_name"]),
        (&json!("CUDA_SUCCESS"), &json!("CUDA_ERROR_INVALID_VALUE"))
    );
    assert_eq!(
        calls[0]["arguments"],
        json!([
            {"name": "dptr", "type": "CUdeviceptr*", "value": {"address": "0x10", "to": {"address": "0x7f00"}}},
            {"name": "bytesize", "type": "uint64", "value": 4096},
        ])
    );
    let place = json!({"address": "0x7f10", "memory": "device", "offset": 16, "bytes": 16, "size": 4096});
    assert_eq!(calls[1]["arguments"][0]["value"], place);
    assert_eq!(calls[1]["arguments"][1]["value"], json!({"address": "0x5555555e0000", "memory": "host"}));
    let nodes = &calls[2]["arguments"];
    let stream = json!({"handle": "stream#1", "kind": "stream", "address": "0x500"});
    assert_eq!(nodes[1]["value"], json!({"address": "0x10", "to": {"items": [stream], "total": 1}}));
    assert_eq!((&nodes[2]["value"]["to"], &nodes[2]["before"]["to"]), (&json!(1), &json!(3)));
    let kinds = &calls[3]["arguments"];
    assert_eq!(kinds[0], json!({"name": "kind", "type": "copyKind", "value": {"enum": "HostToDevice", "number": 1}}));
    assert_eq!(
        kinds[5]["value"]["to"],
        json!({"struct": "mixed", "fields": {"name": "xxxxxxxxxxxxxxxx"}, "cut": true})
    );
    assert_eq!((&calls[4]["result"], &calls[4]["returned"]["to"]), (&json!("0x7f0012345678"), &json!("out of memory")));
}

#[test]
fn words_of_libraries_vectors_and_versions() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.library(3, Layer::LIBRARY.number(), "libcublas-0123abcd.so.12", 20, &[]);
    process.slot(20, 3, (3, 2, 0), "cublasFixtureMixed");
    process.slot(21, 3, (4, 0, 0), "cublasFixtureScale");
    process.slot(22, 3, (3, 0, 0), "cublasFixtureTexts");
    process.slot(23, 3, (0, 0, 0), "cublasGetVersion");
    process.slot(24, 3, (6, 0, 0), "cublasNobodyKnows");
    process.runtime(4, "prog", 11080, 30, &[]);
    process.runtime(5, "other", 13000, 30, &[]);
    process.runtime_slot(30, 4, 2, "cudaMemAdvise");
    process.runtime_slot(31, 5, 3, "cudaMemAdvise");
    process.library(6, Layer::RUNTIME.number(), "libcudart.so.13", 32, &[]);
    process.slot(32, 6, (1, 0, 0), "cudaGetErrorString");
    let mut thread = process.thread(100, 8);
    let (single, double) = (u64::from(0.5f32.to_bits()), 1e300f64.to_bits());
    thread.call_with(20, &[0xc0, 1 | 2 << 32, 3, single, double], &[], 0, &[]);
    thread.call_with(21, &[0xc0, 0x10, 2, 0x20], &[(0x10, &[9, 0, 0, 0]), (0x20, &2f32.to_le_bytes())], 0, &[]);
    let pointers = words(&[0x100, 0, 0x300]);
    thread.call_with(22, &[3, 0x10, 0x20], &[(0x10, &pointers), (0x100, b"-O3\0"), (0x20, &[0; 8])], 0, &[]);
    thread.call_with(23, &[], &[], 120_603, &[]);
    thread.call_with(24, &[1, 2, 3, 4, 5, 6], &[], 0, &[]);
    thread.call_with(30, &[4, 5], &[], 0, &[]);
    thread.call_with(31, &[4, 1 | 2 << 32, 3], &[], 0, &[]);
    thread.call_with(32, &[2], &[], 0x7777, &[(0x7777, b"out of memory\0")]);
    thread.call_with(32, &[2], &[], 0x7777, &[]);
    let text = decoded(folder.path(), "");
    let lines: Vec<_> = text.lines().map(|l| l.strip_suffix(" <1us>").unwrap_or(l)).take(9).collect();
    let tag = "[libcublas-0123abcd.so.12]";
    assert_eq!(
        lines,
        [
            &format!(
                "{tag} cublasFixtureMixed(handle=context#1 [not seen created], single=0.5, double=1e300, grid={{x=1, y=2, z=3}}) = CUDA_SUCCESS"
            ),
            &format!(
                "{tag} cublasFixtureScale(handle=context#1 [not seen created], alpha=&9, type=PRIORITY, beta=&2.0) = CUDA_SUCCESS"
            ),
            &format!(
                "{tag} cublasFixtureTexts(n=3, texts=[\"-O3\", NULL, 0x300], matrix=[0.0, 0.0, ... 9 in all]) = CUDA_SUCCESS"
            ),
            &format!("{tag} cublasGetVersion() = 120603"),
            &format!("{tag} cublasNobodyKnows(1, 2, 3, 4, 5, 6, ...) = 0"),
            "[prog, runtime 11.8] cudaMemAdvise(count=4, device=5) = cudaSuccess",
            "[other, runtime 13.0] cudaMemAdvise(count=4, location={x=1, y=2, z=3}) = cudaSuccess",
            "[libcudart.so.13] cudaGetErrorString(error=cudaErrorMemoryAllocation) = \"out of memory\"",
            "[libcudart.so.13] cudaGetErrorString(error=cudaErrorMemoryAllocation) = 0x7777",
        ]
    );
}
