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

fn open_as(path: &Path, how: OFlags) -> Option<File> {
    let found = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC | how, Mode::empty()).ok()?;
    let what = rustix::fs::fstat(&found).ok()?;
    if FileType::from_raw_mode(what.st_mode) != FileType::RegularFile {
        return None;
    }
    let to_read = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let again = format!("/proc/self/fd/{}", found.as_raw_fd());
    // Where there is no /proc it is opened by its name, and is compared with what was found.
    let opened = rustix::fs::open(again, to_read, Mode::empty())
        .or_else(|_| rustix::fs::open(path, to_read | how, Mode::empty()))
        .ok()?;
    let same = rustix::fs::fstat(&opened).is_ok_and(|now| (now.st_dev, now.st_ino) == (what.st_dev, what.st_ino));
    same.then(|| opened.into())
}
