//! A place in a run directory. The directory is opened once, and everything in it is opened relative to that
//! descriptor. Links are never followed: a container or a user that may write there must not choose which other
//! file is read or written.
//!
//! One link is part of a run: `names` of a vfork child, which leads to the names of its parent. It is followed by its
//! text, and only to such a file of the same run.

use super::run_root::Root;
use rustix::fs::{AtFlags, Dir, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Links from names to names that are followed one after the other: a vfork child may have one itself.
const MOST_LINKS: u32 = 8;
/// Folders in folders that are removed.
const DEEPEST: u32 = 16;

/// A place in a run directory that is held open.
#[derive(Debug, Clone)]
pub struct RunPath {
    root: Arc<Root>,
    /// Relative to the root; empty for the root itself.
    inside: PathBuf,
}

impl RunPath {
    /// Opens a run directory.
    ///
    /// # Errors
    /// It is not there, or no folder.
    pub fn open(path: &Path) -> io::Result<RunPath> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = |real: &Path| Ok(rustix::fs::open(real, flags, Mode::empty())?);
        Ok(RunPath { root: Arc::new(Root::open(path, open)?), inside: PathBuf::new() })
    }

    /// Gives the descriptor up, where others are needed: the directory is found by its path from then on.
    pub fn let_go(&self) {
        self.root.let_go();
    }

    /// What of the run could not be opened by this and all that were joined to it, and why, for a sentence.
    #[must_use]
    pub fn unopened(&self) -> Option<String> {
        self.root.unopened.sentence(&self.root.path)
    }

    /// Forgets that: all of the run is read once more.
    pub fn forget_unopened(&self) {
        self.root.unopened.forget();
    }

    /// A name in this folder.
    pub fn join(&self, name: impl AsRef<Path>) -> RunPath {
        RunPath { root: self.root.clone(), inside: self.inside.join(name) }
    }

    /// Its path, for sentences and as a key.
    pub fn path(&self) -> PathBuf {
        // A join with nothing would add a slash.
        if self.inside.as_os_str().is_empty() { self.root.path.clone() } else { self.root.path.join(&self.inside) }
    }

    /// The path of the run directory, for sentences and as a key.
    pub fn run(&self) -> &Path {
        &self.root.path
    }

    /// What the run directory is, if it is still there.
    ///
    /// # Errors
    /// It is not.
    pub fn metadata(&self) -> io::Result<Metadata> {
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let root = RunPath { root: self.root.clone(), inside: PathBuf::new() };
        File::from(root.open_at(flags, Mode::empty())?).metadata()
    }

    /// Makes a link in place of this, for what is to be found elsewhere.
    ///
    /// # Errors
    /// Something stands there, or it cannot be made.
    pub fn make_link(&self, target: &Path) -> io::Result<()> {
        let (folder, name) = self.parent()?;
        Ok(rustix::fs::symlinkat(target, folder, name)?)
    }

    /// Opens a file that is there. What is no file is refused: a pipe without a writer would be waited for.
    ///
    /// # Errors
    /// It is not there, no file, or a link.
    pub fn open_file(&self, write: bool) -> io::Result<File> {
        let access = if write { OFlags::RDWR } else { OFlags::RDONLY };
        let no_file = |reason| Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        let opened = self.root.unopened.open(&self.path(), || {
            let mut place = self.clone();
            for _ in 0..MOST_LINKS {
                match place.open_at(access | OFlags::NONBLOCK, Mode::empty()) {
                    Err(Errno::LOOP) => match place.other_names() {
                        Some(names) => place = names,
                        None => break,
                    },
                    opened => return Ok(File::from(opened?)),
                }
            }
            Err(io::Error::from(Errno::LOOP))
        });
        let file = match opened {
            Err(e) if has_errno(&e, Errno::NXIO) => return no_file("it is a socket"),
            Err(e) if has_errno(&e, Errno::LOOP) => return no_file("it is a link, and those are not followed"),
            opened => opened?,
        };
        let data = file.metadata()?;
        match (data.is_file(), data.nlink()) {
            (true, 0 | 1) => Ok(file),
            (true, _) => no_file("it has another name (a hard link), and may be a file of somebody else"),
            (false, _) => no_file("it is a pipe, a folder or a device, and no file"),
        }
    }

    /// All that such a file holds, up to `most` bytes: a hole may have any length.
    ///
    /// # Errors
    /// As for `open_file`.
    pub fn read(&self, most: usize) -> io::Result<Vec<u8>> {
        let (file, mut bytes) = (self.open_file(false)?, Vec::new());
        file.take(most as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// A file stands there, and can be opened.
    pub fn is_file(&self) -> bool {
        self.open_file(false).is_ok()
    }

    /// Makes a file that only its owner may read, to read and write.
    ///
    /// # Errors
    /// Something stands there, or none can be made.
    pub fn create_new(&self) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        Ok(self.open_at(flags, Mode::RUSR | Mode::WUSR)?.into())
    }

    /// The names in this folder.
    ///
    /// # Errors
    /// It is not there, no folder, or a link.
    pub fn list(&self) -> io::Result<Vec<String>> {
        let folder = self
            .root
            .unopened
            .open(&self.path(), || Ok(self.open_at(OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?))?;
        let mut names = Vec::new();
        for entry in Dir::new(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_str().ok().filter(|name| !matches!(*name, "." | ".."));
            names.extend(name.map(str::to_owned));
        }
        Ok(names)
    }

    /// Gives it another name in the same folder, in place of what has that name.
    ///
    /// # Errors
    /// It is not there, or may not be moved.
    pub fn rename(&self, to: &str) -> io::Result<()> {
        let (folder, name) = self.parent()?;
        Ok(rustix::fs::renameat_with(&folder, name, &folder, to, RenameFlags::empty())?)
    }

    /// Exchanges it with what has that name in the same folder. At no moment is one of the names free.
    ///
    /// # Errors
    /// One is not there, or the file system cannot do it.
    pub fn exchange(&self, with: &str) -> io::Result<()> {
        let (folder, name) = self.parent()?;
        Ok(rustix::fs::renameat_with(&folder, name, &folder, with, RenameFlags::EXCHANGE)?)
    }

    /// Removes a file or a link.
    ///
    /// # Errors
    /// It is not there, or may not be removed.
    pub fn remove_file(&self) -> io::Result<()> {
        let (folder, name) = self.parent()?;
        Ok(rustix::fs::unlinkat(&folder, name, AtFlags::empty())?)
    }

    /// Removes a folder and what is in it.
    ///
    /// # Errors
    /// It is not there, or something in it may not be removed.
    pub fn remove_folder(&self) -> io::Result<()> {
        self.remove_to(DEEPEST)
    }

    fn remove_to(&self, depth: u32) -> io::Result<()> {
        for name in self.list()? {
            let inner = self.join(name);
            match inner.remove_file() {
                Err(e) if has_errno(&e, Errno::ISDIR) && depth > 0 => inner.remove_to(depth - 1)?,
                removed => removed?,
            }
        }
        let (folder, name) = self.parent()?;
        Ok(rustix::fs::unlinkat(&folder, name, AtFlags::REMOVEDIR)?)
    }

    /// The folder that this is in, and its name there.
    fn parent(&self) -> io::Result<(OwnedFd, &OsStr)> {
        let name = self.inside.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let parent = self.inside.parent().unwrap_or(Path::new(""));
        let above = RunPath { root: self.root.clone(), inside: parent.to_owned() };
        Ok((above.open_at(OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?, name))
    }

    /// Opens it, and follows no link on the way.
    fn open_at(&self, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        self.root.open_at(&self.inside, flags, mode)
    }

    /// The names file of another process of this run to which this one leads. It must read `../pPID-N/names`.
    pub fn other_names(&self) -> Option<RunPath> {
        let (folder, name) = self.parent().ok()?;
        if name != OsStr::new(cutap_wire::names::FILE) {
            return None;
        }
        let target = rustix::fs::readlinkat(&folder, name, Vec::new()).ok()?;
        let process = target.to_bytes().strip_prefix(b"../")?.strip_suffix(b"/names")?;
        let is_process = process.starts_with(b"p") && process[1..].iter().all(|b| b.is_ascii_digit() || *b == b'-');
        is_process.then(|| RunPath {
            root: self.root.clone(),
            inside: Path::new(OsStr::from_bytes(process)).join(cutap_wire::names::FILE),
        })
    }
}

fn has_errno(error: &io::Error, errno: Errno) -> bool {
    error.raw_os_error() == Some(errno.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::super::run_root::open_in_steps;
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// A run directory beside a file that nothing in it may lead to.
    fn run() -> (tempfile::TempDir, RunPath) {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "secret").unwrap();
        fs::create_dir_all(outside.path().join("run/p1-0")).unwrap();
        fs::write(outside.path().join("run/p1-0/names"), "names").unwrap();
        let run = RunPath::open(&outside.path().join("run")).unwrap();
        (outside, run)
    }

    /// Both ways of opening: with openat2, and where there is none.
    fn opened(place: &RunPath) -> [Result<Vec<u8>, Errno>; 2] {
        let read = |fd: OwnedFd| {
            let mut bytes = Vec::new();
            let _ = File::from(fd).read_to_end(&mut bytes);
            bytes
        };
        let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        [
            place.open_at(how, Mode::empty()).map(read),
            place.root.with(|at| open_in_steps(at.folder, &place.inside, how, Mode::empty())).map(read),
        ]
    }

    #[test]
    fn no_link_leads_out() {
        let (outside, run) = run();
        let (at, secret) = (outside.path().join("run"), outside.path().join("secret"));
        symlink(&secret, at.join("control")).unwrap();
        symlink(&secret, at.join("p1-0/t0.ring")).unwrap();
        symlink(outside.path(), at.join("p2-0")).unwrap();
        symlink("../../secret", at.join("p1-0/names.new")).unwrap();
        for name in ["control", "p1-0/t0.ring", "p2-0/secret", "p1-0/names.new", "../secret", "p1-0/../../secret"] {
            for (n, read) in opened(&run.join(name)).iter().enumerate() {
                assert!(read.is_err(), "{name}, way {n}: {read:?}");
            }
            assert!(run.join(name).open_file(false).is_err(), "{name}");
            assert!(run.join(name).open_file(true).is_err(), "{name}");
        }
        assert!(run.join("p2-0").list().is_err());
        assert_eq!(opened(&run.join("p1-0/names")), [const { Vec::new() }; 2].map(|_: Vec<u8>| Ok(b"names".to_vec())));
        run.join("p2-0").remove_file().unwrap();
        assert!(secret.exists());
    }

    #[test]
    fn names_of_a_vfork_child_are_those_of_its_parent_and_nothing_else() {
        let (outside, run) = run();
        let at = outside.path().join("run");
        for (process, target) in [
            ("p2-0", "../p1-0/names"),
            ("p2-1", "../p2-0/names"),
            ("p3-0", "../../secret"),
            ("p4-0", "../p4-0/names"),
            ("p5-0", "../p1-0/../../secret"),
        ] {
            fs::create_dir(at.join(process)).unwrap();
            symlink(target, at.join(process).join("names")).unwrap();
        }
        let read = |process: &str| run.join(process).join("names").read(100).ok();
        assert_eq!([read("p2-0"), read("p2-1")], [const { Some(b"names") }; 2].map(|b| b.map(|b| b.to_vec())));
        assert_eq!([read("p3-0"), read("p4-0"), read("p5-0")], [const { None }; 3]);
    }

    /// The directory is exchanged while it is used.
    #[test]
    fn a_directory_is_the_one_that_was_opened() {
        let (outside, run) = run();
        fs::rename(outside.path().join("run"), outside.path().join("moved")).unwrap();
        fs::create_dir_all(outside.path().join("run/p1-0")).unwrap();
        fs::write(outside.path().join("run/p1-0/names"), "others").unwrap();
        run.join("sums").create_new().unwrap();
        run.join("sums").rename("sums.old").unwrap();
        assert_eq!(run.join("p1-0/names").read(100).unwrap(), b"names");
        assert!(outside.path().join("moved/sums.old").exists());
        run.join("p1-0").remove_folder().unwrap();
        assert_eq!(run.list().unwrap(), ["sums.old"]);
    }

    /// Where no descriptor is free, the directory is not held any more.
    #[test]
    fn a_directory_that_is_not_held_is_found_again() {
        let (outside, run) = run();
        *run.root.folder.write().unwrap() = None;
        symlink(outside.path().join("secret"), outside.path().join("run/control")).unwrap();
        assert_eq!(run.join("p1-0/names").read(100).unwrap(), b"names");
        assert!(run.join("control").open_file(false).is_err() && run.join("../secret").open_file(false).is_err());
        fs::rename(outside.path().join("run"), outside.path().join("moved")).unwrap();
        fs::create_dir_all(outside.path().join("run/p1-0")).unwrap();
        fs::write(outside.path().join("run/p1-0/names"), "others").unwrap();
        assert!(run.join("p1-0/names").read(100).is_err(), "another directory");
    }

    #[test]
    fn pipes_are_not_waited_for() {
        let (outside, run) = run();
        let pipe = outside.path().join("run/control");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let error = run.join("control").open_file(true).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{error}");
        assert!(run.join("control").create_new().is_err());
    }
}
