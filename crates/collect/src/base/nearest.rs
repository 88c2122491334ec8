//! The program that a misspelt name may mean. Only for error messages: it looks at every name on the search path.

use cutap_trace::did_you_mean;
use std::ffi::OsStr;

/// The name on the search path that is the nearest to `name`, if one is similar.
pub fn program(name: &OsStr, search: &OsStr) -> Option<String> {
    let files = std::env::split_paths(search).flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten());
    let names = files.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    did_you_mean(name.to_str()?, names).into_iter().next()
}
