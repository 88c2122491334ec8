//! The run folder from outside: a new, private folder for each run. It never goes into a folder that
//! already holds something, nor into one that another user owns or may write to.

use crate::error::{Error, Result, cannot};
use std::fs::{DirBuilder, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Longest path of a run folder: what runs inside the program has a buffer of 512 bytes for it.
pub const LONGEST: usize = 500;

/// A new folder with a name of its own, to be removed at the end.
pub fn fresh() -> Result<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|p| p.is_absolute());
    let mut last = None;
    for parent in runtime.into_iter().chain([PathBuf::from("/tmp"), PathBuf::from("/var/tmp")]) {
        for n in 0..100 {
            let path = parent.join(format!("cutap-run-{}-{n}", std::process::id()));
            if path.as_os_str().len() > LONGEST {
                break;
            }
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(path),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => {
                    last = Some(cannot("make the run folder", &path, &e, "name another place with --run DIR"));
                    break;
                }
            }
        }
    }
    Err(last.unwrap_or_else(|| Error::own("cannot make a run folder in /tmp; name another place with --run DIR")))
}

/// The folder that a person named: made, or taken if it is empty and ours.
pub fn named(path: &Path, flag: &str) -> Result<PathBuf> {
    let advice = format!("give another folder with {flag} DIR");
    let path = std::path::absolute(path).map_err(|e| cannot("use the run folder", path, &e, &advice))?;
    let refuse = |why: &str| Err(Error::own(format!("cannot use {} as run folder: {why}; {advice}", path.display())));
    if path.as_os_str().len() > LONGEST {
        let why = format!("the path is too long ({} bytes, {LONGEST} fit)", path.as_os_str().len());
        return Err(Error::own(format!("cannot use the run folder: {why}; {advice}")));
    }
    if path.as_os_str().as_bytes().contains(&b'\n') {
        return refuse("its path has a line end in it");
    }
    match std::fs::symlink_metadata(&path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            let made = DirBuilder::new().mode(0o700).create(&path);
            made.map_err(|e| cannot("make the run folder", &path, &e, &advice))?;
        }
        Err(e) => return Err(cannot("use the run folder", &path, &e, &advice)),
        Ok(data) if !data.is_dir() => return refuse("it exists and is not a folder"),
        Ok(data) if data.uid() != own_uid() => return refuse("it belongs to another user"),
        Ok(data) if !private(&data) => return refuse("others may write to it (chmod go-w it)"),
        Ok(_) => {
            let mut entries = std::fs::read_dir(&path).map_err(|e| cannot("use the run folder", &path, &e, &advice))?;
            if entries.next().is_some() {
                return refuse("it is not empty (each run needs a folder of its own)");
            }
        }
    }
    Ok(path)
}

/// Nobody else may write to it.
pub(crate) fn private(data: &Metadata) -> bool {
    data.mode() & 0o022 == 0
}

/// The user whose files are ours.
pub(crate) fn own_uid() -> u32 {
    // SAFETY: has no arguments and cannot fail.
    unsafe { libc::geteuid() }
}
