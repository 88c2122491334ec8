//! The files of a run's processes, each read once, and those that could not be.

use crate::file::{File, Why};
use crate::map::{Loaded, Object};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

/// Path and identity.
type Key = (Box<str>, Box<[u8]>);

/// The files that stacks asked for.
#[derive(Debug, Default)]
pub struct Files {
    indices: HashMap<Key, Option<usize>>,
    files: Vec<File>,
    absent: BTreeSet<(Box<str>, Why)>,
}

/// A file whose frames stay addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absent {
    /// Its path, as the program saw it.
    pub path: String,
    /// It is there, and is another one than the program had.
    pub changed: bool,
}

/// A name that the kernel gives to what is no file.
fn is_no_file(path: &str) -> bool {
    path.is_empty() || path.starts_with("linux-vdso") || path.starts_with('[')
}

impl Files {
    /// The file of a load; `None`: it is of no use.
    pub(crate) fn find(&mut self, load: &Loaded, object: &Object) -> Option<usize> {
        let key = (object.path.as_ref().into(), load.identity.clone());
        if let Some(known) = self.indices.get(&key) {
            return *known;
        }
        let opened = if is_no_file(&object.path) { None } else { Some(File::open(Path::new(&*object.path), load)) };
        let index = match opened {
            Some(Ok(file)) => {
                self.files.push(file);
                Some(self.files.len() - 1)
            }
            Some(Err(why)) => {
                self.absent.insert((object.path.as_ref().into(), why));
                None
            }
            None => None,
        };
        self.indices.insert(key, index);
        index
    }

    /// One that was found.
    pub(crate) fn get(&mut self, n: usize) -> Option<&mut File> {
        self.files.get_mut(n)
    }

    /// Files that are missing, or others by now.
    pub fn absent(&self) -> Vec<Absent> {
        self.absent.iter().map(|(path, why)| Absent { path: path.to_string(), changed: *why == Why::Changed }).collect()
    }
}
