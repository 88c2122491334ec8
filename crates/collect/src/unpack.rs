//! The libraries that travel inside `cutap`, put where the dynamic loader can find them: a private
//! folder named after their content; root's, which others may read, for what root starts may become another user. A start looks at every byte before it uses them, replaces what
//! differs, and uses no folder that another user owns, may write to, or that LD_PRELOAD cannot carry.
//! Many starts at once are fine: files appear whole, by rename, and all say the same.

use crate::environment::{PRELOAD, can_be_preloaded};
use crate::error::{Error, Result, reason};
use crate::folder::{own_uid, private};
use std::ffi::CString;
use std::fs::{DirBuilder, OpenOptions, Permissions, set_permissions};
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
    /// The simulated `libcuda.so.1`.
    pub sim: &'static [u8],
    /// The simulated machine's `libnvidia-ml.so.1`.
    pub nvml: &'static [u8],
}

/// Where they lie.
#[derive(Debug)]
pub struct Unpacked {
    /// The preload's path.
    pub preload: PathBuf,
    /// The folder of the simulated driver and its NVML, which holds nothing else.
    pub sim: PathBuf,
}

/// Unpacks them, or finds them unpacked; the simulated driver only where it is wanted.
pub fn unpack(embedded: Embedded, sim: bool) -> Result<Unpacked> {
    let mut refused = Vec::new();
    for base in bases() {
        match into(&base, embedded, sim) {
            Ok(done) => return Ok(done),
            Err(why) => refused.push(format!("{} ({why})", base.display())),
        }
    }
    Err(Error::own(format!(
        "no folder can hold cutap's libraries: {}; set CUTAP_CACHE_DIR to a private folder where programs may run",
        refused.join(", ")
    )))
}

/// Root's, where its home is closed to others. Files there are for all to read.
const OPEN: &str = "/var/cache/cutap";

/// In the order in which they are tried. What is set to a relative path is not set.
fn bases() -> Vec<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let mut all = Vec::new();
    all.extend(set("CUTAP_CACHE_DIR"));
    // A home that is not there (a service's /nonexistent) is not made.
    let home = set("HOME").filter(|home| home.is_dir());
    // What root starts may become another user, who cannot go through root's home.
    if own_uid() == 0 && set("XDG_CACHE_HOME").is_none() && !home.as_deref().is_none_or(is_open) {
        all.push(PathBuf::from(OPEN));
    }
    all.extend(set("XDG_CACHE_HOME").or_else(|| Some(home?.join(".cache"))).map(|p| p.join("cutap")));
    all.push(PathBuf::from(format!("/tmp/cutap-{}", own_uid())));
    all.push(PathBuf::from(format!("/var/tmp/cutap-{}", own_uid())));
    all
}

/// Anybody may go through a folder.
fn is_open(folder: &Path) -> bool {
    folder.ancestors().all(|f| f.metadata().is_ok_and(|data| data.mode() & 0o001 != 0))
}

fn into(base: &Path, embedded: Embedded, with_sim: bool) -> std::result::Result<Unpacked, String> {
    let (folder, others) = (base.join(embedded.name), base == Path::new(OPEN));
    if !can_be_preloaded(&folder) {
        return Err("LD_PRELOAD cannot carry a path with a space, a colon or a $, nor a very long one".into());
    }
    // One level at most: a home that does not exist is nothing to be made by us.
    if let Some(parent) = base.parent().filter(|p| !p.is_dir()) {
        match DirBuilder::new().mode(0o700).create(parent) {
            Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => return Err(reason(&e)),
            _ => {}
        }
    }
    let sim = folder.join("sim");
    for made in [base, &folder, &sim] {
        own_folder(made, others)?;
    }
    if may_not_execute(&folder) {
        return Err("programs may not run there (noexec)".into());
    }
    let preload = folder.join(PRELOAD);
    own_file(&preload, embedded.preload, others)?;
    if with_sim {
        own_file(&sim.join("libcuda.so.1"), embedded.sim, others)?;
        own_file(&sim.join("libnvidia-ml.so.1"), embedded.nvml, others)?;
    }
    Ok(Unpacked { preload, sim })
}

/// Makes a folder, or accepts one that is ours alone.
fn own_folder(path: &Path, others: bool) -> std::result::Result<(), String> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists && !path.is_dir() => return Err(reason(&e)),
        // Whatever the umask says.
        Ok(()) if others => set_permissions(path, Permissions::from_mode(0o755)).map_err(|e| reason(&e))?,
        _ => {}
    }
    // Not followed: a link is not a folder of ours, wherever it leads.
    let data = std::fs::symlink_metadata(path).map_err(|e| reason(&e))?;
    match () {
        () if !data.is_dir() => Err("something that is not a folder stands there".into()),
        () if data.uid() != own_uid() => Err("it belongs to another user".into()),
        () if !private(&data) => Err("others may write to it".into()),
        () => Ok(()),
    }
}

/// Puts a file there, unless it is there already, byte by byte.
fn own_file(path: &Path, content: &[u8], others: bool) -> std::result::Result<(), String> {
    if is_there(path, content) {
        return Ok(());
    }
    // A name that nobody else uses: the process, and a counter for the threads of a test.
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let temporary = path.with_extension(format!("new-{}-{count}", std::process::id()));
    let _ = std::fs::remove_file(&temporary);
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(&temporary)
        .and_then(|mut file| file.write_all(content).map(|()| file))
        .and_then(|file| if others { file.set_permissions(Permissions::from_mode(0o644)) } else { Ok(()) })
        .and_then(|()| std::fs::rename(&temporary, path));
    if let Err(e) = written {
        let _ = std::fs::remove_file(&temporary);
        return Err(reason(&e));
    }
    match is_there(path, content) {
        true => Ok(()),
        false => Err("what was written there reads back differently".into()),
    }
}

/// The file is ours alone and holds exactly this.
fn is_there(path: &Path, content: &[u8]) -> bool {
    let Ok(mut file) = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(path) else { return false };
    let Ok(data) = file.metadata() else { return false };
    let mut found = Vec::new();
    data.is_file()
        && data.uid() == own_uid()
        && private(&data)
        && data.len() == content.len() as u64
        && file.read_to_end(&mut found).is_ok()
        && found == content
}

fn may_not_execute(folder: &Path) -> bool {
    let Ok(path) = CString::new(folder.as_os_str().as_bytes()) else { return true };
    // SAFETY: a string that ends at a zero, and a zeroed structure of our own.
    unsafe {
        let mut fs: libc::statvfs = std::mem::zeroed();
        libc::statvfs(path.as_ptr(), &mut fs) == 0 && fs.f_flag & libc::ST_NOEXEC != 0
    }
}
