//! Programs in C that use the driver by dlsym, compiled for a test.

use super::Folder;
use std::path::PathBuf;
use std::process::Command;

/// Compiles `tests/programs/explain/problems.c`; none, with a word about it, where there is no compiler.
pub fn problems(folder: &Folder) -> Option<PathBuf> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/explain/problems.c");
    let program = folder.join("problems");
    let done = Command::new("gcc").args(["-g", "-O1", "-o"]).arg(&program).arg(source).arg("-ldl").output();
    match done {
        Ok(done) => {
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            Some(program)
        }
        Err(e) => {
            println!("skipped: programs in C (no gcc: {e})");
            None
        }
    }
}
