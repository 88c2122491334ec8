//! `cutap api`: what is known of a function, through the real binary.

mod support;

use std::time::{Duration, Instant};
use support::{cutap, err, out};

fn api(args: &[&str]) -> (Option<i32>, String, String) {
    let done = cutap(&["api"]).args(args).output().unwrap();
    (done.status.code(), out(&done), err(&done))
}

#[test]
fn a_function() {
    let (code, said, _) = api(&["cuMemcpyHtoD_v2"]);
    assert_eq!(code, Some(0));
    assert!(said.starts_with("cuMemcpyHtoD_v2 (driver)\n  CUresult cuMemcpyHtoD_v2(CUdeviceptr dstDevice, "), "{said}");
    assert!(said.contains("Copies from host to device."), "{said}");
    assert!(said.contains("also exported: cuMemcpyHtoD"), "{said}");
    assert!(said.contains("memory, ByteCount bytes"), "{said}");
}

#[test]
fn a_function_that_changed_has_all_its_forms() {
    let (_, said, _) = api(&["cudaMemAdvise"]);
    assert!(said.contains("CUDA: to 12.9") && said.contains("CUDA: since 13.0"), "{said}");
}

#[test]
fn the_name_that_programs_write() {
    let (_, said, _) = api(&["cuMemAlloc"]);
    let heads: Vec<&str> = said.lines().filter(|l| !l.is_empty() && !l.starts_with(' ')).collect();
    assert_eq!(heads, ["cuMemAlloc (driver)", "cuMemAlloc_v2 (driver)"]);
    assert!(said.contains("CUDA: since 3.2"), "{said}");
}

/// What the header makes of a name is not the export of that name.
#[test]
fn the_export_that_a_header_makes_of_a_name() {
    let (_, said, _) = api(&["cuMemAlloc"]);
    assert!(said.contains("  a program that writes cuMemAlloc calls cuMemAlloc_v2\n"), "{said}");
    assert!(said.contains("  what headers make of cuMemAlloc\n"), "{said}");
    let (_, said, _) = api(&["cuCtxCreate_v2"]);
    assert!(said.contains("  what headers make of cuCtxCreate, up to CUDA 12.9\n"), "{said}");
    let (_, said, _) = api(&["--json", "cuCtxCreate_v4"]);
    let object: serde_json::Value = serde_json::from_str(said.trim()).unwrap();
    assert_eq!(object["headers"][0]["since"], "13.0", "{said}");
}

#[test]
fn one_value_is_no_values() {
    let (_, said, _) = api(&["cuDeviceGetAttribute"]);
    assert!(said.contains(" 1 value whose type attrib tells"), "{said}");
    let (_, said, _) = api(&["cuLinkCreate_v2"]);
    assert!(said.contains(" numOptions values of the options options"), "{said}");
}

#[test]
fn patterns() {
    let (code, said, _) = api(&["cuMemAlloc*", "cudaMemPool*"]);
    assert_eq!(code, Some(0));
    assert!(said.lines().any(|l| l.starts_with("cuMemAllocPitch_v2 ") && l.ends_with("each aligned.")), "{said}");
    assert!(said.lines().any(|l| l.starts_with("cudaMemPoolTrimTo ")), "{said}");
    let (code, _, why) = api(&["cuNoSuch*"]);
    assert_eq!((code, why.contains("no function that matches cuNoSuch*")), (Some(125), true), "{why}");
}

/// Of driver and runtime something is said of every function, and never a page.
#[test]
fn each_function_has_a_sentence() {
    for pattern in ["cu*", "__cuda*"] {
        let (_, said, _) = api(&["--json", pattern]);
        let mut looked_at = 0;
        for line in said.lines() {
            let object: serde_json::Value = serde_json::from_str(line).unwrap();
            if !["driver", "runtime"].contains(&object["family"].as_str().unwrap()) {
                continue;
            }
            let about = object["about"].as_str().unwrap_or_default();
            assert!(about.ends_with('.') && about.len() < 120 && !about.starts_with("Takes handles"), "{line}");
            looked_at += 1;
        }
        assert!(looked_at > if pattern == "cu*" { 900 } else { 9 }, "{pattern}: {looked_at}");
    }
}

#[test]
fn an_export_without_a_header() {
    let (code, said, _) = api(&["cuEGLApiInit"]);
    assert_eq!((code, said.contains("no public header")), (Some(0), true), "{said}");
}

/// A scalar by value is on neither side, whatever a handle says.
#[test]
fn scalars_by_value_and_by_pointer() {
    // The old function and the new one of its name are both described.
    let (_, said, _) = api(&["cublasSgemm"]);
    assert!(said.contains("float alpha,") && said.contains("const float *alpha,"), "{said}");
    assert_eq!(said.matches("on the host or on a device").count(), 2, "alpha and beta of one: {said}");
    let (code, _, said) = api(&[""]);
    assert_eq!((code, said.contains("an empty name")), (Some(125), true), "{said}");
}

#[test]
fn json() {
    let (_, said, _) = api(&["--json", "cudaMalloc", "cublasSgemm_v2"]);
    let lines: Vec<serde_json::Value> = said.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let names: Vec<&str> = lines.iter().map(|l| l["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"cudaMalloc") && names.contains(&"cublasSgemm_v2"), "{names:?}");
    assert_eq!(lines[0]["params"][0]["direction"], "out");
    assert_eq!(lines[0]["params"][0]["type"], "void **");
}

#[test]
fn lists() {
    let (_, driver, _) = api(&["--list", "driver"]);
    let (_, runtime, _) = api(&["--list", "runtime"]);
    let (_, cublas, _) = api(&["--list", "cublas"]);
    let has = |list: &str, name: &str| list.lines().any(|l| l == name);
    assert!(has(&driver, "cuInit") && has(&driver, "cuEGLApiInit") && has(&driver, "cuMemcpyHtoD_v2_ptds"));
    assert!(has(&runtime, "cudaMalloc") && has(&runtime, "__cudaRegisterFatBinary") && !has(&runtime, "cuInit"));
    assert!(has(&cublas, "cublasCreate_v2"));
    assert!(driver.lines().count() > 700 && runtime.lines().count() > 400 && cublas.lines().count() > 500);
    assert!(driver.lines().is_sorted());
}

#[test]
fn every_exported_name_is_listed() {
    for (family, file) in [
        ("driver", include_str!("../../../api/driver/exports.toml")),
        ("runtime", include_str!("../../../api/runtime/exports.toml")),
    ] {
        let (_, list, _) = api(&["--list", family]);
        let listed: std::collections::BTreeSet<&str> = list.lines().collect();
        let names = file.lines().filter_map(|l| l.trim().strip_prefix("{ name = \"")?.split('"').next());
        let missing: Vec<&str> = names.filter(|n| !listed.contains(n)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}

#[test]
fn unknown_names() {
    let (code, said, why) = api(&["cuMemAloc"]);
    assert_eq!((code, said.as_str()), (Some(125), ""));
    assert!(why.contains("did you mean cuMemAlloc"), "{why}");
    let (code, _, why) = api(&["--list", "cubla"]);
    assert_eq!((code, why.contains("one of driver, runtime, ")), (Some(125), true), "{why}");
}

#[test]
fn answers_at_once() {
    let mut best = Duration::MAX;
    for _ in 0..10 {
        let begin = Instant::now();
        api(&["--list", "driver"]);
        best = best.min(begin.elapsed());
    }
    assert!(best < Duration::from_millis(50), "{best:?}");
}

/// Slots of hidden tables as in filters, and one sentence for each wrong one.
#[test]
fn slots_of_hidden_tables() {
    let (code, said, _) = api(&["21318c60[51]"]);
    assert_eq!((code, said.lines().next()), (Some(0), Some("21318c60[51] (hidden)")));
    assert_eq!(api(&["hidden:21318c60[51]"]).1, said);
    assert_eq!(api(&["21318c60[*]"]).1, api(&["21318c60"]).1);
    for (wrong, why) in [
        ("21318c60[93]", "nothing is known of 21318c60[93]: table 21318c60 has at most 93 words in the known drivers"),
        ("00000000[1]", "cutap knows no export table 00000000; cutap api --list hidden lists those that it knows"),
    ] {
        let (code, said, error) = api(&[wrong]);
        assert_eq!((code, said.as_str(), error), (Some(125), "", format!("cutap: {why}\n")));
    }
}

#[test]
fn commands_of_the_kernel_driver() {
    for (word, said) in [
        ("NV_ESC_RM_ALLOC", "NV_ESC_RM_ALLOC: escape 0x2b of the kernel driver"),
        ("0x2080014a", "NV2080_CTRL_CMD_GPU_GET_GID_INFO: RM control 0x2080014a"),
        ("NV2080_CTRL_CMD_GPU_GET_G*", "NV2080_CTRL_CMD_GPU_GET_GID_INFO"),
    ] {
        let (code, text, wrong) = api(&[word]);
        assert_eq!((code, wrong.as_str()), (Some(0), ""), "{word}");
        assert!(text.contains(said), "{word}: {text}");
    }
    let (code, text, _) = api(&["--json", "NV_ESC_RM_FREE", "cuInit"]);
    let kinds: Vec<String> = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!((code, kinds.first().map(String::as_str)), (Some(0), Some("kernel_command")), "{text}");
    for (word, said) in [
        ("hidden", "cutap api --list hidden has its functions"),
        ("cublas", "cutap api --list cublas has its functions"),
        ("submit", "cutap help submit explains it"),
        ("0x20ff0fff", "no command 0x20ff0fff of the kernel driver"),
        ("NV_ESC_NEVER_HEARD_OF", "cutap knows no function NV_ESC_NEVER_HEARD_OF"),
    ] {
        let (code, text, wrong) = api(&[word]);
        assert_eq!((code, text.as_str()), (Some(125), ""), "{word}");
        assert!(wrong.contains(said), "{word}: {wrong}");
    }
}
