//! The simulated NVML (`crates/sim/nvml`): it lists the GPUs of the simulated driver, and answers wrong uses as an
//! H200 does.

mod common;

use common::{large, on_sim, program, root, scratch, sim, succeed};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn the_same_gpus_as_the_driver() {
    let output = succeed(on_sim(&program("nvml", "plain", &[])).env("CUTAP_SIM_DEVICES", "2"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "all is well\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "cutap-sim: 0 calls answered by default\n");
}

/// The exports are the names of the registry, each at a different address.
#[test]
fn exports() {
    let nm = succeed(Command::new("nm").args(["-D", "--defined-only"]).arg(sim().join("libnvidia-ml.so.1")));
    let nm = String::from_utf8_lossy(&nm.stdout);
    let (mut names, mut addresses) = (BTreeSet::new(), BTreeSet::new());
    for line in nm.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [address, "T", name] = words[..] else { panic!("{line}") };
        assert!(addresses.insert(address.to_owned()), "{name} shares its address");
        names.insert(name.to_owned());
    }
    let family = cutap_calls::generated::known::TABLES.families.iter().find(|f| f.name == "nvml").expect("nvml");
    let known: BTreeSet<String> = family.functions.iter().map(|f| f.name.to_owned()).collect();
    assert_eq!(names, known);
    assert!(names.len() > 400);
}

fn python(script: &str) -> Command {
    let mut command = on_sim(Path::new("python3"));
    command.arg(root().join(script)).env("CUTAP_NVML", sim().join("libnvidia-ml.so.1"));
    command
}

#[test]
fn wrong_uses() {
    let real =
        std::fs::read_to_string(root().join("tests/gpu/nvml_wrong_uses.h200.txt")).expect("the answers of an H200");
    let output = succeed(python("tests/gpu/record_nvml.py").arg("wrong"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), real);
    assert!(real.lines().count() > 45);
}

/// nvidia-ml-py, the bindings for Python.
#[test]
fn nvidia_ml_py() {
    if !large("nvidia-ml-py") {
        return;
    }
    let folder = scratch().join("nvidia-ml-py");
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target"]).arg(&folder);
    if !pip.arg("nvidia-ml-py==13.580.82").status().is_ok_and(|s| s.success()) {
        println!("skipped nvidia-ml-py: it is not there, and PyPI cannot be reached");
        return;
    }
    let mut script = on_sim(&PathBuf::from("python3"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nvml.py");
    let output = succeed(script.arg(source).env("PYTHONPATH", folder).env("CUTAP_SIM_DEVICES", "3"));
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("3 GPUs, all is well\n"), "{output:?}");
}
