//! Whether this machine has a CUDA driver library. It searches for the file as the dynamic loader does, and never loads
//! it: loading would be a call into the driver.

use crate::base::error::{Error, Result};
use crate::start::program::Program;
use cutap_calls::{Layer, soname_of};
use cutap_trace::open_file;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const NAME: &str = soname_of(Layer::DRIVER);

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

/// Refuses a program that reaches CUDA itself where there is no driver for it: it would only fail,
/// in separate words. Any other (a shell, Python) may do without; false says that it has to.
/// `of_kernel`: only calls to the kernel driver are wanted, which the simulated driver does not make.
pub fn check(program: &Program, of_kernel: bool) -> Result<bool> {
    let (path, preload) = (std::env::var_os("LD_LIBRARY_PATH"), std::env::var_os("LD_PRELOAD"));
    let preloaded = |list: &OsStr| list.as_bytes().split(|b| b" :".contains(b)).any(|p| p.ends_with(NAME.as_bytes()));
    if preload.as_deref().is_some_and(preloaded) || present(path.as_deref(), &program.folders) {
        return Ok(true);
    }
    if cutap_inspect::needs_driver(&program.image) {
        let advice = match of_kernel {
            true => NEEDS_KERNEL_DRIVER,
            false if has_misplaced_sim(program) => MISPLACED_SIM,
            false => "run it on the simulated driver with --sim, or put the driver's folder into LD_LIBRARY_PATH",
        };
        return Err(Error::own(format!(
            "cannot trace {}: it uses CUDA, and there is no CUDA driver (libcuda.so.1) on this machine; {advice}",
            program.path.display()
        )));
    }
    Ok(false)
}

/// What follows the program's name is for the program.
pub(crate) const MISPLACED_SIM: &str = "--sim stands after PROG and was given to it; put it in front of PROG";

/// Whether a flag of cutap was given to the program.
pub(crate) fn has_misplaced_sim(program: &Program) -> bool {
    program.args.iter().any(|word| word == "--sim")
}

/// What calls to the kernel driver need.
pub(crate) const NEEDS_KERNEL_DRIVER: &str =
    "calls to the kernel driver need a machine with NVIDIA's driver (/dev/nvidiactl)";

/// Whether one of these folders has a driver's library.
pub fn is_in(folders: &[PathBuf]) -> bool {
    folders.iter().any(|folder| folder.join(NAME).exists())
}

/// The driver's library in a folder of cutap.
pub fn in_folder(folder: &Path) -> PathBuf {
    folder.join(NAME)
}

/// Whether a program started from here would find the driver's library.
pub fn has_driver_library() -> bool {
    present(std::env::var_os("LD_LIBRARY_PATH").as_deref(), &[])
}

/// Where the loader looks for a library without regard to the file that needs it.
pub struct Search {
    cache: Vec<u8>,
    path: OsString,
}

impl Search {
    pub fn new() -> Self {
        let cache = std::fs::read("/etc/ld.so.cache").unwrap_or_default();
        Self { cache, path: std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default() }
    }

    /// The file for 64 bits that the loader would take for a library of this name: by LD_LIBRARY_PATH, its cache, or
    /// its folders.
    pub fn library(&self, name: &OsStr) -> Option<PathBuf> {
        let folders = std::env::split_paths(&self.path).filter(|folder| !folder.as_os_str().is_empty());
        let named = folders.map(|folder| folder.join(name)).chain(cached(&self.cache, name));
        let mut all = named.chain(FOLDERS.iter().map(|folder| Path::new(folder).join(name)));
        all.find(|path| is_elf64(path))
    }
}

/// As `Search::library`.
pub fn library(name: &OsStr) -> Option<PathBuf> {
    Search::new().library(name)
}

/// Paths of the loader's cache that end with this name.
fn cached(cache: &[u8], name: &OsStr) -> Vec<PathBuf> {
    let words = cache.split(|byte| *byte == 0).filter(|word| word.starts_with(b"/"));
    let paths = words.map(|word| Path::new(OsStr::from_bytes(word)));
    paths.filter(|path| path.file_name() == Some(name)).map(Path::to_owned).collect()
}

fn is_elf64(path: &Path) -> bool {
    let mut head = [0; 5];
    open_file(path, false).and_then(|mut file| file.read_exact(&mut head)).is_ok_and(|()| head == *b"\x7fELF\x02")
}

/// True when a program started with this LD_LIBRARY_PATH, that itself names these folders, could find
/// `libcuda.so.1`.
fn present(library_path: Option<&OsStr>, folders: &[PathBuf]) -> bool {
    let named = library_path.map(std::env::split_paths).into_iter().flatten();
    named.filter(|f| !f.as_os_str().is_empty()).any(|f| f.join(NAME).exists())
        || is_in(folders)
        || FOLDERS.iter().any(|f| Path::new(f).join(NAME).exists())
        || std::fs::read("/etc/ld.so.cache").is_ok_and(|cache| in_cache(&cache))
}

/// The cache names each library in a table of strings that end at a zero.
fn in_cache(cache: &[u8]) -> bool {
    let entry = [NAME.as_bytes(), b"\0"].concat();
    cache.windows(entry.len()).any(|w| w == entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_where_the_library_path_or_the_program_says() {
        let folder = std::env::temp_dir().join(format!("cutap-driver-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let before = present(None, &[]);
        std::fs::write(folder.join(NAME), "").unwrap();
        assert!(present(Some(folder.as_os_str()), &[]));
        assert!(present(None, std::slice::from_ref(&folder)));
        assert_eq!(present(None, &[]), before);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn paths_of_a_loader_cache() {
        let cache = b"\x01/\0libx.so.1\0/a/libx.so.1\0/b/libx.so.12\0/c/libx.so.1\0";
        let paths = ["/a/libx.so.1", "/c/libx.so.1"].map(PathBuf::from);
        assert_eq!(cached(cache, OsStr::new("libx.so.1")), paths);
    }

    #[test]
    fn found_in_a_loader_cache() {
        assert!(in_cache(b"xx\0libcuda.so.1\0/usr/lib/libcuda.so.1\0"));
        assert!(!in_cache(b"xx\0libcuda.so.11\0"));
    }
}
