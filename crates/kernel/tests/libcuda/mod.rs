//! A real libcuda.so.1, for tests without a GPU. The tests of this crate and `tests/e2e/tests/real_libcuda.rs` use it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const PACKAGE: &str = "libcuda1_550.163.01-2_amd64.deb";

/// Debian's libcuda 550.163.01, fetched once into `CUTAP_CACHE`; none, and a line, without a network.
pub fn libcuda() -> Option<PathBuf> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOUND.get_or_init(fetched).clone()
}

fn fetched() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let cache = std::env::var_os("CUTAP_CACHE").map_or_else(|| root.join(".cache"), PathBuf::from).join("drivers");
    let folder = cache.join("550.163.01");
    let library = folder.join("usr/lib/x86_64-linux-gnu/nvidia/current/libcuda.so.550.163.01");
    if library.is_file() {
        return Some(library);
    }
    // Each process unpacks for itself and renames: several tests may do it at the same time.
    let own = cache.join(format!("new-{}", std::process::id()));
    std::fs::create_dir_all(&own).unwrap();
    let url = format!("http://deb.debian.org/debian/pool/non-free/n/nvidia-graphics-drivers/{PACKAGE}");
    let works = |command: &mut Command| command.status().is_ok_and(|status| status.success());
    let deb = own.join(PACKAGE);
    if !works(Command::new("curl").args(["-sfL", "-m", "120", "-o"]).arg(&deb).arg(url))
        || !works(Command::new("dpkg-deb").arg("-x").arg(&deb).arg(&own))
    {
        let _ = std::fs::remove_dir_all(&own);
        println!("skipped: Debian's libcuda 550.163.01 (it could not be fetched)");
        return None;
    }
    std::fs::remove_file(&deb).unwrap();
    if std::fs::rename(&own, &folder).is_err() {
        let _ = std::fs::remove_dir_all(&own);
    }
    Some(library)
}
