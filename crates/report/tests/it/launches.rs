//! Launches: configurations, parameters of kernels.

use crate::support::calls::{of, word};
use crate::support::fixture::{line, words};
use crate::support::program::{decoded, decoded_later};
use cutap_trace::synthetic::Run;
use cutap_wire::{names, record};

#[test]
fn launch_config_by_version() {
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

/// The call of the runtime shows the parameters that the nested call of the driver has.
#[test]
fn kernel_parameters_in_runtime_call() {
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
    thread.write_note(record::note::KERNEL, 7);
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
    let kernel = "saxpy(int, float, float const*, float*) <<<16, 256>>> stream 0";
    let list = "{4096, 2.0, 0x7f000000 [device, 2 MiB], 0x7f004000 [device, 2 MiB, +16 KiB]}";
    let plain = "{4096, 1073741824, 0x7f000000 [device, 2 MiB], 0x7f004000 [device, 2 MiB, +16 KiB]}";
    let opening = "[saxpy, runtime 12.9] cudaLaunchKernel 0x400000 <<<16, 256>>> stream 0 (args=0x7ffd)";
    let text = decoded(folder.path(), "");
    let expected = format!(
        "[saxpy, runtime 12.9] cudaMalloc(devPtr=0x7ffc, size=2097152) {{\n  \
         cuMemAlloc_v2(dptr=&0x7f000000, bytesize=2097152) = CUDA_SUCCESS <1us>\n\
         }} cudaMalloc(devPtr=&0x7f000000) = cudaSuccess <1us>\n\
         [saxpy, runtime 12.9] cudaLaunchKernel {kernel} (func=0x400000, args={list}) {{\n  \
         cuLaunchKernel {kernel} (f=function#1, kernelParams={list}) = CUDA_SUCCESS <1us>\n\
         }} cudaLaunchKernel = cudaSuccess <1us>\n\
         {opening} {{\n  {opening} {{\n    \
         cuMemAlloc_v2(dptr=0x7ffc, bytesize=0) = CUDA_ERROR_INVALID_VALUE ! <1us>\n    \
         cuLaunchKernel function#1 <<<16, 256>>> stream 0 (kernelParams={plain}) = CUDA_SUCCESS <1us>\n  \
         }} cudaLaunchKernel(args={plain}) = cudaSuccess <2us>\n\
         }} cudaLaunchKernel(args={plain}) = cudaSuccess <2us>\n\
         cuLaunchKernel function#1 <<<1, 1>>> stream CU_STREAM_LEGACY (kernelParams=NULL, extra={plain}) \
         = CUDA_SUCCESS <1us>\n"
    );
    assert!(text.starts_with(&expected), "{text}\nis not\n{expected}");
}

#[test]
fn filter_on_kernel_parameters() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&[]);
    process.runtime(2, "saxpy", 12090, 10, &[]);
    process.slot(0, 1, (6, 0, 5), "cuLaunchKernel");
    process.runtime_slot(10, 2, 8, "cudaLaunchKernel");
    process.kernel_parameters(0xf00, &[(0, 4), (4, 4)]);
    process.name(names::kind::KERNEL_HANDLE, 0xf00, 0, 0, "saxpy", "");
    process.name(names::kind::PTX_ENTRY, 0, 0, 0, ".entry saxpy(.param .u32 n, .param .f32 a)", "");
    let mut thread = process.thread(100, 8);
    for n in [64u64, 4096] {
        thread.enter(10, &[0x40_0000, 16 | 1 << 32, 1 | 256 << 32, 1 | 1 << 32, 0x7ffd, 0, 0, 0]);
        let packed = words(&[n | u64::from(2f32.to_bits()) << 32]);
        thread.call_with(0, &[0xf00, 16, 1, 1, 256, 1, 1, 0, 0, 0x7ffd, 0], &[(0x7ffd, &packed)], 0, &[]);
        thread.exit(0);
    }
    let shown = |filter: &str| -> Vec<String> {
        let text = decoded(folder.path(), filter);
        let parameters = text.lines().filter_map(|l| l.split_once("={n=").map(|(_, l)| l.split_once('}').unwrap().0));
        parameters.map(str::to_owned).collect()
    };
    assert_eq!(shown("driver"), ["64, a=2.0", "4096, a=2.0"]);
    assert_eq!(shown("cuLaunch*[kernelParams.n>100]"), ["4096, a=2.0"]);
    assert_eq!(shown("cuLaunch*[kernelParams.0=64, kernelParams.a=2]"), ["64, a=2.0"]);
    assert_eq!(shown("cuLaunch*[kernelParams.m=64]"), [""; 0]);
    assert_eq!(shown("cudaLaunchKernel[args.n=4096]"), ["4096, a=2.0"]);
    assert_eq!(shown("!cuLaunch*[kernelParams.n=64],driver"), ["4096, a=2.0"]);
}

/// A fact that becomes known during a call is in the lines after it and in no line before, also if lines are written
/// late.
#[test]
fn late_lines_equal() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(folder.path());
    let mut process = run.process(100, "/bin/prog");
    process.driver(&[]);
    process.runtime(2, "saxpy", 12090, 10, &[]);
    process.slot(0, 1, (6, 0, 5), "cuLaunchKernel");
    process.slot(1, 1, (1, 0, 0), "cuCtxSynchronize");
    process.runtime_slot(10, 2, 8, "cudaLaunchKernel");
    process.kernel_parameters(0xf00, &[(0, 4), (4, 4)]);
    process.name(names::kind::KERNEL_HANDLE, 0xf00, 0, 0, "saxpy", "");
    let mut thread = process.thread(100, 8);
    thread.enter(10, &[0x40_0000, 16 | 1 << 32, 1 | 256 << 32, 1 | 1 << 32, 0x7ffd, 0, 0, 0]);
    thread.call(1, &[], 5, 0);
    let packed = words(&[64 | u64::from(2f32.to_bits()) << 32]);
    thread.call_with(0, &[0xf00, 16, 1, 1, 256, 1, 1, 0, 0, 0x7ffd, 0], &[(0x7ffd, &packed)], 0, &[]);
    thread.exit(0);
    let at_once = decoded(folder.path(), "");
    let opening = at_once.lines().find(|l| l.contains("cudaLaunchKernel ")).unwrap();
    assert!(opening.ends_with('{') && opening.contains("args=0x7ffd"), "{at_once}");
    assert_eq!(at_once, decoded_later(folder.path()));
}

/// A parameter that is larger than a record does not hide the parameters after it.
#[test]
fn large_kernel_parameter() {
    let sizes = [(0, 4000), (4000, 8), (4008, 4)];
    let mut kept: Vec<u8> = (1..=32u64).flat_map(word).collect();
    kept.extend(word(0x7000_0000_0000));
    kept.extend(7u32.to_le_bytes());
    let whole = kept[..8].to_vec();
    let lines = of(|c| {
        c.process.kernel_parameters(0x700010, &sizes);
        c.process.kernel_parameters(0x700020, &[(0, 4000)]);
        c.process.kernel_parameters(0x700030, &[(0, 8), (8, 4)]);
        let launch = |f: u64| [f, 1, 1, 1, 1, 1, 1, 0, 0, 0x20, 0];
        c.driver("cuLaunchKernel", &launch(0x700010), &[(0x20, &kept)], &[]);
        // As an older cutap kept it: the beginning, and nothing behind.
        c.driver("cuLaunchKernel", &launch(0x700020), &[(0x20, &whole)], &[]);
        c.driver("cuLaunchKernel", &launch(0x700030), &[(0x20, &kept[256..])], &[]);
    });
    let all: Vec<&str> =
        lines.iter().filter_map(|l| l.split_once("kernelParams=")?.1.split_once(") = ")).map(|l| l.0).collect();
    assert_eq!(
        all,
        [
            "{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, ...+3872 bytes}, 0x700000000000, 7}",
            "{{1, ...+3992 bytes}}",
            "{0x700000000000, 7}",
        ],
        "{lines:#?}"
    );
}
