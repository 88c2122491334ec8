//! NVIDIA's real runtimes on the simulated driver. One program checks every byte and every result. It is built with
//! each version, shared and static. A version whose wheel cannot be downloaded is skipped with a printed reason.

mod common;

use common::{large, on_sim, program, succeed, wheel};
use std::path::Path;

fn runs(program: &Path, version: u32, driver: u32) {
    let output = succeed(on_sim(program).env("CUTAP_SIM_DRIVER", driver.to_string()));
    let (text, report) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(text.contains(&format!("runtime {version} on driver {driver}\n")), "{text}");
    assert!(text.ends_with("all is well\n"), "{text}");
    assert_eq!(report, "cutap-sim: 0 calls answered by default\n");
}

fn shared(short: &str, version: u32) {
    let Some(wheel) = wheel("cudart", short) else { return };
    let lib = wheel.join("lib");
    let mut files = std::fs::read_dir(&lib).expect("lib").flatten().map(|e| e.path());
    let so = files.find(|p| p.to_string_lossy().contains("libcudart.so.")).expect("a libcudart.so");
    let rpath = format!("-Wl,-rpath,{}", lib.display());
    let program = program("runtime", &format!("shared-{short}"), &[&so.to_string_lossy(), &rpath]);
    runs(&program, version, 13050);
    runs(&program, version, version.max(11040)); // a driver no newer than the runtime
}

fn fixed(what: &str, short: &str, version: u32) {
    let Some(wheel) = wheel(what, short) else { return };
    let archive = wheel.join("lib/libcudart_static.a");
    let program = program("runtime", &format!("static-{short}"), &[&archive.to_string_lossy()]);
    runs(&program, version, 13050);
    succeed(std::process::Command::new("strip").arg(&program));
    runs(&program, version, version);
}

#[test]
fn shared_11_7() {
    shared("11.7", 11070);
}

#[test]
fn shared_11_8() {
    shared("11.8", 11080);
}

#[test]
fn shared_12_0() {
    shared("12.0", 12000);
}

#[test]
fn shared_12_4() {
    shared("12.4", 12040);
}

#[test]
fn shared_12_9() {
    shared("12.9", 12090);
}

#[test]
fn shared_13_0() {
    shared("13.0", 13000);
}

#[test]
fn shared_13_5() {
    shared("13.5", 13050);
}

#[test]
fn static_12_9() {
    fixed("cudart", "12.9", 12090);
}

#[test]
fn static_13_0() {
    fixed("cudart", "13.0", 13000);
}

#[test]
fn static_13_5() {
    fixed("cudart", "13.5", 13050);
}

/// Two devices, each with access to the memory of the other.
#[test]
fn two_devices() {
    let Some(wheel) = wheel("cudart", "12.9") else { return };
    let archive = wheel.join("lib/libcudart_static.a");
    let program = program("two_devices", "12.9", &[&archive.to_string_lossy()]);
    let output = succeed(on_sim(&program).env("CUTAP_SIM_DEVICES", "2"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "all is well\n");
}

#[test]
fn static_11_8() {
    if large("static 11.8") {
        fixed("debian", "11.8", 11080);
    }
}

/// libcufile contains a static runtime: 11.1, which uses dlsym instead of cuGetProcAddress, and a newer one.
fn cufile(short: &str) {
    let Some(wheel) = wheel("cufile", short) else { return };
    let program = program("cufile", short, &[]);
    let folder = common::scratch().join(format!("cufile-log-{short}"));
    std::fs::create_dir_all(&folder).expect("a folder for its log");
    let output = succeed(on_sim(&program).arg(wheel.join("lib/libcufile.so.0")).current_dir(folder));
    let said = String::from_utf8_lossy(&output.stdout); // libcufile itself says a line where libnuma is not installed
    assert!(said.ends_with("open 0 0\nbuffer 0 0, 0 0; close 0 0\n"), "{said}");
}

#[test]
fn static_11_1_in_cufile() {
    cufile("12");
}

#[test]
fn static_12_2_in_cufile() {
    cufile("13");
}

/// A program from nvcc: its registration, compressed code, templates, variables.
#[test]
fn from_nvcc() {
    if !large("programs built by nvcc") {
        return;
    }
    let Some(toolkit) = wheel("nvcc", "13.0") else { return };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/saxpy.cu");
    let lib = toolkit.join("lib").display().to_string();
    let shared = ["-cudart=none", "-Xlinker=-l:libcudart.so.13", &format!("-Xlinker=-rpath={lib}")];
    let codes = ["-arch=sm_90", "-arch=sm_80", "-gencode=arch=compute_90,code=compute_90", "-arch=sm_100"];
    for code in codes {
        for mode in ["none", "speed", "size"] {
            for words in [&[][..], &shared] {
                let program = common::scratch().join("saxpy");
                let mut nvcc = std::process::Command::new(toolkit.join("bin/nvcc"));
                nvcc.arg(code).arg(format!("-compress-mode={mode}")).arg(&source).arg("-o").arg(&program);
                succeed(nvcc.arg(format!("-L{lib}")).args(words));
                let output = succeed(&mut on_sim(&program));
                assert_eq!(String::from_utf8_lossy(&output.stdout), "all is well\n", "{code} {mode} {words:?}");
            }
        }
    }
}
