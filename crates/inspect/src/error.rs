//! Why a file could not be looked at: one sentence, with what to do where there is something to do.

use std::io::ErrorKind;
use std::path::PathBuf;

/// A file that is no ELF file, or cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It could not be opened or read.
    #[error("cannot read {path}: {reason}; give a program or library that is there and may be read", path = path.display(), reason = reason(error))]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// It is a script: the program is its interpreter.
    #[error("{path} is a script: the program that runs is its interpreter; try `cutap inspect {interpreter}`", path = path.display())]
    Script {
        /// The file.
        path: PathBuf,
        /// What its first line names.
        interpreter: String,
    },
    /// Something else.
    #[error("{path} is no ELF program or library, so it cannot reach CUDA by itself; give the program that runs, or a library of it", path = path.display())]
    NotElf {
        /// The file.
        path: PathBuf,
    },
    /// It is a collection of object files.
    #[error("{path} is an archive for linking; inspect the program that it was linked into", path = path.display())]
    Archive {
        /// The file.
        path: PathBuf,
    },
    /// It says it is an ELF file, and is not.
    #[error("{path} is a damaged or cut-off ELF file: {error}; build or copy it again", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was wrong.
        error: String,
    },
}

/// The system's reason, without the number that Rust puts behind it.
fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "no such file or folder".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::IsADirectory => "it is a folder".to_owned(),
        ErrorKind::NotADirectory => "a part of the path is not a folder".to_owned(),
        ErrorKind::UnexpectedEof => "it is cut off".to_owned(),
        _ => {
            let text = error.to_string().to_lowercase();
            text.split(" (os error").next().unwrap_or(&text).to_owned()
        }
    }
}
