//! Arguments by name and value, with the small tables of `cutap_trace::synthetic`.

use crate::support::calls::{of_version, word};
use crate::support::fixture::{line, words};
use crate::support::library::bytes;
use crate::support::program::{compact, decoded, decoded_json};
use cutap_calls::Layer;
use cutap_trace::synthetic::Run;
use expect_test::expect_file;

#[test]
fn outputs_scalars_results() {
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
fn enums_lists_structs() {
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
fn text_buffers() {
    let name = |n: u64, bytes: &[u8]| line("cuDeviceGetName", &[0x10, n, 0], &[], 0, &[(0x10, bytes)]);
    assert!(name(100, b"GPU \"1\"\0garbage").starts_with(r#"cuDeviceGetName(name="GPU \"1\"", len=100, dev=0)"#));
    assert!(name(4, b"GPU1").contains("name=\"GPU1\", "));
    assert!(name(100, b"GPU1").contains("name=\"GPU1\"..., "));
    assert!(name(u64::MAX, b"GPU1").contains("name=\"GPU1\"..., len=-1"), "{}", name(u64::MAX, b"GPU1"));
    assert!(name(4000, &[b'x'; 1000]).contains(&format!("{}\"..., ", "x".repeat(256))));
}

#[test]
fn array_length_after_call() {
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
fn tagged_union() {
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
fn json_values() {
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
    let mut lines = decoded_json(folder.path(), "");
    lines.retain(|line| line["type"] == "call");
    expect_file!["golden/values.jsonl"].assert_eq(&compact(&lines));
}

#[test]
fn vector_registers_and_versions() {
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

/// A program has the structs of its toolkit. Fields of newer toolkits are not shown, and arrays have the old stride.
#[test]
fn struct_of_older_toolkit() {
    let known: Vec<u8> = bytes(&[word(0), word(0), word(0), word(0xc0)]);
    let mut general = vec![0; 256];
    general[0] = 8; // CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL
    general[16..48].copy_from_slice(&known);
    let text = |version, driver: Option<u32>| {
        let lines = of_version(version, |c| {
            if let Some(driver) = driver {
                c.driver("cuDriverGetVersion", &[0x10], &[], &[(0x10, &driver.to_le_bytes())]);
            }
            c.driver("cuGraphAddNode", &[0x10, 0x96a0, 0, 0, 0x80], &[(0x80, &general)], &[(0x80, &general)]);
        });
        let line = lines.iter().find(|l| l.starts_with("cuGraphAddNode")).cloned().unwrap();
        line.split_once("extSemSignal=").unwrap().1.split('}').next().unwrap().to_owned()
    };
    let (old, new) = ("{extSemArray=NULL, paramsArray=NULL, numExtSems=0", ", ctx=context#1");
    assert_eq!(text(12090, None), old);
    assert_eq!(text(13040, None).replace(" [not seen created]", ""), format!("{old}{new}"));
    // No driver reads what it does not know.
    assert_eq!(text(13040, Some(12090)), old);
    assert_eq!(text(0, Some(12090)), old);
    assert!(text(0, None).starts_with(&format!("{old}{new}")));
}
