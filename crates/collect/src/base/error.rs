//! Errors of cutap itself: one sentence (what, why, what to do) and an exit code. A sentence that does not say what to
//! do next is a defect.

use cutap_printable::printable;
use std::fmt;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Exit code when `cutap` itself could not do its work.
pub const OWN_FAILURE: u8 = 125;
/// Exit code of the collector when its output cannot be written; the front process turns it into its own.
pub(crate) const UNWRITTEN: u8 = 3;
/// Exit code of the collector when it could not read all; the run directory has the rest.
pub(crate) const UNREAD: u8 = 4;
/// Exit code when the program was found and cannot be run.
pub const NOT_EXECUTABLE: u8 = 126;
/// Exit code when there is no such program.
pub const NOT_FOUND: u8 = 127;

/// A sentence for a person and the exit code that goes with it.
#[derive(Debug)]
pub struct Error {
    /// One of the codes of this module.
    pub code: u8,
    /// What, why, what to do; without the `cutap: ` in front.
    pub sentence: String,
}

impl Error {
    /// `cutap` could not do its work.
    pub fn own(sentence: impl Into<String>) -> Error {
        Error { code: OWN_FAILURE, sentence: sentence.into() }
    }
    /// The program cannot be run.
    pub fn not_executable(sentence: impl Into<String>) -> Error {
        Error { code: NOT_EXECUTABLE, sentence: sentence.into() }
    }
    /// There is no such program.
    pub fn not_found(sentence: impl Into<String>) -> Error {
        Error { code: NOT_FOUND, sentence: sentence.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for Error {}

impl From<cutap_trace::Error> for Error {
    fn from(error: cutap_trace::Error) -> Error {
        match error {
            cutap_trace::Error::Unreadable { path, source } if source.kind() == ErrorKind::PermissionDenied => {
                not_ours(&path, &source)
            }
            cutap_trace::Error::Unreadable { path, source } => {
                let advice = "give the folder that cutap env -o DIR or cutap trace --run-dir DIR made";
                cannot("read the run directory", &path, &source, advice)
            }
            other => Error::own(other.to_string()),
        }
    }
}

/// A run directory that its owner alone may read.
pub fn not_ours(run: &Path, error: &std::io::Error) -> Error {
    let advice = match std::fs::metadata(run).map(|data| data.uid()) {
        Ok(uid) if uid != crate::base::user::own_uid() => {
            format!("run cutap show as user {uid}, who recorded it, or as root")
        }
        Ok(_) => "give yourself the right to read it (chmod -R u+rwX)".to_owned(),
        Err(_) => "run cutap show as the user who recorded it, or as root".to_owned(),
    };
    cannot("read the run directory", run, error, &advice)
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The system's reason without the number that Rust puts behind it, and with what helps.
pub fn reason(error: &std::io::Error) -> String {
    let text = match error.raw_os_error() {
        Some(libc::ENOSPC) => return "the disk is full".into(),
        Some(libc::EDQUOT) => return "the disk quota is used up".into(),
        Some(libc::EFBIG) => return "the file size limit is reached (ulimit -f)".into(),
        Some(libc::EROFS) => return "the file system is read-only".into(),
        Some(libc::ENAMETOOLONG) => return "the path is too long".into(),
        Some(libc::EACCES) => return "permission denied".into(),
        Some(libc::EPERM) => return "operation not permitted".into(),
        Some(libc::ENOENT) => return "no such file or folder".into(),
        Some(libc::ENOTDIR) => return "a part of the path is not a folder".into(),
        Some(libc::EISDIR) => return "it is a folder".into(),
        _ => error.to_string(),
    };
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}

/// Writes a line to standard error. A closed standard error is no reason to fail.
pub fn print_notice(text: &str) {
    let _ = writeln!(std::io::stderr(), "cutap: {}", printable(text));
}

/// What helps against an error of this kind wherever it comes from; else what is said here.
pub(crate) fn advice(error: &std::io::Error, otherwise: &str) -> String {
    match error.raw_os_error() {
        Some(libc::EMFILE) => "raise the limit of open files (ulimit -n)".into(),
        Some(libc::ENFILE) => "end some programs, or raise fs.file-max".into(),
        Some(libc::ENOMEM) => "end some programs, or raise the limit of memory (ulimit -v)".into(),
        Some(libc::EAGAIN) => "end some processes, or raise their limit (ulimit -u)".into(),
        _ => otherwise.into(),
    }
}

/// The same of a file that is written.
pub(crate) fn advice_on_file(error: &std::io::Error, otherwise: &str) -> String {
    match error.raw_os_error() {
        Some(libc::ENOSPC) => format!("free some space on its disk (df, df -i), or {otherwise}"),
        Some(libc::EDQUOT) => format!("remove some of your files there, or {otherwise}"),
        // Who may not write by the file's mode gets EACCES.
        Some(libc::EPERM) => {
            format!(
                "see with lsattr whether it, or its folder, is marked i or a (chattr -ia takes the marks away), or {otherwise}"
            )
        }
        _ => advice(error, otherwise),
    }
}

/// `cannot WHAT PATH: REASON; ADVICE`.
pub fn cannot(action: &str, path: &Path, error: &std::io::Error, advice: &str) -> Error {
    Error::own(format!("cannot {action} {}: {}; {}", path.display(), reason(error), advice_on_file(error, advice)))
}
