//! Names of environment variables in a file. A name is certain where the code passes it to getenv. libcuda passes most
//! names through wrappers, so names with a known prefix are listed too.

use super::Binary;
use super::sites::find;
use crate::variables::{is_hash, is_hashed, meaning};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Prefixes of variables that NVIDIA's libraries read.
const PREFIXES: [&str; 19] = [
    "CUDA_",
    "__CUDA_",
    "CUDBG_",
    "FORCE_ENABLE_",
    "NVCL_",
    "NV_",
    "NVIDIA_",
    "__NV_",
    "NVLOG_",
    "CUDNN_",
    "CUBLAS_",
    "CUBLASLT_",
    "CUFFT_",
    "CUSPARSE_",
    "CUSOLVER_",
    "NCCL_",
    "NVSHMEM_",
    "NVRTC_",
    "OPTIX_",
];
/// Names with such a prefix that are constants of the interface.
const CONSTANTS: [&str; 2] = ["CUDA_ERROR_", "CUDA_SUCCESS"];

/// A name in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// The name.
    pub name: String,
    /// Call sites of getenv that pass it: address and nearest function.
    pub sites: Vec<(u64, String)>,
}

/// The variables of a file, by name.
#[must_use]
pub fn variables(binary: &Binary) -> Vec<Variable> {
    let mut all: BTreeMap<String, Vec<(u64, String)>> = BTreeMap::new();
    for site in find(binary, 0).into_iter().filter(|site| site.function.ends_with("getenv")) {
        if let Some(name) = site.argument {
            all.entry(name).or_default().push((site.address, site.nearest.unwrap_or_default()));
        }
    }
    for (_, bytes) in &binary.data {
        for text in bytes.split(|b| *b == 0).filter(|text| (4..=128).contains(&text.len())) {
            if let Some(name) = std::str::from_utf8(text).ok().filter(|name| is_name(name)) {
                all.entry(name.to_owned()).or_default();
            }
        }
    }
    all.into_iter().map(|(name, sites)| Variable { name, sites }).collect()
}

fn is_name(text: &str) -> bool {
    let word = text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
        // Some plain names end with a hash too.
        || text.rsplit_once('_').is_some_and(|(head, tail)| {
            head.bytes().all(|b| b.is_ascii_uppercase() || b == b'_') && tail.len() == 8 && is_hash(tail)
        });
    let has_known_prefix = PREFIXES.iter().any(|prefix| text.len() > prefix.len() && text.starts_with(prefix));
    (word || is_hashed(text)) && has_known_prefix && !CONSTANTS.iter().any(|constant| text.starts_with(constant))
}

/// The variables as text.
#[must_use]
pub fn text(file: &str, all: &[Variable]) -> String {
    let file = cutap_printable::printable(file);
    let hashed = all.iter().filter(|v| is_hashed(&v.name)).count();
    let read = all.iter().filter(|v| !v.sites.is_empty()).count();
    let mut out = format!("{file}: {} names, {read} of them passed to getenv, {hashed} hashed\n", all.len());
    let width = all.iter().map(|v| v.name.len()).max().unwrap_or(0).min(56);
    for variable in all {
        let mut line = format!("  {:width$}", cutap_printable::printable(&variable.name));
        if let Some((address, nearest)) = variable.sites.first() {
            let _ = write!(line, "  getenv at {address:#x}");
            if !nearest.is_empty() {
                let _ = write!(line, ", {nearest}");
            }
        }
        if let more @ 2.. = variable.sites.len() {
            let _ = write!(line, " and {} more", more - 1);
        }
        if let Some(meaning) = meaning(&variable.name) {
            let _ = write!(line, "  # {meaning}");
        }
        out += line.trim_end();
        out.push('\n');
    }
    out
}

/// The variables as JSON, one object a line.
#[must_use]
pub fn json(file: &str, all: &[Variable]) -> String {
    let mut out = String::new();
    for variable in all {
        let sites: Vec<_> = variable
            .sites
            .iter()
            .map(|(a, n)| serde_json::json!({"address": format!("{a:#x}"), "nearest": n}))
            .collect();
        let object = serde_json::json!({
            "file": file, "name": variable.name, "hashed": is_hashed(&variable.name),
            "meaning": meaning(&variable.name), "getenv": sites,
        });
        out += &(cutap_printable::json(&object.to_string()).into_owned() + "\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for name in [
            "CUDA_CACHE_PATH",
            "CUDA_03b69110",
            "__CUDA_X",
            "CUDA_MPS_SERVER_INIT_DELAY_9c7ba3f4",
            "NV_A1",
            "CUDA_30a705585",
        ] {
            assert!(is_name(name), "{name}");
        }
        for name in ["CUDA_", "CUDA_ERROR_X", "CUDA_SUCCESS", "CUDA is", "PATH", "CUDA_03b6911", "CUDA_03B69110x"] {
            assert!(!is_name(name), "{name}");
        }
    }
}
