//! Which cutap is tested.
//!
//! `CUTAP_BIN` names it; else the newest of the release and debug builds in the target folder that these tests run
//! from. There is no third place: a cutap from PATH would prove nothing about this tree.

use std::path::PathBuf;
use std::sync::OnceLock;

/// The cutap binary. Panics with what to do when there is none.
pub fn cutap() -> &'static PathBuf {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| {
        if let Some(named) = std::env::var_os("CUTAP_BIN") {
            let path = PathBuf::from(named);
            assert!(path.is_file(), "CUTAP_BIN is {}, and there is no such file", path.display());
            return path;
        }
        let target = crate::out().parent().expect("out() is a folder in the target folder");
        let built = ["release/cutap", "debug/cutap"].map(|p| target.join(p));
        let newest = built.iter().filter(|p| p.is_file()).max_by_key(|p| p.metadata().and_then(|m| m.modified()).ok());
        newest
            .unwrap_or_else(|| {
                panic!("no cutap in {}: run `cargo build -p cutap` first, or set CUTAP_BIN", target.display())
            })
            .clone()
    })
}
