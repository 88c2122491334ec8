//! PTX: NVIDIA's `ptxas` makes a cubin of it, as a separate process. Only where there is none, its library nvJitLink
//! does it in this process.

use crate::base::error::{Error, Result};
use crate::streams::jit_link;
use std::ffi::OsStr;
use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where `ptxas` is, if it is not in `PATH`; or the name of the library that is to be used in its place.
const VARIABLE: &str = "CUTAP_PTXAS";
const TOOLKIT: &str = "/usr/local/cuda/bin/ptxas";

/// Whether bytes are PTX: text whose first word is the directive of its version.
pub(crate) fn is_ptx(bytes: &[u8]) -> bool {
    let text = text(bytes);
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"//"));
    lines.next().is_some_and(|line| line.starts_with(b".version"))
}

/// The text without the zeros after it.
fn text(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// The architecture to compile for: the GPU's, with the letter that the PTX has for it.
fn architecture(text: &[u8], gpu: u32) -> String {
    let target = text.split(|byte| *byte == b'\n').find_map(|line| line.trim_ascii().strip_prefix(b".target"));
    let name = format!("sm_{gpu}");
    let word = target.and_then(|line| line.trim_ascii().split(|byte| matches!(byte, b' ' | b',' | b'\t')).next());
    match word.and_then(|word| word.strip_prefix(name.as_bytes())) {
        Some([letter @ (b'a' | b'f')]) => format!("{name}{}", char::from(*letter)),
        _ => name,
    }
}

/// The `ptxas` to run. None: nvJitLink does its work.
fn compiler() -> Result<Option<PathBuf>> {
    match std::env::var_os(VARIABLE) {
        Some(name) if name == jit_link::NAME => return Ok(None),
        // A name that is wrong is an error.
        Some(path) => {
            return Some(PathBuf::from(path)).filter(|path| path.is_file()).map(Some).ok_or(Error::NoPtxCompiler);
        }
        None => {}
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&path).map(|folder| folder.join("ptxas")).find(|path| path.is_file());
    Ok(in_path.or_else(|| Some(PathBuf::from(TOOLKIT)).filter(|path| path.is_file())))
}

/// A folder of this process alone, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self> {
        // A random name, which others cannot make before: the keys of a hasher are random.
        let name = format!("cudest-{:016x}", RandomState::new().hash_one(0));
        for parent in [std::env::temp_dir(), "/tmp".into()] {
            let folder = Self(parent.join(&name));
            let created = fs::DirBuilder::new().mode(0o700).create(&folder.0);
            created.map_err(|why| Error::system(format!("making the folder {}", folder.0.display()), why))?;
            // Another user could put other code into a folder of theirs: `su` keeps the TMPDIR of the user before.
            let is_safe = |above: fs::Metadata, own: fs::Metadata| {
                [0, own.uid()].contains(&above.uid()) && (above.mode() & 0o022 == 0 || above.mode() & 0o1000 != 0)
            };
            if fs::metadata(&parent).is_ok_and(|above| folder.0.metadata().is_ok_and(|own| is_safe(above, own))) {
                return Ok(folder);
            }
        }
        Err(Error::system("making a folder in TMPDIR or /tmp", std::io::ErrorKind::PermissionDenied.into()))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let written = file.and_then(|mut file| file.write_all(bytes));
    written.map_err(|why| Error::system(format!("writing {}", path.display()), why))
}

/// Compiles PTX for a GPU of a compute capability such as 90. The result is a cubin.
///
/// # Errors
/// There is no compiler, or it refuses the text.
pub fn compile(bytes: &[u8], gpu: u32) -> Result<Vec<u8>> {
    let text = text(bytes);
    let Some(compiler) = compiler()? else {
        return jit_link::compile(text, &architecture(text, gpu)).unwrap_or(Err(Error::NoPtxCompiler));
    };
    let folder = Folder::new()?;
    let (from, to) = (folder.0.join("code.ptx"), folder.0.join("code.cubin"));
    write(&from, text)?;
    let target = format!("-arch={}", architecture(text, gpu));
    let arguments = [OsStr::new(&target), OsStr::new("-o"), to.as_os_str(), from.as_os_str()];
    let output = Command::new(&compiler).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|why| Error::system(format!("running {}", compiler.display()), why))?;
    if !output.status.success() {
        // It writes complaints to either.
        let diagnostics = [&output.stderr[..], &output.stdout[..]].concat();
        let diagnostics = String::from_utf8_lossy(&diagnostics).replace(&*from.to_string_lossy(), "PTX");
        let lines: Vec<&str> = diagnostics.lines().map(str::trim).filter(|line| !line.is_empty()).take(3).collect();
        return Err(Error::Ptx { compiler: compiler.display().to_string(), why: lines.join("; ") });
    }
    fs::read(&to).map_err(|why| Error::system(format!("reading the cubin of {}", compiler.display()), why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_target() {
        let ptx = b"//\n// made\n\n.version 8.8\n.target sm_90a, debug\n.address_size 64\n\0\0";
        assert!(is_ptx(ptx) && !is_ptx(b"//ptx") && !is_ptx(b"\x7fELF") && !is_ptx(b""));
        assert_eq!(architecture(ptx, 90), "sm_90a");
        assert_eq!(architecture(b".target sm_80\n", 90), "sm_90");
        assert_eq!(architecture(b".target sm_90\n", 90), "sm_90");
    }
}
