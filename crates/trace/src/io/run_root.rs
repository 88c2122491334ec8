//! The descriptor of a run directory, and how something beneath it is opened without following a link.

use super::unopened_files::UnopenedFiles;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::{PoisonError, RwLock};

/// A run directory that is held open.
#[derive(Debug)]
pub struct Root {
    /// None where there is no descriptor to spare.
    pub(super) folder: RwLock<Option<OwnedFd>>,
    /// Device and number, by which it is known again.
    which: (u64, u64),
    /// As it was given: for sentences.
    pub path: PathBuf,
    /// The same without links.
    real: PathBuf,
    pub(super) unopened: UnopenedFiles,
}

impl Root {
    /// Opens one; `open` opens a path.
    pub fn open(path: &Path, open: impl Fn(&Path) -> io::Result<OwnedFd>) -> io::Result<Root> {
        let (real, unopened) = (std::fs::canonicalize(path)?, UnopenedFiles::default());
        let folder = unopened.open(path, || open(&real))?;
        let stat = rustix::fs::fstat(&folder)?;
        let which = (stat.st_dev, stat.st_ino);
        Ok(Root { folder: RwLock::new(Some(folder)), which, path: path.to_owned(), real, unopened })
    }

    /// Opens a path in it, and follows no link on the way.
    pub fn open_at(&self, inside: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // Nothing in it leads up, so that it stays beneath wherever it begins.
        if inside.components().any(|part| !matches!(part, Component::Normal(_))) {
            return Err(Errno::XDEV);
        }
        self.with(|place| {
            let path = match place.before.join(inside) {
                path if path.as_os_str().is_empty() => PathBuf::from("."),
                path => path,
            };
            match rustix::fs::openat2(place.folder, &path, flags, mode, ResolveFlags::NO_SYMLINKS) {
                // Linux before 5.6 does not know it, and old sandboxes do not let it pass.
                Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => open_in_steps(place.folder, &path, flags, mode),
                opened => opened,
            }
        })
    }

    /// Closes the descriptor.
    pub fn let_go(&self) {
        *self.folder.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Does something with the directory. Where no descriptor is left that one is given up, and the directory is opened
    /// by its path from then on, if it is still the same.
    pub(super) fn with<T>(&self, act: impl Fn(Place<'_>) -> Result<T, Errno>) -> Result<T, Errno> {
        if let Some(folder) = &*self.folder.read().unwrap_or_else(PoisonError::into_inner) {
            match act(Place { folder: folder.as_fd(), before: Path::new("") }) {
                Err(Errno::MFILE | Errno::NFILE) => {}
                done => return done,
            }
        }
        self.let_go();
        let now = rustix::fs::stat(&self.real)?;
        match (now.st_dev, now.st_ino) == self.which {
            true => act(Place { folder: CWD, before: &self.real }),
            false => Err(Errno::NOENT),
        }
    }
}

/// A folder that is held, and the path from there to the run directory.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub folder: BorrowedFd<'a>,
    before: &'a Path,
}

/// Opens a path by one call for each part of it, and follows no link.
pub(super) fn open_in_steps(from: BorrowedFd<'_>, path: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let mut opened: Option<OwnedFd> = None;
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        let folder = opened.as_ref().map_or(from, AsFd::as_fd);
        let name = match part {
            Component::Normal(name) => name,
            Component::CurDir => OsStr::new("."),
            Component::RootDir => OsStr::new("/"),
            _ => return Err(Errno::XDEV),
        };
        if parts.peek().is_none() {
            return rustix::fs::openat(folder, name, flags, mode);
        }
        let step = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        opened = Some(rustix::fs::openat(folder, name, step, Mode::empty())?);
    }
    Err(Errno::NOENT)
}
