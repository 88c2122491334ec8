//! Dependencies between the crates of the workspace point one way. Crates in the target and crates outside it depend on
//! shared crates, and no crate depends on a crate in the target. ARCHITECTURE.md has the picture.

use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// A crate, and the crates of the workspace on which it may depend.
const MAY: &[(&str, &[&str])] = &[
    // shared, no_std
    ("cutap-calls", &[]),
    ("cutap-hook", &[]),
    ("cutap-wire", &[]),
    ("cutap-printable", &[]),
    ("cutap-quantity", &[]),
    ("cutap-rm", &[]),
    ("cutap-cubin", &[]),
    ("cutap-tensor-map", &[]),
    ("cutap-cudest", &["cutap-cubin", "cutap-rm", "cutap-tensor-map"]),
    // in the target, no_std
    ("cutap-preload", &["cutap-calls", "cutap-hook", "cutap-wire"]),
    ("cutap-gpu-time", &["cutap-calls", "cutap-wire"]),
    ("cutap-inject", &["cutap-calls", "cutap-hook", "cutap-wire"]),
    ("cutap-limit", &["cutap-hook", "cutap-wire"]),
    ("cutap-machine", &["cutap-quantity"]),
    // the front, the two engines, and the library that joins them: the front leans on no engine
    ("cutap-driver", &["cutap-calls", "cutap-cubin", "cutap-machine", "cutap-tensor-map"]),
    ("cutap-sim", &["cutap-driver", "cutap-machine"]),
    ("cutap-gpu-engine", &["cutap-cudest", "cutap-driver", "cutap-machine"]),
    ("cutap-libcuda", &["cutap-calls", "cutap-driver", "cutap-gpu-engine", "cutap-sim"]),
    ("cutap-nvml", &["cutap-calls", "cutap-machine"]),
    ("cutap-sim-cupti", &["cutap-calls", "cutap-machine"]),
    // outside
    ("cutap-registry", &[]),
    ("cutap-inspect", &["cutap-calls", "cutap-printable"]),
    ("cutap-ptrace", &[]),
    ("cutap-kernel", &["cutap-calls", "cutap-printable", "cutap-ptrace", "cutap-rm"]),
    ("cutap-file", &[]),
    ("cutap-stacks", &["cutap-wire", "cutap-printable"]),
    (
        "cutap-trace",
        &[
            "cutap-calls",
            "cutap-cubin",
            "cutap-wire",
            "cutap-printable",
            "cutap-quantity",
            "cutap-file",
            "cutap-stacks",
        ],
    ),
    ("cutap-report", &["cutap-calls", "cutap-wire", "cutap-printable", "cutap-rm", "cutap-kernel", "cutap-trace"]),
    ("cutap-view", &["cutap-calls", "cutap-wire", "cutap-printable", "cutap-trace", "cutap-report"]),
    ("cutap-top", &["cutap-wire", "cutap-printable", "cutap-trace", "cutap-report"]),
    ("cutap-gpu-clocks", &["cutap-calls", "cutap-wire"]),
    ("cutap-tables", &["cutap-report"]),
    (
        "cutap-collect",
        &[
            "cutap-calls",
            "cutap-hook",
            "cutap-wire",
            "cutap-printable",
            "cutap-quantity",
            "cutap-file",
            "cutap-trace",
            "cutap-report",
            "cutap-inspect",
        ],
    ),
    (
        "cutap",
        &[
            "cutap-calls",
            "cutap-cudest",
            "cutap-wire",
            "cutap-printable",
            "cutap-quantity",
            "cutap-file",
            "cutap-trace",
            "cutap-report",
            "cutap-view",
            "cutap-top",
            "cutap-gpu-clocks",
            "cutap-tables",
            "cutap-collect",
            "cutap-inspect",
            "cutap-kernel",
            "cutap-rm",
        ],
    ),
    // for maintainers
    ("cutap-import", &[]),
    ("xtask", &["cutap-registry", "cutap-import"]),
    ("cutap-kernel-model", &["cutap-kernel", "cutap-rm"]),
    ("cutap-kernel-process", &["cutap-kernel-model", "cutap-rm"]),
    ("cutap-e2e", &["cutap-calls", "cutap-wire", "cutap-trace"]),
];

#[derive(Deserialize)]
struct Workspace {
    workspace: Members,
}

#[derive(Deserialize)]
struct Members {
    members: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Manifest {
    package: Package,
    #[serde(default)]
    dependencies: BTreeMap<String, toml::Value>,
    #[serde(default)]
    build_dependencies: BTreeMap<String, toml::Value>,
    #[serde(default)]
    dev_dependencies: BTreeMap<String, toml::Value>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
}

pub(super) fn check(root: &Path, wrong: &mut Vec<String>) -> Result<()> {
    let workspace: Workspace = read(&root.join("Cargo.toml"))?;
    let mut manifests = Vec::new();
    for member in &workspace.workspace.members {
        manifests.push(read::<Manifest>(&root.join(member).join("Cargo.toml"))?);
    }
    wrong.extend(complaints(&manifests));
    Ok(())
}

fn complaints(manifests: &[Manifest]) -> Vec<String> {
    let ours: Vec<&str> = manifests.iter().map(|m| m.package.name.as_str()).collect();
    let mut wrong = Vec::new();
    for manifest in manifests {
        let name = manifest.package.name.as_str();
        let Some((_, may)) = MAY.iter().find(|(crate_, _)| *crate_ == name) else {
            wrong.push(format!("crate {name} has no row in xtask/src/tidy/layers.rs: say what it may lean on"));
            continue;
        };
        let leans = manifest.dependencies.keys().chain(manifest.build_dependencies.keys());
        for other in leans.chain(manifest.dev_dependencies.keys()).map(String::as_str) {
            if other != name && ours.contains(&other) && !may.contains(&other) {
                wrong.push(format!("crate {name} leans on {other}, which it may not: {}", rule(may)));
            }
        }
    }
    wrong
}

fn rule(may: &[&str]) -> String {
    match may {
        [] => "on none of ours".to_owned(),
        _ => format!("only on {}", may.join(", ")),
    }
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    toml::from_str(&text).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wrong_way_round_is_found() {
        let manifest = |name: &str, on: &str| -> Manifest {
            toml::from_str(&format!("[package]\nname = \"{name}\"\n[dependencies]\n{on}.workspace = true\n")).unwrap()
        };
        let good = [manifest("cutap-preload", "cutap-wire"), manifest("cutap-wire", "rustix")];
        assert_eq!(complaints(&good), Vec::<String>::new());
        let bad = [manifest("cutap-preload", "cutap-wire"), manifest("cutap-wire", "cutap-preload")];
        let expected = "crate cutap-wire leans on cutap-preload, which it may not: on none of ours";
        assert_eq!(complaints(&bad), [expected]);
        assert_eq!(complaints(&[manifest("cutap-new", "anyhow")]).len(), 1);
    }

    #[test]
    fn the_table_has_no_circle() {
        for (n, (name, may)) in MAY.iter().enumerate() {
            for other in *may {
                let at = MAY.iter().position(|(crate_, _)| crate_ == other);
                assert!(at.is_some_and(|at| at < n), "{name} on {other}");
            }
        }
    }
}
