//! Opens files whose names come from a traced program, a recording, or a folder that anybody may write to. Such a name
//! may lead to a pipe without a writer, or to a device that does something when it is opened.

use rustix::fs::{FileType, Mode, OFlags};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

/// Opens a regular file. What it is, is looked at before it is opened to be read.
pub fn open(path: &Path) -> Option<File> {
    open_as(path, OFlags::empty())
}

/// The same, unless the last part of the path is a link.
pub fn open_unlinked(path: &Path) -> Option<File> {
    open_as(path, OFlags::NOFOLLOW)
}

fn open_as(path: &Path, flags: OFlags) -> Option<File> {
    let path_fd = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC | flags, Mode::empty()).ok()?;
    let status = rustix::fs::fstat(&path_fd).ok()?;
    if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
        return None;
    }
    let to_read = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let reopened_path = format!("/proc/self/fd/{}", path_fd.as_raw_fd());
    // Where there is no /proc it is opened by its name, and is compared with what was found.
    let opened = rustix::fs::open(reopened_path, to_read, Mode::empty())
        .or_else(|_| rustix::fs::open(path, to_read | flags, Mode::empty()))
        .ok()?;
    let same = rustix::fs::fstat(&opened).is_ok_and(|now| (now.st_dev, now.st_ino) == (status.st_dev, status.st_ino));
    same.then(|| opened.into())
}
