//! Makes the run directory: a new, private folder for each run. Refused are folders with contents, folders that another
//! user owns, may write to or can exchange (`trusted`), and disks without room for the beginning of a trace.

use crate::base::error::{Error, Result, cannot};
use crate::base::trusted::{self, FolderUse};
use crate::base::user::own_uid;
use crate::run_dir::quota;
use cutap_trace::RunPath;
use cutap_wire::control::ENV_RUN;
use std::ffi::CString;
use std::fs::{DirBuilder, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Longest path of a run directory: what runs inside the program has a buffer of 512 bytes for it.
pub const LONGEST: usize = 500;

/// What must be free at the start: page, names and the first rings of a few threads. What follows while
/// the program runs depends on it; a file system that fills up then is counted.
const ROOM: u64 = 2 << 20;

/// Where run directories are made, behind $XDG_RUNTIME_DIR.
const PLACES: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// A new folder with a random name, to be removed at the end. A place from the environment that others
/// can exchange is passed over: `su` keeps the XDG_RUNTIME_DIR of the user before.
pub fn fresh() -> Result<RunPath> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|p| p.is_absolute());
    let mut last = None;
    for parent in runtime.into_iter().chain(PLACES.map(PathBuf::from)) {
        if let Some(why) = why_too_full(&parent) {
            let text = format!("cannot make the run directory in {}: {why}; name another place", parent.display());
            last = Some(Error::own(text + " with --run-dir DIR"));
            continue;
        }
        let name = format!("cutap-run-{}-{}", std::process::id(), trusted::random_name());
        let path = parent.join(&name);
        if path.as_os_str().len() > LONGEST {
            continue;
        }
        if let Err(why) = trusted::check(&parent, FolderUse::Parent) {
            let text = format!("cannot make the run directory in {}: {why}; name another place", parent.display());
            last = Some(Error::own(text + " with --run-dir DIR"));
            continue;
        }
        match create_private(&path) {
            Ok(made) => return Ok(made),
            Err(e) => last = Some(cannot("make the run directory", &path, &e, "name another place with --run-dir DIR")),
        }
    }
    Err(last
        .unwrap_or_else(|| Error::own("cannot make a run directory in /tmp; name another place with --run-dir DIR")))
}

/// The folder that a person named: made, or taken if it is empty and ours.
pub fn named(path: &Path, flag: &str) -> Result<RunPath> {
    let advice = format!("give another folder with {flag} DIR");
    let path = std::path::absolute(path).map_err(|e| cannot("use the run directory", path, &e, &advice))?;
    let refuse =
        |why: &str| Err(Error::own(format!("cannot use {} as run directory: {why}; {advice}", path.display())));
    if path.as_os_str().len() > LONGEST {
        let why = format!("the path is too long ({} bytes, {LONGEST} fit)", path.as_os_str().len());
        return Err(Error::own(format!("cannot use the run directory: {why}; {advice}")));
    }
    if path.as_os_str().as_bytes().contains(&b'\n') {
        return refuse("its path has a line end in it");
    }
    match std::fs::symlink_metadata(&path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            let Some(parent) = path.parent() else { return refuse("it has no name") };
            if let Some(why) = why_too_full(parent) {
                return refuse(&why);
            }
            let missing = |e| cannot("make the run directory", &path, &e, &advice);
            std::fs::metadata(parent).map_err(missing)?;
            if let Err(why) = trusted::check(parent, FolderUse::Parent) {
                return refuse(&why);
            }
            let created = create_private(&path);
            return created.map_err(missing);
        }
        Err(e) => return Err(cannot("use the run directory", &path, &e, &advice)),
        Ok(data) if !data.is_dir() => return refuse("it exists and is not a folder"),
        Ok(data) if data.uid() != own_uid() => return refuse("it belongs to another user"),
        Ok(data) if !private(&data) => return refuse("others may write to it (chmod go-w it)"),
        Ok(_) => {
            if let Some(why) = why_too_full(&path) {
                return refuse(&why);
            }
        }
    }
    if let Err(why) = trusted::check(&path, FolderUse::Own) {
        return refuse(&why);
    }
    let unusable = |e| cannot("use the run directory", &path, &e, &advice);
    let run_dir = RunPath::open(&path).map_err(unusable)?;
    match run_dir.list().map_err(unusable)?.is_empty() {
        true => Ok(run_dir),
        false => refuse("it is not empty (each run needs a folder of its own)"),
    }
}

/// Makes a folder and opens it. None is left behind that cannot be opened.
fn create_private(path: &Path) -> std::io::Result<RunPath> {
    DirBuilder::new().mode(0o700).create(path)?;
    RunPath::open(path).inspect_err(|_| {
        let _ = std::fs::remove_dir(path);
    })
}

/// The run directory that another process of cutap has made for this one. It is refused if others can exchange it.
pub fn open_inherited(path: &Path) -> Result<RunPath> {
    let refuse = |why| Error::own(format!("cannot use the run directory: {why}; start the program again"));
    trusted::check(path, FolderUse::Own).map_err(refuse)?;
    RunPath::open(path).map_err(|e| cannot("open the run directory", path, &e, "start the program again"))
}

/// The run directory that the environment names: that of a cutap around this one. None if others can exchange it.
pub fn outer() -> Option<RunPath> {
    let run = PathBuf::from(std::env::var_os(ENV_RUN)?);
    run.is_absolute().then(|| open_inherited(&run).ok()).flatten()
}

/// Why a trace cannot even begin there. A file system that does not know its size is taken as large.
fn why_too_full(folder: &Path) -> Option<String> {
    if let Some(why) = quota::quota_limit(folder) {
        return Some(why.to_owned());
    }
    let path = CString::new(folder.as_os_str().as_bytes()).ok()?;
    // SAFETY: a string that ends at a zero, and a zeroed structure of cutap.
    let fs = unsafe {
        let mut fs: libc::statvfs = std::mem::zeroed();
        (libc::statvfs(path.as_ptr(), &mut fs) == 0).then_some(fs)?
    };
    let free = fs.f_bavail.saturating_mul(fs.f_frsize);
    if fs.f_blocks != 0 && free < ROOM {
        return Some(format!("its disk is full ({} KiB are free, a trace begins with {})", free >> 10, ROOM >> 10));
    }
    // A process makes a folder, two files, and one for each thread.
    let no_files = fs.f_files != 0 && fs.f_favail < 16;
    let more =
        || if fs.f_favail == 1 { "1 more file fits".to_owned() } else { format!("{} more files fit", fs.f_favail) };
    no_files.then(|| format!("its disk is full ({})", more()))
}

/// Nobody else may write to it.
pub(crate) fn private(data: &Metadata) -> bool {
    data.mode() & 0o022 == 0
}
