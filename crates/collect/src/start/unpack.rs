//! Puts the libraries inside `cutap` where the dynamic loader finds them: a folder named after their content, which
//! only its owner may write to. Other users may read the folder of root, because a program may change its user.
//!
//! Each start compares every byte and replaces what differs. Folders that another user owns or can
//! exchange (`trusted`), and folders that LD_PRELOAD cannot name, are not used. Files appear by
//! rename, so starts may overlap.

use crate::base::error::{Error, Result, reason};
use crate::base::trusted::{self, FolderUse};
use crate::base::user::own_uid;
use crate::options::driver_choice::DriverChoice;
use crate::run_dir::folder::private;
use crate::start::environment::{GPU_TIME, INJECT, LIMIT, PRELOAD, can_be_preloaded};
use cutap_wire::control;
use std::ffi::CString;
use std::fs::{DirBuilder, Metadata, OpenOptions, Permissions, set_permissions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The libraries, as built by the command line's build script.
#[derive(Debug, Clone, Copy)]
pub struct Embedded {
    /// A name that says what is in them: a folder's.
    pub name: &'static str,
    /// `libcutap_preload.so`.
    pub preload: &'static [u8],
    /// `libcuda.so.1`: simulated, or on GPUs. Its folder decides it.
    pub sim: &'static [u8],
    /// The simulated machine's `libnvidia-ml.so.1`.
    pub nvml: &'static [u8],
    /// `libcutap_gpu_time.so`, the injection.
    pub gpu_time: &'static [u8],
    /// The hook library behind `--inject`.
    pub inject: &'static [u8],
    /// The hook library behind `--limit-memory`.
    pub limit: &'static [u8],
    /// The simulated machine's `libcupti.so`.
    pub cupti: &'static [u8],
}

/// Where they lie.
#[derive(Debug)]
pub struct Unpacked {
    /// The preload's path.
    pub preload: PathBuf,
    /// The folder of the driver that was wanted, which holds nothing else.
    pub driver: Option<PathBuf>,
    /// The injection's path, if it was wanted.
    pub gpu_time: PathBuf,
    /// The path of the hook library behind `--inject`, if it was wanted.
    pub inject: PathBuf,
    /// The path of the one behind `--limit-memory`, if it was wanted.
    pub limit: PathBuf,
}

/// Which libraries are unpacked beside the preload.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// The driver.
    pub driver: DriverChoice,
    /// The injection.
    pub gpu_time: bool,
    /// The hook library behind `--inject`.
    pub inject: bool,
    /// The one behind `--limit-memory`.
    pub limit: bool,
}

/// Unpacks them, or finds them unpacked.
pub fn unpack(embedded: Embedded, wanted: Wanted) -> Result<Unpacked> {
    if let Some(named) = std::env::var_os(NAMED).filter(|path| !path.is_empty()) {
        let base = Path::new(&named);
        let why = match base.is_absolute() {
            true => match unpack_into(base, is_open(base), embedded, wanted) {
                Ok(done) => return Ok(done),
                Err(why) => why,
            },
            false => "the path does not begin with /".into(),
        };
        return Err(Error::own(format!(
            "cannot unpack cutap's libraries into {NAMED}={}: {why}; set {NAMED} to a private folder where programs may run, \
             or unset it",
            base.display()
        )));
    }
    let mut refused = Vec::new();
    for base in bases() {
        match unpack_into(&base, base.parent().is_some_and(is_open), embedded, wanted) {
            Ok(done) => return Ok(done),
            Err(why) => refused.push(format!("{} ({why})", base.display())),
        }
    }
    Err(Error::own(format!(
        "no folder can hold cutap's libraries: {}; set {NAMED} to a private folder where programs may run",
        refused.join(", ")
    )))
}

/// The environment variable that names the folder; no other one is tried then.
const NAMED: &str = "CUTAP_CACHE_DIR";

/// In the order in which they are tried. A variable with a relative path counts as unset.
fn bases() -> Vec<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let uid = own_uid();
    // A home that is not there (a service's /nonexistent) is not made.
    let in_home = set("HOME").filter(|home| home.is_dir()).map(|home| home.join(".cache/cutap"));
    let in_cache = set("XDG_CACHE_HOME").map(|path| path.join("cutap"));
    let in_var = PathBuf::from(format!("/var/tmp/cutap-{uid}"));
    let in_tmp = PathBuf::from(format!("/tmp/cutap-{uid}"));
    if uid != 0 {
        return [in_cache.or(in_home), Some(in_tmp), Some(in_var)].into_iter().flatten().collect();
    }
    // A program of root's may become another user, to whom root's home is closed, or a folder in it.
    let all = [in_cache, Some("/var/cache/cutap".into()), Some(in_var), Some(in_tmp), in_home];
    let mut all: Vec<PathBuf> = all.into_iter().flatten().collect();
    all.sort_by_key(|base| !base.parent().is_some_and(is_open));
    all
}

/// Every user may go through a folder and all that are above it; those that are not there yet are made so.
fn is_open(folder: &Path) -> bool {
    folder.ancestors().filter_map(|f| f.metadata().ok()).all(|data| data.mode() & 0o001 != 0)
}

/// `open`: every user may go through the folders above it.
fn unpack_into(base: &Path, open: bool, embedded: Embedded, wanted: Wanted) -> std::result::Result<Unpacked, String> {
    let folder = base.join(embedded.name);
    if !can_be_preloaded(&folder) {
        return Err("LD_PRELOAD cannot carry a path with a space, a colon or a $, nor a very long one".into());
    }
    let for_all_users = open && own_uid() == 0;
    let mut above = base.ancestors().skip(1);
    trusted::check(above.find(|f| f.is_dir()).unwrap_or(Path::new("/")), FolderUse::Parent)?;
    // One level at most: a home that does not exist is nothing to be made by us.
    if let Some(above) = base.parent().filter(|p| !p.is_dir()) {
        own_folder(above, for_all_users)?;
    }
    for path in [base, &folder] {
        own_folder(path, for_all_users)?;
    }
    if may_not_execute(&folder) {
        return Err("programs may not run there (noexec)".into());
    }
    let preload = folder.join(PRELOAD);
    own_file(&preload, embedded.preload, for_all_users)?;
    let gpu_time = folder.join(GPU_TIME);
    if wanted.gpu_time {
        own_file(&gpu_time, embedded.gpu_time, for_all_users)?;
    }
    let driver = unpack_driver(&folder, embedded, wanted.driver, for_all_users)?;
    let inject = folder.join(INJECT);
    if wanted.inject {
        own_file(&inject, embedded.inject, for_all_users)?;
    }
    let limit = folder.join(LIMIT);
    if wanted.limit {
        own_file(&limit, embedded.limit, for_all_users)?;
    }
    Ok(Unpacked { preload, driver, gpu_time, inject, limit })
}

/// The folder of a driver. The simulated one has its NVML and CUPTI; beside the one on GPUs, NVML is NVIDIA's.
fn unpack_driver(
    folder: &Path,
    embedded: Embedded,
    wanted: DriverChoice,
    for_all_users: bool,
) -> std::result::Result<Option<PathBuf>, String> {
    let cuda = ("libcuda.so.1", embedded.sim);
    let (name, libraries) = match wanted {
        DriverChoice::Installed => return Ok(None),
        DriverChoice::Cudest => (control::CUDEST_FOLDER, vec![cuda]),
        DriverChoice::Simulated => (control::SIMULATED_FOLDER, vec![cuda, ("libnvidia-ml.so.1", embedded.nvml)]),
    };
    let folder = folder.join(name);
    own_folder(&folder, for_all_users)?;
    for (name, content) in libraries {
        own_file(&folder.join(name), content, for_all_users)?;
        own_link(&folder.join(name.trim_end_matches(".1")), Path::new(name))?;
    }
    if wanted == DriverChoice::Simulated {
        own_file(&folder.join("libcupti.so"), embedded.cupti, for_all_users)?;
    }
    Ok(Some(folder))
}

/// Makes a folder, or accepts one that is ours alone.
fn own_folder(path: &Path, for_all_users: bool) -> std::result::Result<(), String> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists && !path.is_dir() => return Err(reason(&e)),
        _ => {}
    }
    // Not followed: a link is not a folder of ours, wherever it leads.
    let data = std::fs::symlink_metadata(path).map_err(|e| reason(&e))?;
    match () {
        () if !data.is_dir() => Err("something that is not a folder stands there".into()),
        () if data.uid() != own_uid() => Err("it belongs to another user".into()),
        () if !private(&data) => Err("others may write to it".into()),
        () if for_all_users => {
            open_to_readers(path, &data, 0o755);
            Ok(())
        }
        () => Ok(()),
    }
}

/// Gives other users the right to read, whatever the umask says, and in what an older cutap made. On a read-only file
/// system it stays as it is: root itself can still read it.
fn open_to_readers(path: &Path, data: &Metadata, mode: u32) {
    if data.mode() & mode != mode {
        let _ = set_permissions(path, Permissions::from_mode(mode));
    }
}

/// Puts a file there, unless it is there already, byte by byte.
fn own_file(path: &Path, content: &[u8], for_all_users: bool) -> std::result::Result<(), String> {
    if let Some(data) = existing_copy(path, content) {
        if for_all_users {
            open_to_readers(path, &data, 0o644);
        }
        return Ok(());
    }
    let temporary = temporary(path);
    let _ = std::fs::remove_file(&temporary);
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(&temporary)
        .and_then(|mut file| file.write_all(content).map(|()| file))
        .and_then(|file| if for_all_users { file.set_permissions(Permissions::from_mode(0o644)) } else { Ok(()) })
        .and_then(|()| std::fs::rename(&temporary, path));
    if let Err(e) = written {
        let _ = std::fs::remove_file(&temporary);
        return Err(reason(&e));
    }
    match existing_copy(path, content) {
        Some(_) => Ok(()),
        None => Err("what was written there reads back differently".into()),
    }
}

/// A name beside a file that no other thread uses: the process, and a counter for the threads of a test.
fn temporary(path: &Path) -> PathBuf {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".new-{}-{count}", std::process::id()));
    name.into()
}

/// Puts a link to a file of the same folder there. Programs open the driver by its name without a version too.
fn own_link(path: &Path, to: &Path) -> std::result::Result<(), String> {
    let is_there = || std::fs::read_link(path).is_ok_and(|target| target == to);
    if is_there() {
        return Ok(());
    }
    let temporary = temporary(path);
    let _ = std::fs::remove_file(&temporary);
    let linked = std::os::unix::fs::symlink(to, &temporary).and_then(|()| std::fs::rename(&temporary, path));
    if let Err(e) = linked {
        let _ = std::fs::remove_file(&temporary);
        return Err(reason(&e));
    }
    if is_there() { Ok(()) } else { Err("what was written there reads back differently".into()) }
}

/// The file, if it is ours alone and holds exactly this.
fn existing_copy(path: &Path, content: &[u8]) -> Option<Metadata> {
    let mut file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(path).ok()?;
    let data = file.metadata().ok()?;
    let same = data.is_file()
        && data.uid() == own_uid()
        && private(&data)
        && data.len() == content.len() as u64
        && has(&mut file, content);
    same.then_some(data)
}

/// Whether the file begins with these bytes. It is read in small pieces: fresh memory for the whole of it would cost as
/// much as the comparison.
fn has(file: &mut impl Read, content: &[u8]) -> bool {
    let mut piece = [0; 1 << 16];
    content.chunks(piece.len()).all(|part| {
        let piece = &mut piece[..part.len()];
        file.read_exact(piece).is_ok() && piece == part
    })
}

fn may_not_execute(folder: &Path) -> bool {
    let Ok(path) = CString::new(folder.as_os_str().as_bytes()) else { return true };
    // SAFETY: a string that ends at a zero, and a zeroed structure of cutap.
    unsafe {
        let mut fs: libc::statvfs = std::mem::zeroed();
        libc::statvfs(path.as_ptr(), &mut fs) == 0 && fs.f_flag & libc::ST_NOEXEC != 0
    }
}
