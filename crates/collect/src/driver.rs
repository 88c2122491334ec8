//! Whether this machine has a CUDA driver library at all. Only looks for the file, as the dynamic
//! loader would; never loads it: that would be a call of ours into the driver.

use std::ffi::OsStr;
use std::path::Path;

const NAME: &str = "libcuda.so.1";

/// Folders that the loader knows by itself, and where containers and WSL put the driver.
const FOLDERS: [&str; 8] = [
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/usr/lib",
    "/usr/lib/wsl/lib",
    "/usr/local/nvidia/lib64",
    "/run/opengl-driver/lib",
];

/// True when a program started with this LD_LIBRARY_PATH could find `libcuda.so.1`.
pub fn present(library_path: Option<&OsStr>) -> bool {
    let named = library_path.map(std::env::split_paths).into_iter().flatten();
    named.filter(|f| !f.as_os_str().is_empty()).any(|f| f.join(NAME).exists())
        || FOLDERS.iter().any(|f| Path::new(f).join(NAME).exists())
        || std::fs::read("/etc/ld.so.cache").is_ok_and(|cache| in_cache(&cache))
}

/// The cache names each library in a table of strings that end at a zero.
fn in_cache(cache: &[u8]) -> bool {
    let wanted = [NAME.as_bytes(), b"\0"].concat();
    cache.windows(wanted.len()).any(|w| w == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_where_the_library_path_says() {
        let folder = std::env::temp_dir().join(format!("cutap-driver-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let before = present(None);
        std::fs::write(folder.join(NAME), "").unwrap();
        assert!(present(Some(folder.as_os_str())));
        assert_eq!(present(None), before);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn found_in_a_loader_cache() {
        assert!(in_cache(b"xx\0libcuda.so.1\0/usr/lib/libcuda.so.1\0"));
        assert!(!in_cache(b"xx\0libcuda.so.11\0"));
    }
}
