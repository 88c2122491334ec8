//! Looks up libraries by SONAME (layer, profiler) and function names by prefix.
//!
//! auditwheel inserts eight hexadecimal digits into the names of libraries that it copies into a wheel
//! (`libcudart-d0da41ae.so.11.0`). Such a name is treated like the plain one.

use crate::{FAMILIES, LISTED, Layer, PARTS, PROFILERS, WATCHED, Watched, glob};

/// The number of a library's layer, or 0 when the library is not watched.
pub fn layer_of(soname: &[u8]) -> u8 {
    WATCHED.iter().find(|w| is_soname(w.soname, soname)).map_or(0, |w| w.layer.number())
}

/// Whether the library is watched, and of no use without a driver.
pub fn needs_driver(soname: &[u8]) -> bool {
    WATCHED.iter().find(|w| is_soname(w.soname, soname)).is_some_and(|w| !w.without_driver)
}

/// Whether only those functions of a library are watched that [`listed`] knows.
pub fn is_only_listed(soname: &[u8]) -> bool {
    WATCHED.iter().find(|w| is_soname(w.soname, soname)).is_some_and(|w| w.only_listed)
}

/// The name of a function that is known by another name than its symbol.
pub fn listed(symbol: &[u8]) -> Option<&'static str> {
    LISTED.iter().find(|(of, _)| of.as_bytes() == symbol).map(|(_, name)| *name)
}

/// The SONAME, a pattern, of the one library that a layer has, or of the first.
pub const fn soname_of(layer: Layer) -> &'static str {
    let mut rest: &[Watched] = WATCHED;
    while let [watched, after @ ..] = rest {
        if watched.layer.number() == layer.number() {
            return watched.soname;
        }
        rest = after;
    }
    ""
}

/// Whether the library is a profiler. A profiler must get the driver's unmodified export tables.
pub fn is_profiler(soname: &[u8]) -> bool {
    PROFILERS.iter().any(|p| is_soname(p, soname))
}

/// Whether the library is a part of the driver that is not watched. Only its calls to the kernel can be recorded.
pub fn is_part(soname: &[u8]) -> bool {
    PARTS.iter().any(|p| is_soname(p, soname))
}

/// Whether a watched library could export this name. This is a cheap first test: the decision is made by address.
///
/// A name that passes may belong to another library. The only functions that it misses are those of libnvblas,
/// which have the names of BLAS.
pub fn in_family(name: &[u8]) -> bool {
    FAMILIES.iter().any(|prefix| name.starts_with(prefix.as_bytes()))
        || name.starts_with(b"_Z") && listed(name).is_some()
}

/// Whether a SONAME matches `pattern` (`*` matches any characters), either directly or after auditwheel renamed it.
pub fn is_soname(pattern: &str, soname: &[u8]) -> bool {
    let pattern = pattern.as_bytes();
    // This runs for every library of the process at each scan, and most do not match: compare five bytes first.
    let begin = pattern.iter().zip(soname).take(5).take_while(|(p, _)| **p != b'*');
    if begin.into_iter().any(|(p, c)| p != c) {
        return false;
    }
    if glob(pattern, soname) {
        return true;
    }
    let (Some((pattern_stem, pattern_rest)), Some((stem, rest))) = (split_so(pattern), split_so(soname)) else {
        return false;
    };
    without_hash(stem).is_some_and(|plain| glob(pattern_stem, plain) && glob(pattern_rest, rest))
}

/// Splits `libfoo.so.1` into `libfoo` and `.so.1`.
fn split_so(name: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = name.windows(3).position(|w| w == b".so")?;
    name.split_at_checked(at)
}

/// Returns `libfoo` for `libfoo-0123abcd`.
fn without_hash(stem: &[u8]) -> Option<&[u8]> {
    let (plain, hash) = stem.split_at_checked(stem.len().checked_sub(9)?)?;
    let (dash, digits) = hash.split_first()?;
    let hex = digits.iter().all(|d| matches!(d, b'0'..=b'9' | b'a'..=b'f'));
    (*dash == b'-' && hex).then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers() {
        for (soname, layer) in [
            ("libcuda.so.1", 3),
            ("libcudart.so.11.0", 2),
            ("libcudart.so.13", 2),
            ("libcudart-d0da41ae.so.11.0", 2),
            ("libcudart-d0da41a.so.11.0", 0),
            ("libcudart-d0da41ag.so.11.0", 0),
            ("libcublas.so.12", 1),
            ("libcublas-37d11411.so.11", 1),
            ("libcublasLt.so.13", 1),
            ("libcudnn.so.9", 1),
            ("libcudnn_engines_precompiled.so.9", 1),
            ("libcudnn_cnn_infer-53b2f61c.so.8", 1),
            ("libnppial.so.12", 1),
            ("libnvidia-ml.so.1", 1),
            ("libcuda.so.1.2", 0),
            ("libcudart.so", 0),
            ("libcurl.so.4", 0),
            ("libc.so.6", 0),
            ("", 0),
        ] {
            assert_eq!(layer_of(soname.as_bytes()), layer, "{soname}");
        }
    }

    #[test]
    fn library_of_a_layer() {
        assert!(needs_driver(b"libcublas.so.12") && !needs_driver(b"libnvrtc.so.12") && !needs_driver(b"libc.so.6"));
        assert_eq!((soname_of(Layer::DRIVER), soname_of(Layer::HIDDEN)), ("libcuda.so.1", ""));
    }

    /// Of a library of C++ functions, those of the list are known by another name.
    #[test]
    fn listed_functions() {
        let symbol = b"_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE";
        assert!(in_family(symbol) && !in_family(b"_ZN3c1015warnOrSomethingEv"));
        assert_eq!((listed(symbol), listed(b"cuInit")), (Some("reportMemoryUsageToProfiler"), None));
        assert!(is_only_listed(b"libc10.so") && !is_only_listed(b"libc10_cuda.so") && !is_only_listed(b"libcuda.so.1"));
        assert_eq!((layer_of(b"libc10.so"), layer_of(b"libc10_cuda.so")), (1, 0));
    }

    #[test]
    fn profilers() {
        for soname in ["libcupti.so.12", "libcupti-01234567.so.11.8", "libnvperf_host.so", "libcuinj64.so.11.8"] {
            assert!(is_profiler(soname.as_bytes()), "{soname}");
        }
        for soname in ["libcuda.so.1", "libcudart.so.12", "libcuptix.so.1"] {
            assert!(!is_profiler(soname.as_bytes()), "{soname}");
        }
    }

    #[test]
    fn families() {
        for name in
            ["cuInit", "cudaMalloc", "cublasLtMatmul", "ncclAllReduce", "__cudaRegisterFatBinary", "nvmlInit_v2"]
        {
            assert!(in_family(name.as_bytes()), "{name}");
        }
        for name in ["malloc", "c", "", "PyInit_cu", "__cxa_throw"] {
            assert!(!in_family(name.as_bytes()), "{name}");
        }
    }
}
