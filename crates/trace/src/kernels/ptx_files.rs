//! Parameter lists in PTX files that the driver loads for a program. The file is read here while the program is
//! followed live, never in the program. A file is ignored that changed after the call, that is not the one of the call,
//! or whose process is unknown: a wrong name is worse than none.
//!
//! The name comes from the program. So only a regular file is opened, no device and no pipe, and no more is read than
//! it says to hold.

use super::names::Kernels;
use crate::event::value::Value;
use crate::event::{Event, Exit, Process};
use cutap_calls::{Role, argument};
use cutap_stacks::open_regular;
use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Bytes of files that are read of a process at most.
const LONGEST: u64 = 64 << 20;
/// Files of a process that are kept in mind.
const MOST: usize = 4096;
/// How long the reading of a file may take.
const PATIENCE: Duration = Duration::from_secs(1);

const ENTRY: &[u8] = b".entry";

/// Files that a process has loaded: what each was at the call, and how much is still read of them.
#[derive(Debug)]
pub struct LoadedFiles {
    /// Device and number there, by the name that the program gave.
    ids_by_name: HashMap<Box<[u8]>, (u64, u64)>,
    /// Those that were read, with the time of their last change.
    already_read: HashSet<(u64, u64, SystemTime)>,
    /// Bytes that are still read.
    byte_budget: u64,
    /// One was not read in time, so its file system may never answer: none is read any more.
    late: bool,
}

impl Default for LoadedFiles {
    fn default() -> LoadedFiles {
        LoadedFiles { ids_by_name: HashMap::new(), already_read: HashSet::new(), byte_budget: LONGEST, late: false }
    }
}

impl LoadedFiles {
    /// A file of this name is being loaded, and is this one.
    pub fn loaded(&mut self, name: &[u8], which: (u64, u64)) {
        if self.ids_by_name.len() < MOST || self.ids_by_name.contains_key(name) {
            self.ids_by_name.insert(name.into(), which);
        }
    }

    /// The bytes of the file of this name, found at `path`, if it is the one that was loaded and unchanged since.
    fn read(&mut self, name: &Path, path: PathBuf, ended_ns: u64) -> Option<Vec<u8>> {
        let which = *self.ids_by_name.get(name.as_os_str().as_bytes())?;
        if self.late || self.byte_budget == 0 {
            return None;
        }
        let (already_read, most) = (self.already_read.clone(), self.byte_budget);
        let (send, receiver) = channel();
        // A file system may be the program itself, which may wait for us.
        std::thread::spawn(move || {
            let _ = send.send(read(&path, which, ended_ns, |key| !already_read.contains(&key), most));
        });
        let received = receiver.recv_timeout(PATIENCE);
        self.late = received.is_err();
        let (key, bytes) = received.ok()??;
        self.already_read.insert(key);
        self.byte_budget = self.byte_budget.saturating_sub(bytes.len() as u64);
        Some(bytes)
    }
}

/// Whether a call that has ended loaded something from a file.
pub fn loads(event: &Event) -> bool {
    matches!(event, Event::Exit(exit) if argument(&exit.call.function.name, Role::LoadsFile).is_some())
}

/// Reads what a call that has just ended loaded from a file.
pub fn read_loaded(event: &Event, kernels: &mut Kernels) {
    let Event::Exit(exit) = event else { return };
    let Some(text) = file_of(exit).and_then(|name| {
        let call = &exit.call;
        let process = &call.thread.process;
        let ended_ns = process.start_realtime_ns + exit.end_ns.saturating_sub(process.start_ns);
        kernels.files.read(&name, seen_from_here(process, &name)?, ended_ns)
    }) else {
        return;
    };
    for_each_entry(&text, |list| kernels.entry(list));
}

/// The name of the file, of a call that succeeded.
fn file_of(exit: &Exit) -> Option<PathBuf> {
    let n = argument(&exit.call.function.name, Role::LoadsFile)?;
    match exit.call.effective_args().get(n).map(Value::target) {
        Some(Value::Text(text)) if !text.cut && !exit.is_error() && !text.text.is_empty() => {
            Some(text.text.clone().into())
        }
        _ => None,
    }
}

/// Where a file of the process is found by us: its root and folder may be others than ours.
fn seen_from_here(process: &Process, path: &Path) -> Option<PathBuf> {
    let own = PathBuf::from(format!("/proc/{}", process.pid));
    // In a separate namespace a process has another number than it knows of.
    if std::fs::read_link(own.join("exe")).is_ok_and(|exe| exe == Path::new(&*process.exe)) {
        return Some(match path.strip_prefix("/") {
            Ok(rest) => own.join("root").join(rest),
            Err(_) => own.join("cwd").join(path),
        });
    }
    path.is_absolute().then(|| path.to_owned())
}

/// The file, if it is the one that was loaded, is as it was at this time, and is `wanted`. Its size is what it says
/// before it is read: files of /proc say 0, and some have no end.
fn read(
    path: &Path,
    which: (u64, u64),
    ended_ns: u64,
    is_new: impl Fn((u64, u64, SystemTime)) -> bool,
    most: u64,
) -> Option<((u64, u64, SystemTime), Vec<u8>)> {
    let file = open_regular(path)?;
    let metadata = file.metadata().ok().filter(|data| (data.dev(), data.ino()) == which && data.len() <= most)?;
    let changed = metadata.modified().ok()?;
    let key = (which.0, which.1, changed);
    if changed.duration_since(UNIX_EPOCH).ok()? > Duration::from_nanos(ended_ns) || !is_new(key) {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(metadata.len()).read_to_end(&mut bytes).ok()?;
    Some((key, bytes))
}

/// Each `.entry name(...)` of a text, up to the closing parenthesis.
fn for_each_entry(text: &[u8], mut each: impl FnMut(&[u8])) {
    let mut rest = text;
    while let Some(at) =
        rest.windows(ENTRY.len() + 1).position(|w| w.starts_with(ENTRY) && w[ENTRY.len()].is_ascii_whitespace())
    {
        let list = rest.get(at..).unwrap_or(&[]);
        let end = list.iter().position(|b| matches!(b, b')' | b'{' | b';' | 0)).unwrap_or(list.len());
        if list.get(end) == Some(&b')') {
            each(list.get(..=end).unwrap_or(&[]));
        }
        rest = list.get(end.max(ENTRY.len())..).unwrap_or(&[]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_a_text() {
        let mut all = Vec::new();
        let text = b".visible .entry a(.param .u32 n) { ret; }\n.entry b { }\n.entry\tc (\n)\n.entry d(.param";
        for_each_entry(text, |list| all.push(String::from_utf8_lossy(list).into_owned()));
        assert_eq!(all, [".entry a(.param .u32 n)", ".entry\tc (\n)"]);
        for_each_entry(b"", |_| panic!("nothing is there"));
        for_each_entry(b".entry", |_| panic!("no list"));
    }

    /// A file, and what the program's process would note of it.
    fn noted(path: &Path) -> (LoadedFiles, u64) {
        let what = std::fs::metadata(path).unwrap();
        let mut files = LoadedFiles::default();
        files.loaded(path.as_os_str().as_bytes(), (what.dev(), what.ino()));
        (files, what.modified().unwrap().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64)
    }

    fn is_read(files: &mut LoadedFiles, path: &Path, ended: u64) -> bool {
        files.read(path, path.to_owned(), ended).is_some()
    }

    #[test]
    fn a_file_that_was_changed_since_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k.ptx");
        std::fs::write(&path, "text").unwrap();
        let (mut files, ns) = noted(&path);
        assert!(!is_read(&mut files, &path, ns - 1), "changed since");
        assert_eq!(files.read(&path, path.clone(), ns).as_deref(), Some(&b"text"[..]));
        assert!(!is_read(&mut files, &path, ns), "it tells nothing new");
        assert!(!is_read(&mut LoadedFiles::default(), &path, u64::MAX), "nobody noted it");
        let (mut files, _) = noted(&path);
        std::fs::rename(&path, folder.path().join("old")).unwrap();
        std::fs::write(&path, "text").unwrap();
        assert!(!is_read(&mut files, &path, u64::MAX), "another file");
    }

    #[test]
    fn what_is_no_file_or_has_no_end_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for path in [&pipe, Path::new("/dev/zero"), Path::new("/dev/tty"), folder.path()] {
            let (mut files, _) = noted(path);
            assert!(!is_read(&mut files, path, u64::MAX), "{}", path.display());
        }
        // Files that say to be empty and are not: nothing of them is read.
        for path in ["/proc/self/pagemap", "/proc/self/environ"].map(Path::new) {
            let (mut files, _) = noted(path);
            assert_eq!(files.read(path, path.to_owned(), u64::MAX).unwrap_or_default(), b"", "{}", path.display());
        }
    }

    #[test]
    fn files_of_a_process_are_bounded_together() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        for path in [&one, &two] {
            std::fs::File::create(path).unwrap().set_len(LONGEST / 2 + 1).unwrap();
        }
        let (mut files, _) = noted(&one);
        let what = std::fs::metadata(&two).unwrap();
        files.loaded(two.as_os_str().as_bytes(), (what.dev(), what.ino()));
        assert_eq!([&one, &two].map(|path| is_read(&mut files, path, u64::MAX)), [true, false]);
    }
}
