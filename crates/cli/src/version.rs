//! What `cutap --version` prints: the version, the commit that it was built from, and the CUDA versions whose headers
//! are known. `build.rs` sets both; outside a git checkout the commit is `unknown`.

/// `0.1.0 (commit 74c7df33), CUDA 11.7 to 13.5, Linux x86-64`.
pub const LONG: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (commit ",
    env!("CUTAP_COMMIT"),
    "), CUDA ",
    env!("CUTAP_CUDA_RANGE"),
    ", Linux x86-64"
);
