//! The file that `-o` names. It is opened and locked before anything else is made. The program's own file, its
//! arguments and its output are refused, because they would be overwritten.

use crate::base::error::{Error, Result, cannot, print_notice};
use cutap_trace::open_file;
use std::ffi::OsStr;
use std::fs::{File, Metadata, OpenOptions, metadata};
use std::io::Seek;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Opens it without a change: a command that is refused later must not have cost its contents. A collector that
/// continues a recording also reads it. `used` are the program, what starts it, its arguments, and hook libraries.
/// With `force` a recording may take the place of any file.
pub fn open(path: &Path, record: bool, force: bool, used: &[&OsStr]) -> Result<File> {
    let action = if record { "write the recording to" } else { "write the trace to" };
    let advice = "give a file that you may write with -o FILE";
    let there = metadata(path).ok();
    let special = there.as_ref().is_some_and(|m| !m.is_file());
    let refuse =
        |why: &str| Error::own(format!("cannot {action} {}: {why}; give another file with -o FILE", path.display()));
    let same = |used_path: &OsStr| {
        let (Some(there), Ok(used_file)) = (&there, metadata(used_path)) else { return false };
        !special && (there.dev(), there.ino()) == (used_file.dev(), used_file.ino())
    };
    if path.as_os_str() == "-" {
        let why = "standard output is the program's own; give a file with -o FILE (./- for one of this name)";
        return Err(Error::own(format!("cannot {action} -: {why}")));
    }
    if used.iter().any(|path| same(path)) {
        return Err(refuse(
            "it is the program, its interpreter, a hook library, or a file that the program is given, and would be overwritten",
        ));
    }
    // Both would write from the beginning, each over the other. Lines in a pipe or on a terminal only stand between
    // others.
    if let Some(stream) = there.as_ref().filter(|m| m.is_file()).and_then(stream) {
        return Err(refuse(&format!(
            "it is the file that {stream} goes to, and what the program prints would be written over it"
        )));
    }
    if record && there.as_ref().is_some_and(|m| !m.is_file() && !m.is_dir() && !is_null(m)) {
        return Err(refuse(
            "it is a pipe or a device, and a recording must be a file, as it is read again when it is packed",
        ));
    }
    let to_open = OpenWording {
        action,
        advice,
        alternative: "give another file with -o FILE",
        locked: "give each its own file with -o, as rank%q{RANK}.cutap or %p.cutap",
        for_pipe: "the program is started when somebody does",
    };
    let file = open_alone(path, record && !special, &to_open)?;
    let path_text = path.display();
    if record && !force && !special && !is_recording(&file) {
        return Err(Error::own(format!(
            "cannot {action} {path_text}: it holds something that is no recording; give another file with -o FILE, \
            or --force to write over it"
        )));
    }
    if !record && holds_recording(path, &file) {
        return Err(Error::own(format!(
            "cannot {action} {path_text}: it is a recording, and would be overwritten; give another file with -o \
            FILE, or remove it first"
        )));
    }
    Ok(file)
}

/// What opening a file to write to it says.
pub struct OpenWording<'a> {
    /// `write the trace to`.
    pub action: &'a str,
    /// What to do if it cannot be opened.
    pub advice: &'a str,
    /// What to do if the file must not be written to.
    pub alternative: &'a str,
    /// What to do if another cutap writes to it.
    pub locked: &'a str,
    /// What happens when the pipe that it is gets a reader.
    pub for_pipe: &'a str,
}

/// Opens a file and keeps its content. One of a run directory, or one that another cutap writes, is refused.
pub fn open_alone(path: &Path, read: bool, wording: &OpenWording<'_>) -> Result<File> {
    let OpenWording { action, advice, alternative, locked, for_pipe } = wording;
    let path_text = path.display();
    if is_of_a_run(path) {
        return Err(Error::own(format!(
            "cannot {action} {path_text}: it is a file of a run directory, which a program may be using; {alternative}"
        )));
    }
    let mut options = OpenOptions::new();
    options.read(read).write(true).create(true).truncate(false).custom_flags(libc::O_NOCTTY);
    let _first = reader_of(path, for_pipe);
    let file = options.open(path).map_err(|e| cannot(action, path, &e, advice))?;
    // A pipe or a device has nothing that would be lost. The lock is the collectors' too, and goes with the last of
    // them.
    if file.metadata().is_ok_and(|data| data.is_file()) && !lock(&file) {
        return Err(Error::own(format!("cannot {action} {path_text}: another cutap is writing to it; {locked}")));
    }
    Ok(file)
}

/// Whether a file has anything of a recording in it. It may have been opened for writing alone.
pub fn holds_recording(path: &Path, file: &File) -> bool {
    let has_bytes = file.metadata().is_ok_and(|data| data.is_file() && data.len() > 0);
    has_bytes && open_file(path, false).is_ok_and(|file| is_recording(&file))
}

/// Whether a file is empty or begins as a recording does.
pub fn is_recording(file: &File) -> bool {
    let mut first = [0; 8];
    let read = file.read_at(&mut first, 0);
    read.is_ok_and(|bytes| cutap_file::MAGIC.to_le_bytes().starts_with(&first[..bytes]))
}

/// Opening a pipe waits for its reader: that must not look as if nothing happened. What is given back is kept until the
/// pipe is open, for a reader that sees its only writer go takes it for the end.
pub fn reader_of(path: &Path, then: &str) -> Option<File> {
    metadata(path).ok().filter(|m| m.file_type().is_fifo())?;
    let first = OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(path);
    if matches!(&first, Err(e) if e.raw_os_error() == Some(libc::ENXIO)) {
        print_notice(&format!("nobody reads {} yet; {then}", path.display()));
    }
    first.ok()
}

/// Which of our streams, which are the program's too, goes to this file.
fn stream(file: &Metadata) -> Option<&'static str> {
    let leads_to =
        |n: u8| metadata(format!("/proc/self/fd/{n}")).is_ok_and(|m| (m.dev(), m.ino()) == (file.dev(), file.ino()));
    [(1, "standard output"), (2, "standard error")].into_iter().find(|s| leads_to(s.0)).map(|s| s.1)
}

/// `/dev/null`: what recording costs is measured with it.
fn is_null(file: &Metadata) -> bool {
    file.file_type().is_char_device() && file.rdev() == libc::makedev(1, 3)
}

/// A file that was made for this run, removed again if the program is not started.
pub struct NewOutput<'a>(pub Option<&'a Path>);

impl Drop for NewOutput<'_> {
    fn drop(&mut self) {
        self.0.map(std::fs::remove_file);
    }
}

/// Whether what happens to this file while it is written is ours to tell: it is a file, and has a name.
pub fn has_name(file: &File) -> bool {
    file.metadata().is_ok_and(|data| data.is_file() && data.nlink() > 0)
}

/// What somebody else did to a file while it was written, where its content is gone. One that was moved is whole.
pub fn tampered(file: &File, path: &Path) -> Option<String> {
    let (path_text, mut place) = (path.display(), file);
    // Before the length: a collector that stays writes meanwhile.
    let at = place.stream_position().unwrap_or(0);
    let data = file.metadata().ok()?;
    if data.nlink() == 0 {
        return Some(format!(
            "{path_text} was removed while it was written, and what stood in it is gone; run the program again and \
            leave the file alone until its end"
        ));
    }
    // Whoever writes goes on where it was, whatever is in front of that: in neither of our files there is a zero at the
    // beginning.
    let mut first = [1];
    let read = File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).and_then(|f| f.read_at(&mut first, 0));
    let length = data.len();
    (length < at || length > 0 && read.is_ok() && first == [0]).then(|| {
        format!(
            "{path_text} was cut by somebody else while it was written, and what stood in it is gone; run the program \
             again and leave the file alone until its end"
        )
    })
}

/// Keeps a recording from everybody else who would write to it, as long as the file is open. False when somebody does.
pub fn lock(file: &File) -> bool {
    // SAFETY: a descriptor of cutap. A file system without locks has none to wait for.
    let status = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
    status == 0 || std::io::Error::last_os_error().kind() != std::io::ErrorKind::WouldBlock
}

/// Whether two paths lead to one file: a link of either kind, `a/../a`.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    let file = |path: &Path| metadata(path).map(|data| (data.dev(), data.ino())).ok();
    one == other || file(one).is_some_and(|one| file(other) == Some(one))
}

/// Whether a file that is there is one of a run directory: some program may have it mapped.
pub fn is_of_a_run(path: &Path) -> bool {
    let begins = |path: &Path| {
        let mut first = [0; 8];
        let read = open_file(path, false).and_then(|file| file.read_exact_at(&mut first, 0));
        read.is_ok() && u64::from_le_bytes(first) == cutap_wire::MAGIC
    };
    let is_file = metadata(path).is_ok_and(|data| data.is_file());
    is_file && (begins(path) || begins(&path.with_file_name(cutap_wire::process::FILE)))
}

/// Whether somebody keeps it so.
pub fn is_locked(path: &Path) -> bool {
    open_file(path, false).is_ok_and(|file| !lock(&file))
}
