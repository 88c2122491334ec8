//! Libraries by their usual names: `cublas`, `nvml`, `cudart`, `libnvjitlink`. A name is a family of `api/` with all
//! its libraries, or one library by its SONAME, in any case. Only the tables decide, never the files on a disk.

use super::refusal::nearest;
use cutap_calls::generated::known::TABLES;
use cutap_calls::known::Family;
use cutap_calls::{Layer, WATCHED};

/// Which calls a library's name wants.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Libraries {
    /// As in a rule of the control page.
    pub layer: Layer,
    /// Patterns of SONAMEs.
    pub patterns: Vec<String>,
}

/// What `cublas` or `cudart` means: these libraries' own functions, not those of a runtime inside them.
pub(super) fn named(word: &str) -> Option<Libraries> {
    let stems = stems_of(word)?;
    let of = |stem: &&str| WATCHED.iter().find(|w| stem_of(w.soname) == *stem).map(|w| w.layer);
    Some(match stems.iter().find_map(of) {
        // Also where a copy of it is linked into a program.
        Some(layer) if layer != Layer::LIBRARY => Libraries { layer, patterns: vec!["*".into()] },
        _ => Libraries { layer: Layer::LIBRARY, patterns: stems.iter().flat_map(|stem| patterns(stem)).collect() },
    })
}

/// Patterns for a word that is written as a file's name (`libcublas`, `libcudnn_ops.so.9`, `lib*`).
pub(super) fn files(word: &str) -> Vec<String> {
    if word.contains(['*', '?']) || word.contains(".so.") {
        return vec![word.to_owned()];
    }
    let stem = word.strip_suffix(".so").unwrap_or(word);
    // No file is called libnvml or libnvjitlink, but everybody knows what is meant.
    let exact = WATCHED.iter().any(|w| stem_of(w.soname) == stem);
    let family_stems = stem.strip_prefix("lib").filter(|_| !exact).and_then(stems_of);
    family_stems.unwrap_or_else(|| vec![stem]).into_iter().flat_map(patterns).collect()
}

/// Watched libraries that a word may have meant which is written as a file's name and is none of theirs. A library that
/// is not watched can have a runtime inside, so that only what looks like a slip is one; a pattern is never one.
pub(super) fn misspelt(word: &str) -> Vec<&'static str> {
    let stem = word.split_once(".so").map_or(word, |(stem, _)| stem);
    // As auditwheel renames it.
    let stem = stem.split_once('-').map_or(stem, |(stem, _)| stem);
    let stems: Vec<&str> = WATCHED.iter().map(|w| stem_of(w.soname)).collect();
    let is_watched = || stems.iter().any(|s| cutap_calls::glob(s.as_bytes(), stem.as_bytes()));
    match word.contains(['*', '?']) || is_watched() || stems_of(plain(stem)).is_some() {
        true => Vec::new(),
        false => nearest(stem, &stems),
    }
}

/// The family whose functions begin as this word does: all that it exports is known by name.
pub(super) fn listed(word: &str) -> Option<&'static Family> {
    let begins = |name: &str| !name.is_empty() && word.get(..name.len()).is_some_and(|w| w.eq_ignore_ascii_case(name));
    // The functions of the layer `syscall` are libc's: `libc` is no beginning of a name.
    let of_family =
        |f: &&Family| Layer::of_family(f.name) != Layer::SYSCALL && (begins(f.name) || names(f).any(begins));
    // cufftMp is no part of cuFFT.
    let unlisted = WATCHED.iter().map(|w| stem_of(w.soname)).filter(|s| stems_of(plain(s)).is_some_and(|m| m == [*s]));
    let unlisted = unlisted.filter(|s| !TABLES.families.iter().any(|f| f.sonames.iter().any(|n| stem_of(n) == *s)));
    if unlisted.map(plain).any(begins) {
        return None;
    }
    // The functions of the layer `syscall` are libc's, whose name `c` begins nearly every function of NVIDIA's.
    let of_nvidia = TABLES.families.iter().filter(|f| Layer::of_family(f.name) != Layer::SYSCALL);
    of_nvidia.filter(of_family).max_by_key(|f| f.name.len())
}

/// Whether one of the families has a function that programs may call by this name.
pub(super) fn has_function(word: &str) -> bool {
    let versions = |name: &str| name.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'));
    TABLES
        .families
        .iter()
        .any(|f| f.functions.iter().any(|f| versions(f.name)) || f.undeclared.iter().any(|n| versions(n)))
}

fn of_kernel() -> impl Iterator<Item = &'static str> {
    let families = TABLES.families.iter().filter(|f| Layer::of_family(f.name) == Layer::SYSCALL);
    families.flat_map(|f| f.functions.iter().map(|f| f.name))
}

/// Whether a function of the layer `syscall` has this name, or fits this pattern.
pub(super) fn is_of_kernel(pattern: &str) -> bool {
    of_kernel().any(|name| cutap_calls::glob(pattern.as_bytes(), name.as_bytes()))
}

/// Functions of that layer that somebody may have meant.
pub(super) fn near_kernel(word: &str) -> Vec<&'static str> {
    nearest(word, &of_kernel().collect::<Vec<_>>())
}

/// The numbers of the layers of the functions that a pattern, or a plain name and its versions, is of.
pub(super) fn layers_of(pattern: &str) -> Vec<u8> {
    let is = |name: &str| {
        let versions = |rest: &str| !pattern.is_empty() && (rest.is_empty() || rest.starts_with('_'));
        cutap_calls::glob(pattern.as_bytes(), name.as_bytes()) || name.strip_prefix(pattern).is_some_and(versions)
    };
    let of =
        |family: &&Family| family.functions.iter().any(|f| is(f.name)) || family.undeclared.iter().any(|name| is(name));
    let layer = |family: &Family| Layer::of_family(family.name).number();
    // Hook libraries cannot want functions of libc.
    TABLES.families.iter().filter(of).map(layer).filter(|layer| *layer != Layer::SYSCALL.number()).collect()
}

/// Functions of a family that somebody may have meant.
pub(super) fn near_functions(family: &Family, word: &str) -> Vec<&'static str> {
    let all: Vec<&'static str> =
        family.functions.iter().map(|f| f.name).chain(family.undeclared.iter().copied()).collect();
    nearest(word, &all)
}

/// Libraries that somebody may have meant.
pub(super) fn similar_libraries(word: &str) -> Vec<&'static str> {
    // The caller suggests the names of layers.
    let libraries = TABLES.families.iter().filter(|f| Layer::of_family(f.name) == Layer::LIBRARY);
    let all: Vec<&'static str> = libraries.flat_map(|f| std::iter::once(f.name).chain(names(f))).collect();
    nearest(word, &all)
}

/// The libraries that a word without `lib` stands for: `libcublas` and `libcublasLt`, or `libcudss.so.0`.
fn stems_of(word: &str) -> Option<Vec<&'static str>> {
    if let Some(family) = TABLES.families.iter().find(|f| f.name.eq_ignore_ascii_case(word)) {
        // What is called as its library is means each version of it; `cudss0` is one.
        let each = names(family).any(|n| n.eq_ignore_ascii_case(word)) || !family.sonames.iter().all(|s| is_version(s));
        return Some(family.sonames.iter().map(|s| if each { stem_of(s) } else { s }).collect());
    }
    let of_family = TABLES.families.iter().flat_map(|f| f.sonames.iter().copied());
    let all = of_family.chain(WATCHED.iter().map(|w| w.soname));
    all.map(stem_of).find(|s| plain(s).eq_ignore_ascii_case(word)).map(|s| vec![s])
}

/// What its libraries are called without `lib`.
fn names(family: &Family) -> impl Iterator<Item = &'static str> {
    family.sonames.iter().map(|s| plain(stem_of(s)))
}

/// `libcudss.so.0`, and not `libcudss.so.*`.
fn is_version(soname: &str) -> bool {
    soname.ends_with(|c: char| c.is_ascii_digit())
}

/// `libcublas` of `libcublas.so.*`.
fn stem_of(soname: &'static str) -> &'static str {
    soname.split_once(".so").map_or(soname, |(stem, _)| stem)
}

fn plain(stem: &str) -> &str {
    stem.strip_prefix("lib").unwrap_or(stem)
}

/// A library as it is, and as auditwheel renames it.
fn patterns(stem: &str) -> Vec<String> {
    match stem.split_once(".so") {
        Some((stem, rest)) => vec![format!("{stem}.so{rest}"), format!("{stem}-*.so{rest}")],
        None => vec![format!("{stem}.so*"), format!("{stem}-*.so*")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(word: &str) -> String {
        named(word).map(|l| format!("{} {}", l.layer.letter(), l.patterns.join(" "))).unwrap_or_default()
    }

    #[test]
    fn each_family_has_rules() {
        for family in TABLES.families {
            let found = named(family.name).unwrap_or_else(|| panic!("{}", family.name));
            assert!(!found.patterns.is_empty(), "{}", family.name);
            for soname in family.sonames {
                let soname = soname.replace('*', "7");
                let hit = |p: &String| cutap_calls::glob(p.as_bytes(), soname.as_bytes());
                assert!(found.patterns.iter().any(hit), "{}: {soname} is not in {found:?}", family.name);
            }
        }
    }

    #[test]
    fn words_of_people() {
        assert_eq!(rule("nvml"), "l libnvidia-ml.so* libnvidia-ml-*.so*");
        assert_eq!(rule("CUBLASLT"), "l libcublasLt.so* libcublasLt-*.so*");
        assert_eq!(rule("cublas"), "l libcublas.so* libcublas-*.so* libcublasLt.so* libcublasLt-*.so*");
        assert_eq!((rule("cudart"), rule("cuda")), ("r *".into(), "d *".into()));
        assert_eq!(rule("cudss"), "l libcudss.so* libcudss-*.so*");
        assert_eq!(rule("cudss0"), "l libcudss.so.0 libcudss-*.so.0");
        assert_eq!(rule("custatevec"), "l libcustatevec.so* libcustatevec-*.so*");
        assert_eq!((rule("cubals"), similar_libraries("cubals")), (String::new(), vec!["cublas"]));
        assert_eq!(files("libnvml"), ["libnvidia-ml.so*", "libnvidia-ml-*.so*"]);
        assert_eq!(files("libnvjitlink.so"), ["libnvJitLink.so*", "libnvJitLink-*.so*"]);
        assert_eq!(files("libmine"), ["libmine.so*", "libmine-*.so*"]);
    }

    #[test]
    fn whose_functions_are_all_known() {
        assert_eq!(listed("cublasSgemn").map(|f| f.name), Some("cublas"));
        assert_eq!(listed("nvmlInt").map(|f| f.name), Some("nvml"));
        for word in ["cufftMpAny", "custatevecAny", "nvtxRangePop", "cuMemAlloc"] {
            assert_eq!(listed(word).map(|f| f.name), None, "{word}");
        }
        assert!(has_function("cublasSgemm") && has_function("ncclSend") && !has_function("cublasSgem"));
    }
}
