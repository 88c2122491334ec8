//! Errors that concern a whole run. Problems with one file are no errors: they are counted, and listed in
//! [`crate::End`].

use std::io;
use std::path::PathBuf;

/// Why a run directory cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder cannot be read.
    #[error("cannot read the run directory {path}: {source}; give the folder that cutap env -o DIR or cutap trace --run-dir DIR made", path = path.display())]
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is a folder, but not one of ours.
    #[error("{path} is not a run directory of cutap: it has neither a control page nor a process in it; give the folder that cutap env -o DIR or cutap trace --run-dir DIR made", path = path.display())]
    NotARun {
        /// The folder.
        path: PathBuf,
    },
    /// It is one of ours, but its control page is none.
    #[error("{path} is damaged: its control page is none of cutap's; without that file (rm {path}/control) what its processes left can be read, but not what was wanted or switched", path = path.display())]
    Damaged {
        /// The folder.
        path: PathBuf,
    },
    /// It is a file, but not one of ours.
    #[error("{path} is not a recording of cutap; give the file that cutap record -o FILE made", path = path.display())]
    NotARecording {
        /// The file.
        path: PathBuf,
    },
    /// Written by another version.
    #[error("{path} was written by another version of cutap (format {version}, this one reads {mine}); read it with the cutap that recorded it", mine = cutap_wire::VERSION, path = path.display())]
    OtherVersion {
        /// The folder.
        path: PathBuf,
        /// The version it names.
        version: u32,
    },
}
