//! One clear sentence for each way in which a request fails, and cubins of every kind of damage.

use crate::model::Model;
use crate::work::CUBIN;
use cutap_cudest::{Error, Gpu, Shape, Survey, contents};
use proptest::prelude::*;
use std::sync::Arc;

const CUBIN_13: &[u8] = include_bytes!("../cubins/kernels-13.0-sm_90.cubin");
const LZ4: &[u8] = include_bytes!("../cubins/small-lz4.fatbin");
const ZSTD: &[u8] = include_bytes!("../cubins/small-zstd.fatbin");
const PTXAS_12: &[u8] = include_bytes!("../cubins/small-ptxas-12.9-sm_90.cubin");
const PTXAS_13: &[u8] = include_bytes!("../cubins/small-ptxas-13.0-sm_90.cubin");
const TEXTURES: &[u8] = include_bytes!("../cubins/textures-ptxas-12.9-sm_90.cubin");
const PTX: &[u8] = include_bytes!("../cubins/small.ptx");
const CUBIN_11: &[u8] = include_bytes!("../cubins/kernels-11.8-sm_90.cubin");

fn refused(model: Model) -> String {
    Gpu::with_kernel(Arc::new(model), 0).context().map(drop).unwrap_err().to_string()
}

#[test]
fn no_driver_no_permission_no_support() {
    let missing = refused(Model { refuse_open: Some(libc::ENOENT), ..Model::hopper() });
    assert!(missing.starts_with("no NVIDIA kernel driver: /dev/nvidiactl is missing;"), "{missing}");
    let denied = refused(Model { refuse_open: Some(libc::EACCES), ..Model::hopper() });
    assert!(denied.starts_with("no permission for /dev/nvidiactl:"), "{denied}");
    let idle = refused(Model { refuse_open: Some(libc::ENXIO), ..Model::hopper() });
    assert!(idle.starts_with("no NVIDIA kernel driver: /dev/nvidiactl exists, but no driver serves it;"), "{idle}");
    let other = refused(Model { classes: vec![0xc3c0], ..Model::hopper() });
    assert_eq!(other, "Model has no compute class that cutap can drive (its classes: 0xc3c0); sm_90 is supported");
    let ada = refused(Model { classes: vec![0xc9c0], ..Model::hopper() });
    assert_eq!(ada, "Model is Ada, sm_89: cutap has encoders for it that have never run; sm_90 is supported");
    let version = refused(Model { version: "devel".to_owned(), ..Model::hopper() });
    assert!(version.contains("version \"devel\" is not understood"), "{version}");
    let absent = Gpu::with_kernel(Arc::new(Model::hopper()), 7).context().map(drop).unwrap_err();
    assert_eq!(absent.to_string(), "the kernel driver lists no GPU 7; it lists 1");
}

#[test]
fn no_memory() {
    let model = Model { refuse_class: Some((0x40, 0x51)), ..Model::hopper() };
    let context = Gpu::with_kernel(Arc::new(model), 0).context().unwrap();
    let error = context.video(1000).unwrap_err().to_string();
    assert_eq!(error, "no memory for 2097152 bytes of video memory: free some, or ask for less");
    let model = Model { refuse_class: Some((0x90f1, 0x1b)), ..Model::hopper() };
    let error = refused(model);
    let refused = "the kernel driver refused an address space: NV_ERR_INSUFFICIENT_PERMISSIONS (0x1b)";
    assert_eq!(error, format!("no address space for the GPU: mode A: {refused}; mode B: {refused}"));
}

#[test]
fn a_newer_driver_is_named() {
    let model = Model { version: "999.10".to_owned(), ..Model::hopper() };
    let survey = Survey::with_kernel(&(Arc::new(model) as _)).unwrap();
    let (card, facts) = &survey.gpus[0];
    assert_eq!((card.id, facts.as_ref().unwrap().name.as_str(), facts.as_ref().unwrap().sms()), (6, "Model", 12));
    let missing = survey.missing.join("\n");
    assert!(missing.starts_with("no exact tables for driver 999.10: those of 595."), "{missing}");
}

#[test]
fn wrong_modules_and_launches() {
    let (model, _running) = Model::hopper().start();
    let context = Gpu::with_kernel(model, 0).context().unwrap();
    let load = |bytes: &[u8]| context.load(bytes).map(drop).unwrap_err().to_string();
    assert!(load(b"//ptx").starts_with("the module is not an ELF file, a fat binary or PTX:"));
    let own = std::fs::read("/proc/self/exe").unwrap();
    assert_eq!(load(&own), "the module is an ELF file for machine 62, not a cubin (machine 190)");
    let mut other = CUBIN.to_vec();
    other[48] = 80;
    assert_eq!(load(&other), "the cubin is for sm_80, and the GPU is sm_90: compile with -arch=sm_90");
    let module = context.load(CUBIN).unwrap();
    let error = module.kernel("none").unwrap_err().to_string();
    assert!(error.starts_with("the module has no kernel named \"none\"; it has: globals, indirect, large"), "{error}");
    assert!(module.variable("none").unwrap_err().to_string().contains("has no variable named"));
    assert_eq!(module.missing(), ["vprintf"]);
    let kernel = module.kernel("step").unwrap();
    let stream = context.stream().unwrap();
    // SAFETY: each is refused.
    let launch = |shape, bytes: &[u8]| unsafe { stream.launch(&kernel, &shape, bytes) }.unwrap_err().to_string();
    assert_eq!(launch(Shape::linear(1, 1), &[0; 20]), "kernel step takes 16 bytes of parameters, not 20");
    assert!(launch(Shape::linear(0, 1), &[0; 16]).contains("a grid of (0, 1, 1) blocks"));
    assert!(launch(Shape::linear(1, 1025), &[0; 16]).contains("a block of (1025, 1, 1) threads"));
    let much = Shape { shared: 240_000, ..Shape::linear(1, 1) };
    assert!(launch(much, &[0; 16]).contains("0 + 240000 bytes of shared memory are more than 232448"));
    // SAFETY: it is refused.
    let width = unsafe { stream.fill(0, 0, 3, 1) }.unwrap_err();
    assert!(matches!(width, Error::Range(_)));
}

#[test]
fn fat_binaries() {
    let (model, _running) = Model::hopper().start();
    let context = Gpu::with_kernel(model, 0).context().unwrap();
    for fatbin in [LZ4, ZSTD] {
        let module = context.load(fatbin).unwrap();
        assert_eq!(module.kernel("step").unwrap().entry().parameters_size, 16);
        assert_eq!(module.kernels().count(), 2);
        // The entry for sm_90 is the second. Without it there is the PTX, and without that nothing.
        let mut other = fatbin.to_vec();
        let entry = |other: &[u8], n: usize| {
            let size = |at: usize| {
                64.max(u32::from_le_bytes(other[at + 4..at + 8].try_into().unwrap()) as usize)
                    + u64::from_le_bytes(other[at + 8..at + 16].try_into().unwrap()) as usize
            };
            (0..n).fold(16, |at, _| at + size(at))
        };
        let (own, ptx) = (entry(&other, 1), entry(&other, 3));
        other[own + 28] = 86;
        other[ptx + 28] = 100;
        let error = context.load(&other).map(drop).unwrap_err().to_string();
        let has = "sm_80, sm_86, sm_100, PTX of sm_100";
        assert_eq!(error, format!("the fat binary has code for {has}, and the GPU is sm_90: compile with -arch=sm_90"));
        assert!(matches!(context.load(&fatbin[..2000]).map(drop), Err(Error::BadFatbin(_))));
    }
}

/// Of two entries for one architecture, that for it alone (sm_90a) is taken, wherever it is.
#[test]
fn code_for_one_architecture_alone() {
    let (model, _running) = Model::hopper().start();
    let context = Gpu::with_kernel(model, 0).context().unwrap();
    let mut fatbin = LZ4.to_vec();
    // The first entry, for sm_80, now says sm_90: the last of two is taken.
    fatbin[16 + 28] = 90;
    assert!(context.load(&fatbin).is_ok());
    // With the flag the first one is: its cubin says what it is.
    fatbin[16 + 42] |= 1 << 4;
    let error = context.load(&fatbin).map(drop).unwrap_err().to_string();
    assert!(error.starts_with("the cubin is for sm_80, and the GPU is sm_90"), "{error}");
    // For another architecture alone it is not for this one.
    fatbin[16 + 28] = 80;
    assert!(context.load(&fatbin).is_ok());
}

/// NVIDIA's ptxas is not here: a script takes its place, which gives a known cubin for known arguments.
#[test]
fn ptx_by_a_compiler() {
    let folder = std::env::temp_dir().join(format!("cudest-test-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let cubin = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cubins/kernels-12.9-sm_90.cubin");
    let tool = folder.join("ptxas");
    let refuses = "grep -q refused \"$4\" && { echo \"ptxas $4, line 1; error: no\" >&2; exit 255; }\n";
    let text =
        format!("#!/bin/sh\n[ \"$1\" = -arch=sm_90 ] && [ \"$2\" = -o ] || exit 3\n{refuses}cp {cubin} \"$3\"\n");
    std::fs::write(&tool, text).unwrap();
    std::fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let (model, _running) = Model::hopper().start();
    let context = Gpu::with_kernel(model, 0).context().unwrap();
    // SAFETY: no other test reads this variable.
    unsafe { std::env::set_var("CUTAP_PTXAS", folder.join("none")) };
    let error = context.load(PTX).map(drop).unwrap_err().to_string();
    assert!(
        error.starts_with("the module is PTX, and neither NVIDIA's ptxas nor its library nvJitLink is here"),
        "{error}"
    );
    // SAFETY: as above.
    unsafe { std::env::set_var("CUTAP_PTXAS", &tool) };
    assert!(context.load(PTX).unwrap().kernel("vecadd").is_ok());
    let refused = [PTX, b"// refused"].concat();
    let error = context.load(&refused).map(drop).unwrap_err().to_string();
    assert_eq!(error, format!("{} refused the module's PTX: ptxas PTX, line 1; error: no", tool.display()));
    std::fs::remove_dir_all(&folder).unwrap();
    // SAFETY: as above.
    unsafe { std::env::remove_var("CUTAP_PTXAS") };
    match context.load(PTX) {
        Ok(module) => assert_eq!(module.kernel("step").unwrap().entry().parameters_size, 16),
        Err(Error::NoPtxCompiler) => println!("skipped: PTX by the real ptxas (it is not in PATH)"),
        Err(error) => panic!("{error}"),
    }
}

/// What is known of the kernels does not depend on the toolkit.
#[test]
fn three_toolkits() {
    let (model, _running) = Model::hopper().start();
    let context = Gpu::with_kernel(model, 0).context().unwrap();
    for cubin in [CUBIN_11, CUBIN, CUBIN_13] {
        let module = context.load(cubin).unwrap();
        let entry = |name: &str| module.kernel(name).unwrap().entry().clone();
        let add = entry("vecadd");
        assert_eq!((add.parameters_at, add.parameters_size, add.parameters.len()), (0x210, 28, 4));
        assert!((8..=20).contains(&add.registers), "{add:?}");
        let offsets: Vec<_> = add.parameters.iter().map(|p| (p.offset, p.size)).collect();
        assert_eq!(offsets, [(0, 8), (8, 8), (16, 8), (24, 4)]);
        assert_eq!(entry("revblock").barriers, 1);
        assert!(entry("localarr").stack >= 1024 && entry("matmul").shared >= 2 * 16 * 17 * 4);
        assert_eq!(module.variable("counter").unwrap().1, 4);
        assert_eq!(module.variable("empty").unwrap().1, 4096);
        assert_eq!(module.variable("table").unwrap().1, 256);
    }
}

/// Cubins that `ptxas` made of PTX, and NVRTC of the same source.
#[test]
fn cubins_of_ptxas() {
    for cubin in [PTXAS_12, PTXAS_13, LZ4] {
        let found = contents(cubin).unwrap();
        let names: Vec<_> = found.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
        assert_eq!((found.architecture, names, found.missing.len()), (90, vec!["compressible", "step"], 0));
        let step = &found.kernels[1];
        assert_eq!((step.parameters_at, step.parameters_size, step.stack), (0x210, 16, 0));
        let offsets: Vec<_> = step.parameters.iter().map(|p| (p.offset, p.size)).collect();
        assert_eq!(offsets, [(0, 8), (8, 4), (12, 4)]);
        assert!((6..=20).contains(&step.registers), "{step:?}");
    }
}

#[test]
fn textures_are_named() {
    let (model, _running) = Model::hopper().start();
    let context = Gpu::with_kernel(model, 0).context().unwrap();
    let module = context.load(TEXTURES).unwrap();
    for name in ["reads", "writes"] {
        let error = module.kernel(name).unwrap_err().to_string();
        assert_eq!(error, "a kernel with a texture or surface reference is not supported by cudest");
    }
    for name in ["plain", "bindless"] {
        assert!(!module.kernel(name).unwrap().entry().textures);
    }
}

#[test]
fn truncated_cubins() {
    for cubin in [CUBIN_11, CUBIN, CUBIN_13, PTXAS_12, PTXAS_13] {
        for length in (0..cubin.len()).step_by(97) {
            // The end has program headers, which the loader does not need.
            let is_needed = length + 6 * 56 < cubin.len();
            assert!(contents(&cubin[..length]).is_err() || !is_needed, "{length} bytes");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    /// A fat binary with changed bytes is loaded or refused.
    #[test]
    fn damaged_fat_binaries(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        head: bool,
        zstd: bool,
    ) {
        let mut fatbin = if zstd { ZSTD } else { LZ4 }.to_vec();
        for (at, value) in changes {
            let at = at.index(if head { 100 } else { fatbin.len() });
            fatbin[at] = value;
        }
        let _ = contents(&fatbin);
    }

    /// Changed bytes give contents or an error.
    #[test]
    fn damaged_cubins(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        tail: bool,
        which in 0_usize..6,
    ) {
        let mut cubin = [CUBIN_11, CUBIN, CUBIN_13, PTXAS_12, PTXAS_13, TEXTURES][which].to_vec();
        // Half of the cases change the section headers, which are at the end.
        let from = if tail { cubin.len().saturating_sub(78 * 64) } else { 0 };
        for (at, value) in changes {
            let at = from + at.index(cubin.len() - from);
            cubin[at] = value;
        }
        if let Ok(contents) = contents(&cubin) {
            prop_assert!(contents.kernels.iter().all(|kernel| kernel.parameters_at < 1 << 16));
        }
    }
}
