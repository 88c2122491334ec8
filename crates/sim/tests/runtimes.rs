//! NVIDIA's real runtimes on the simulated driver: one program that checks every byte and every result, built with
//! each version, shared and static. A version whose wheel cannot be had is skipped with a printed reason.

mod common;

use common::{large, on_sim, program, succeed, wheel};
use std::path::Path;

fn runs(program: &Path, version: u32, driver: u32) {
    let output = succeed(on_sim(program).env("CUTAP_SIM_DRIVER", driver.to_string()));
    let (text, report) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(text.contains(&format!("runtime {version} on driver {driver}\n")), "{text}");
    assert!(text.ends_with("all is well\n"), "{text}");
    // nothing that the program needs is left to the default answer (hidden slots apart)
    let named = report.trim().strip_prefix("cutap-sim: ").and_then(|r| r.split_once(": ")).map_or("", |(_, l)| l);
    assert!(named.split(", ").all(|n| n.is_empty() || n.starts_with("unknown slots")), "{report}");
}

fn shared(short: &str, version: u32) {
    let Some(wheel) = wheel("cudart", short) else { return };
    let lib = wheel.join("lib");
    let so = std::fs::read_dir(&lib).expect("lib").flatten().map(|e| e.path());
    let so = so.filter(|p| p.to_string_lossy().contains("libcudart.so.")).next().expect("a libcudart.so");
    let rpath = format!("-Wl,-rpath,{}", lib.display());
    let program = program("runtime", &format!("shared-{short}"), &[&so.to_string_lossy(), &rpath]);
    runs(&program, version, 13050);
    runs(&program, version, version.max(11040)); // a driver no newer than the runtime
}

fn fixed(short: &str, version: u32) {
    let Some(wheel) = wheel("cudart", short) else { return };
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
    fixed("12.9", 12090);
}

#[test]
fn static_13_0() {
    fixed("13.0", 13000);
}

#[test]
fn static_13_5() {
    fixed("13.5", 13050);
}

/// With two devices, of which either reaches the other's memory.
#[test]
fn two_devices() {
    let Some(wheel) = wheel("cudart", "12.9") else { return };
    let archive = wheel.join("lib/libcudart_static.a");
    let program = program("two_devices", "12.9", &[&archive.to_string_lossy()]);
    let output = succeed(on_sim(&program).env("CUTAP_SIM_DEVICES", "2"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "all is well\n");
}
