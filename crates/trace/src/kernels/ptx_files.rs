//! Parameter lists in PTX files that the driver loads for a program. The file is read here while the program is
//! followed live, never in the program. A file that changed after the call, or whose process is unknown, is ignored: a
//! wrong name is worse than none.

use super::names::Kernels;
use crate::event::value::Value;
use crate::event::{Event, Exit, Process};
use cutap_calls::{Role, argument};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// Bytes of a file that is read at most.
const LONGEST: u64 = 64 << 20;

const ENTRY: &[u8] = b".entry";

/// Reads what a call that has just ended loaded from a file.
pub fn look(event: &Event, kernels: &mut Kernels) {
    let Event::Exit(exit) = event else { return };
    let Some(text) = file_of(exit).and_then(|path| {
        let call = &exit.call;
        let process = &call.thread.process;
        let ended = process.start_realtime_ns + exit.end_ns.saturating_sub(process.start_ns);
        read(&seen_from_here(process, &path)?, ended)
    }) else {
        return;
    };
    lists(&text, |list| kernels.entry(list));
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

/// The file, if it is as it was at this time.
fn read(path: &Path, ended_ns: u64) -> Option<Vec<u8>> {
    let what = std::fs::metadata(path).ok().filter(|what| what.is_file() && what.len() <= LONGEST)?;
    let changed = what.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    if changed > Duration::from_nanos(ended_ns) {
        return None;
    }
    std::fs::read(path).ok()
}

/// Each `.entry name(...)` of a text, up to the closing parenthesis.
fn lists(text: &[u8], mut found: impl FnMut(&[u8])) {
    let mut rest = text;
    while let Some(at) =
        rest.windows(ENTRY.len() + 1).position(|w| w.starts_with(ENTRY) && w[ENTRY.len()].is_ascii_whitespace())
    {
        let list = rest.get(at..).unwrap_or(&[]);
        let end = list.iter().position(|b| matches!(b, b')' | b'{' | b';' | 0)).unwrap_or(list.len());
        if list.get(end) == Some(&b')') {
            found(list.get(..=end).unwrap_or(&[]));
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
        lists(text, |list| all.push(String::from_utf8_lossy(list).into_owned()));
        assert_eq!(all, [".entry a(.param .u32 n)", ".entry\tc (\n)"]);
        lists(b"", |_| panic!("nothing is there"));
        lists(b".entry", |_| panic!("no list"));
    }

    #[test]
    fn a_file_that_was_changed_since_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k.ptx");
        std::fs::write(&path, "text").unwrap();
        let changed = std::fs::metadata(&path).unwrap().modified().unwrap().duration_since(UNIX_EPOCH).unwrap();
        let ns = changed.as_nanos() as u64;
        assert_eq!(read(&path, ns).as_deref(), Some(&b"text"[..]));
        assert_eq!((read(&path, ns - 1), read(folder.path(), u64::MAX)), (None, None));
    }
}
