//! The folder of all tables: `TABLE/run=NAME/rank=N/TABLE.parquet`, and `_runs/run=NAME/rank=N/manifest.json`, which
//! engines do not see. A run that is written has a lock on its folder of the manifest.

use crate::manifest;
use parquet::errors::ParquetError;
use rustix::fs::{FlockOperation, flock};
use std::fmt::{self, Display, Formatter};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The folder of manifests. Engines leave out names that begin with `_`.
pub(crate) const RUNS: &str = "_runs";
/// Bytes of the name of a run in a path at most: a name of a file has 255.
const MOST: usize = 200;

/// Why tables are not written.
#[derive(Debug)]
pub enum TablesError {
    /// The folder has something else in it, such as this.
    OtherFiles(String),
    /// It has this run already.
    Present,
    /// Another process writes this run.
    Locked,
    /// A file cannot be written.
    File(PathBuf, io::Error),
}

/// The name of a run in paths, and its rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunName {
    /// The run.
    pub run: String,
    /// Its rank; 0 if it has none.
    pub rank: u32,
}

impl Display for RunName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "run {}, rank {}", self.run, self.rank)
    }
}

impl RunName {
    /// `run=NAME/rank=N`. What is no letter, digit, `.`, `-` or `_` of ASCII is `%XX`, which engines read. So is the
    /// beginning of the name that stands for none.
    pub(crate) fn path(&self) -> String {
        let (mut name, is_none) = (String::new(), self.run == "__HIVE_DEFAULT_PARTITION__");
        for byte in self.run.bytes() {
            let next = match byte {
                b'_' if is_none && name.is_empty() => "%5F".to_owned(),
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' => char::from(byte).to_string(),
                byte => format!("%{byte:02X}"),
            };
            if name.len() + next.len() > MOST {
                // The end tells names with the same beginning from each other.
                let hash = self.run.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
                    (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
                });
                name.push_str(&format!("-{hash:016x}"));
                break;
            }
            name.push_str(&next);
        }
        format!("run={name}/rank={}", self.rank)
    }
}

/// A folder of tables.
#[derive(Debug)]
pub struct TablesFolder {
    path: PathBuf,
}

impl TablesFolder {
    /// Opens the folder, or makes it.
    ///
    /// # Errors
    /// It has other files, or cannot be made.
    pub fn open(path: &Path) -> Result<TablesFolder, TablesError> {
        let failed = |e| TablesError::File(path.to_owned(), e);
        fs::create_dir_all(path).map_err(failed)?;
        let runs = path.join(RUNS);
        if !runs.is_dir() {
            let mut entries = fs::read_dir(path).map_err(failed)?;
            // Another process may make it now.
            let other_file = entries.find_map(|entry| {
                let name = entry.ok()?.file_name();
                (name != RUNS).then(|| name.to_string_lossy().into_owned())
            });
            if let Some(other_file) = other_file.filter(|_| !runs.is_dir()) {
                return Err(TablesError::OtherFiles(other_file));
            }
            fs::create_dir_all(&runs).map_err(failed)?;
        }
        Ok(TablesFolder { path: path.to_owned() })
    }

    /// The place of a run that is not there yet. What a killed export left of it is removed.
    pub(crate) fn begin(&self, name: &RunName, tables: &[&'static str]) -> Result<RunPlace, TablesError> {
        let manifests = self.path.join(RUNS).join(name.path());
        let failed = |e| TablesError::File(manifests.clone(), e);
        fs::create_dir_all(&manifests).map_err(failed)?;
        let lock = File::open(&manifests).map_err(failed)?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(TablesError::Locked),
            Err(e) => return Err(failed(e.into())),
        }
        if manifests.join(manifest::NAME).exists() {
            return Err(TablesError::Present);
        }
        let (root, tables) = (self.path.clone(), tables.to_vec());
        let place = RunPlace { root, manifests, in_tables: name.path(), tables, _lock: lock };
        place.remove_files();
        Ok(place)
    }
}

/// The place of a run that is written.
#[derive(Debug)]
pub(crate) struct RunPlace {
    root: PathBuf,
    pub manifests: PathBuf,
    in_tables: String,
    tables: Vec<&'static str>,
    _lock: File,
}

impl RunPlace {
    /// The path of a table's file from the root.
    pub fn file(&self, table: &str) -> String {
        format!("{table}/{}/{table}.parquet", self.in_tables)
    }

    /// The name under which it is written. Engines leave out names that begin with `.`.
    pub fn partial(&self, table: &str) -> PathBuf {
        self.root.join(format!("{table}/{}/.{table}.partial", self.in_tables))
    }

    /// Makes the folder of a table's file.
    pub fn make_folder(&self, table: &str) -> Result<PathBuf, TablesError> {
        let partial = self.partial(table);
        let folder = partial.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder).map_err(|e| TablesError::File(folder.to_owned(), e))?;
        Ok(partial)
    }

    /// Gives the file its name.
    pub fn publish(&self, table: &str) -> Result<(), TablesError> {
        let path = self.root.join(self.file(table));
        let renamed = fs::rename(self.partial(table), &path);
        let synced = renamed.and_then(|()| File::open(path.parent().unwrap_or(&self.root))?.sync_all());
        synced.map_err(|e| TablesError::File(path, e))
    }

    /// Removes the files of a run that has no manifest, and the folders that are empty then.
    pub fn remove_files(&self) {
        for table in &self.tables {
            let partial = self.partial(table);
            let _ = fs::remove_file(&partial);
            let _ = fs::remove_file(self.root.join(self.file(table)));
            let mut folder = partial.as_path();
            for _ in 0..3 {
                folder = folder.parent().unwrap_or(&self.root);
                let _ = fs::remove_dir(folder);
            }
        }
    }
}

/// The error of a file of Parquet.
pub(crate) fn file_error(path: &Path, error: ParquetError) -> TablesError {
    let error = match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(io) => *io,
            Err(other) => io::Error::other(other.to_string()),
        },
        other => io::Error::other(other.to_string()),
    };
    TablesError::File(path.to_owned(), error)
}
