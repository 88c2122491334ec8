//! The answer: what was found in the file and what follows. Every field is in the JSON form.

use crate::elf::{Facts, Import};
use crate::scan::Found;
use cutap_calls::Layer;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// How a file reaches CUDA and what of it a trace will see.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The file as it was given.
    pub path: String,
    /// What it is.
    pub kind: Kind,
    /// `x86-64`, `aarch64`, ...
    pub machine: String,
    /// `setuid`, `setgid`, `capabilities`: marks of a program's file by which it gains rights at its start.
    pub rights: Vec<&'static str>,
    /// Its own name, of a library.
    pub soname: Option<String>,
    /// Watched libraries that are loaded with it.
    pub links: Vec<Link>,
    /// Functions of watched libraries that it names to the loader.
    pub functions: Vec<Function>,
    /// Watched libraries that it names in its data, so may open at any time.
    pub opens: Vec<String>,
    /// Versions of the CUDA runtimes inside it; `unknown` where it could not be read.
    pub runtimes: Vec<String>,
    /// Toolkit libraries that were linked into it.
    pub static_toolkits: Vec<String>,
    /// Which route will catch what.
    pub routes: Vec<Route>,
    /// What no route will catch, and why.
    pub not_seen: Vec<String>,
    /// What else matters to a trace.
    pub notes: Vec<String>,
    /// What the loader would know.
    #[serde(skip)]
    pub(crate) facts: Facts,
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A program that the dynamic loader starts.
    Program,
    /// A program without a dynamic loader.
    Static,
    /// A shared library.
    Library,
    /// An object file or something else that is neither run nor loaded.
    Other,
}

/// A watched library that is loaded with the file.
#[derive(Debug, Serialize)]
pub struct Link {
    /// Its SONAME.
    pub library: String,
    /// `driver`, `runtime` or `library`.
    pub layer: &'static str,
}

/// A function that the loader binds.
#[derive(Debug, Serialize)]
pub struct Function {
    pub name: String,
    /// The library, where symbol versions or the names of the linked libraries say so.
    pub library: Option<String>,
    /// The file does without it.
    pub weak: bool,
    /// Words that hold its address: `plt` (bound at the first call or at start), `got`, `data`, `copy`.
    pub words: BTreeMap<&'static str, u32>,
    /// A non-PIE program uses its own PLT entry as the function's address.
    pub address_taken: bool,
}

/// A route and what it will catch.
#[derive(Debug, Serialize)]
pub struct Route {
    /// `bindings`, `dlsym`, `cuGetProcAddress`, `callback table`.
    pub route: &'static str,
    /// What.
    pub catches: String,
}

impl Report {
    /// All of it as one JSON object on one line.
    pub fn json(&self) -> String {
        // Text, numbers and lists: it cannot fail.
        cutap_printable::json(&serde_json::to_string(self).unwrap_or_default()).into_owned()
    }
}

pub(crate) fn layer(soname: &str) -> Option<&'static str> {
    Layer::of_number(cutap_calls::layer_of(soname.as_bytes())).map(Layer::name)
}

pub(crate) fn gather(path: &Path, mut facts: Facts, found: Found) -> Report {
    let links: Vec<Link> = facts
        .needed
        .iter()
        .filter_map(|soname| layer(soname).map(|layer| Link { library: soname.clone(), layer }))
        .collect();
    let imports = std::mem::take(&mut facts.imports);
    let mut functions: Vec<Function> = imports.into_iter().filter_map(|i| function(i, &links)).collect();
    functions.sort_by(|a, b| a.name.cmp(&b.name));
    let opens = found.opens.into_iter().filter(|o| !links.iter().any(|l| l.library == *o)).collect();
    let runtimes = found.runtimes.into_iter().map(|v| if v.is_empty() { "unknown".to_owned() } else { v });
    Report {
        path: path.display().to_string(),
        kind: match (facts.executable, &facts.interpreter) {
            (true, Some(_)) => Kind::Program,
            (true, None) => Kind::Static,
            (false, _) if facts.dynamic => Kind::Library,
            (false, _) => Kind::Other,
        },
        machine: machine(facts.machine, facts.bits),
        rights: facts.rights.clone(),
        soname: facts.soname.clone(),
        links,
        functions,
        opens,
        runtimes: runtimes.collect(),
        static_toolkits: found.toolkits,
        routes: Vec::new(),
        not_seen: Vec::new(),
        notes: Vec::new(),
        facts,
    }
}

fn machine(number: u16, bits: u8) -> String {
    match (number, bits) {
        (62, 64) => "x86-64".to_owned(),
        (62, _) => "x86-64 with 32-bit pointers".to_owned(),
        (3, _) => "x86, 32-bit".to_owned(),
        (183, _) => "aarch64".to_owned(),
        (40, _) => "arm, 32-bit".to_owned(),
        (21, _) => "ppc64".to_owned(),
        (243, _) => "riscv".to_owned(),
        (190, _) => "CUDA kernels (a cubin)".to_owned(),
        _ => format!("ELF machine {number}"),
    }
}

/// Keeps an import if it is CUDA's: by the library that its version names, else by its name.
fn function(import: Import, links: &[Link]) -> Option<Function> {
    let Import { name, weak, library, words, address_taken } = import;
    let ours = match &library {
        Some(soname) => layer(soname).is_some(),
        None => cuda_name(&name),
    };
    let library = library.or_else(|| likely_library(&name, links));
    ours.then_some(Function { name, library, weak, words, address_taken })
}

/// Whether a name without any other sign is CUDA's. `in_family` alone would take curl's and cups' too.
fn cuda_name(name: &str) -> bool {
    if !cutap_calls::in_family(name.as_bytes()) {
        return false;
    }
    let lower = name.to_ascii_lowercase();
    // Prefixes that other libraries' names have too.
    let stems = cutap_calls::STEMS.iter().find(|(prefix, _)| name.starts_with(prefix));
    cutap_calls::is_of_cuda(name) || stems.is_none_or(|(_, stems)| stems.iter().any(|stem| lower.starts_with(stem)))
}

/// Among the linked libraries the one whose own name begins the function's name, the longest first.
fn likely_library(name: &str, links: &[Link]) -> Option<String> {
    let lower = name.trim_start_matches('_').to_ascii_lowercase();
    let stem = |link: &Link| {
        let file = link.library.strip_prefix("lib").unwrap_or(&link.library);
        let stem = file.split(['.', '_']).next().unwrap_or(file).to_ascii_lowercase();
        match stem.as_str() {
            "cudart" => "cuda".to_owned(),
            "cuda" => "cu".to_owned(),
            "nvidia-ml" => "nvml".to_owned(),
            _ => stem,
        }
    };
    let fitting = links.iter().filter(|link| lower.starts_with(&stem(link)));
    fitting.max_by_key(|link| stem(link).len()).map(|link| link.library.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_cuda_and_of_others() {
        for name in
            ["cuInit", "cudaMalloc", "cublasCreate_v2", "__cudaRegisterFatBinary", "ncclAllReduce", "cuFileRead"]
        {
            assert!(cuda_name(name), "{name}");
        }
        for name in ["curl_easy_init", "cupsPrintFile", "curs_set", "cuserid", "nvme_open", "malloc"] {
            assert!(!cuda_name(name), "{name}");
        }
    }

    #[test]
    fn the_longest_fitting_library() {
        let link = |library: &str| Link { library: library.to_owned(), layer: "library" };
        let links = ["libcuda.so.1", "libcudart.so.12", "libcublas.so.12", "libcublasLt.so.12", "libnvshmem_host.so.3"]
            .map(link);
        for (name, library) in [
            ("cuInit", "libcuda.so.1"),
            ("cudaMalloc", "libcudart.so.12"),
            ("__cudaRegisterVar", "libcudart.so.12"),
            ("cublasCreate_v2", "libcublas.so.12"),
            ("cublasLtMatmul", "libcublasLt.so.12"),
            ("nvshmem_init", "libnvshmem_host.so.3"),
        ] {
            assert_eq!(likely_library(name, &links).as_deref(), Some(library), "{name}");
        }
        assert_eq!(likely_library("ncclSend", &links), None);
    }
}
