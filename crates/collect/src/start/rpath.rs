//! Whether the loader would take a driver's library from an RPATH: that of the program, or of a library that it needs
//! from the start. An RPATH goes before LD_LIBRARY_PATH.

use crate::start::{driver, program};
use cutap_trace::open_file;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The most files that are looked at.
const MOST: usize = 500;

/// Whether an RPATH leads to a driver's library. Files that cannot be read lead nowhere.
pub fn leads_to_driver(image: &Path) -> bool {
    let search = driver::Search::new();
    let mut names: HashSet<String> = HashSet::new();
    // A file, and the folders of the RPATHs by which it was found.
    let mut next: Vec<(PathBuf, Vec<PathBuf>)> = vec![(image.to_owned(), Vec::new())];
    while let Some((path, inherited)) = next.pop() {
        let Some(head) = open_file(&path, false).ok().and_then(|file| cutap_inspect::head(&file)) else { continue };
        let own = program::folders(&path, &head);
        if head.has_rpath && driver::is_in(&own) {
            return true;
        }
        let (rpaths, runpath) = match head.has_rpath {
            true => ([own, inherited].concat(), Vec::new()),
            false => (inherited, own),
        };
        for name in head.needed {
            if names.len() < MOST && names.insert(name.clone()) {
                let library_in = |folders: &[PathBuf]| folders.iter().map(|f| f.join(&name)).find(|path| path.exists());
                let path =
                    library_in(&rpaths).or_else(|| search.library(OsStr::new(&name))).or_else(|| library_in(&runpath));
                next.extend(path.map(|path| (path, rpaths.clone())));
            }
        }
    }
    false
}
