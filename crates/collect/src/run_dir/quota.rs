//! File systems on which mapped memory may lose its room after it was allocated, so that a traced program would die of
//! SIGBUS. That is btrfs with a quota: each write of a page that was written back asks the quota again (Linux 6.18,
//! with and without copy on write).
//!
//! Measured on Linux 6.18: btrfs asks the quota again at each write of a page that was written back, also of files
//! without copy on write and with room allocated. A limit that is set later, or that this user may not see
//! (`/sys/fs/btrfs`), is not noticed. A recording (`-o`) on such a disk is safe.

use std::ffi::CString;
use std::fs::{File, read_dir, read_to_string};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const BTRFS: i64 = 0x9123_683e;
/// `_IOR(0x94, 31, struct btrfs_ioctl_fs_info_args)`; the file system's id stands behind two words.
const FS_INFO: libc::c_ulong = 0x8400_941f;
const FS_INFO_BYTES: usize = 1024;

fn is_btrfs(folder: &Path) -> bool {
    let Ok(path) = CString::new(folder.as_os_str().as_bytes()) else { return false };
    // SAFETY: a string that ends at a zero, and a zeroed structure of cutap.
    unsafe {
        let mut fs: libc::statfs = std::mem::zeroed();
        libc::statfs(path.as_ptr(), &mut fs) == 0 && fs.f_type as i64 == BTRFS
    }
}

/// Why a run directory must not be there: some quota of the file system has a limit. One that cannot be asked has none.
pub fn quota_limit(folder: &Path) -> Option<&'static str> {
    if !is_btrfs(folder) {
        return None;
    }
    let file = File::open(folder).ok()?;
    let mut info = [0u8; FS_INFO_BYTES];
    // SAFETY: the kernel writes so many bytes.
    if unsafe { libc::ioctl(file.as_raw_fd(), FS_INFO, info.as_mut_ptr()) } != 0 {
        return None;
    }
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let id = [16..20, 20..22, 22..24, 24..26, 26..32].map(|part| hex(&info[part])).join("-");
    let groups = read_dir(format!("/sys/fs/btrfs/{id}/qgroups")).ok()?;
    let mut flags = groups.flatten().filter_map(|group| read_to_string(group.path().join("limit_flags")).ok());
    let has_limit = |text: String| !matches!(text.trim(), "0" | "0x0");
    flags.any(has_limit).then_some(
        "it is on btrfs with a quota, where a program would die of SIGBUS when the quota is used up (tmpfs and ext4 have no such fault)",
    )
}
