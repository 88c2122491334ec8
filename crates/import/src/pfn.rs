//! Second opinion on the driver's prototypes: the `PFN_name_vN` typedefs of `cudaTypedefs.h` and its
//! sisters, which NVIDIA makes apart from the declarations.

use crate::canonical::canonical;
use crate::clang::Reading;
use crate::decls::Decls;
use crate::snapshot::Snapshot;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

const HEADERS: [&str; 5] =
    ["cudaTypedefs.h", "cudaGLTypedefs.h", "cudaEGLTypedefs.h", "cudaVDPAUTypedefs.h", "cudaProfilerTypedefs.h"];

/// How many prototypes were compared, and those that differ.
pub(crate) struct Outcome {
    pub(crate) checked: usize,
    pub(crate) wrong: Vec<String>,
}

#[derive(Deserialize)]
struct Exports {
    exports: Vec<Export>,
}

#[derive(Deserialize)]
struct Export {
    name: String,
    base: Option<String>,
    since: Option<u32>,
    form: Option<String>,
}

/// Compares one version's.
pub(crate) fn check(root: &Path, snapshot: &Snapshot) -> Result<Outcome> {
    let path = root.join("api/driver/exports.toml");
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let exports: Exports = toml::from_str(&text).with_context(|| path.display().to_string())?;
    // The plain exports by the words of the typedef's name.
    let mut plain: BTreeMap<(String, u32), String> = BTreeMap::new();
    for export in exports.exports.into_iter().filter(|e| e.form.is_none()) {
        if let (Some(base), Some(since)) = (export.base, export.since) {
            plain.insert((base, since), export.name);
        }
    }
    let has = |h: &&str| snapshot.folders.iter().any(|f| f.join(h).is_file());
    let mut headers: Vec<&str> = vec!["vdpau/vdpau.h"];
    headers.extend(HEADERS.iter().copied().filter(has));
    let defines = vec!["__CUDA_API_VERSION_INTERNAL"];
    let reading = Reading { headers, folders: &snapshot.folders, defines, cxx: false };
    let typedefs = Decls::of(&reading.tree()?);
    let mut outcome = Outcome { checked: 0, wrong: Vec::new() };
    for (name, typedef) in &typedefs.typedefs {
        let Some((base, since)) = name.strip_prefix("PFN_").and_then(|n| n.rsplit_once("_v")) else { continue };
        let Ok(since) = since.trim_end_matches("_ptds").trim_end_matches("_ptsz").parse::<u32>() else { continue };
        let Some(export) = plain.get(&(base.to_owned(), since)) else { continue };
        let Some(function) = snapshot.functions.get(export) else {
            outcome.wrong.push(format!("{name} is {export}, which no header declares"));
            continue;
        };
        outcome.checked += 1;
        let theirs = signature(&typedefs, &typedef.ty);
        let mut ours = vec![canonical(&snapshot.decls, &function.returns)];
        ours.extend(function.params.iter().map(|(_, ty)| canonical(&snapshot.decls, ty)));
        if theirs != ours {
            outcome.wrong.push(format!("{name} ({}) is not {export} ({})", theirs.join(", "), ours.join(", ")));
        }
    }
    Ok(outcome)
}

/// `R (*)(A, B)`: R, A, B, each resolved.
fn signature(decls: &Decls, text: &str) -> Vec<String> {
    let (returns, params) = text.split_once("(*)").unwrap_or((text, ""));
    let params = params.trim().trim_start_matches('(').trim_end_matches(')');
    let mut all = vec![canonical(decls, returns)];
    if params != "void" {
        all.extend(split(params).into_iter().map(|p| canonical(decls, p)));
    }
    all
}

/// At the commas that are not inside parentheses.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut start) = (0, 0);
    let mut parts = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.extend(text.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.extend(text.get(start..));
    parts
}

#[cfg(test)]
mod tests {
    #[test]
    fn commas() {
        assert_eq!(super::split("int, void (*)(int, int), x"), ["int", " void (*)(int, int)", " x"]);
    }
}
