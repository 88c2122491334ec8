//! Whether the program of a run with hooks made any call. The loader may miss something that a hook library needs, or a
//! hook library may end the program before its first call.

use super::{Hooks, file_in, file_of};
use crate::start::exit_kind::ExitKind;
use cutap_wire::hooks::{self, ASKING, BEGUN, Head, HookPlace, text};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// False if no process of a run with hooks got so far that its libraries were asked what they want.
pub fn has_started(run: &Path) -> bool {
    let Some(file) = file_of(run) else { return true };
    file.get(BEGUN..).and_then(<[u8]>::first_chunk).is_none_or(|word| u32::from_le_bytes(*word) != 0)
}

/// Whether the program came to an end in what its libraries do before it begins itself: then nothing of theirs was
/// called.
pub fn ended_at_start(run: &Path, main: i32) -> bool {
    let word = file_of(run).and_then(|file| Some(u64::from_le_bytes(*file.get(ASKING..)?.first_chunk()?)));
    word.and_then(hooks::library_and_place)
        .is_some_and(|(pid, _, place)| pid as i32 == main && place != HookPlace::Destructor)
}

/// A sentence if the loader gave up before anything of ours ran: it has said why, and not whose fault it is.
pub fn not_started(run: &Path, hooks: &Hooks, program: &Path, exit_kind: ExitKind) -> Option<String> {
    const LOADER: i32 = 127;
    if hooks.0.is_empty() || exit_kind != ExitKind::Code(LOADER) || has_started(run) {
        return None;
    }
    let program = program.file_name().unwrap_or(program.as_os_str()).display();
    let names: Vec<String> = hooks.0.iter().map(|path| Hooks::name(path)).collect();
    let (libraries, path) = match hooks.0.as_slice() {
        [one] => ("the hook library", one.display().to_string()),
        _ => ("the hook libraries", "FILE".to_owned()),
    };
    Some(format!(
        "cannot start {program} with {libraries} {}: the loader said above what is missing; ldd -r {path} lists all of it",
        names.join(", ")
    ))
}

/// A sentence if a run around this one has hooks, which the program will not have: it is of one run only.
pub fn outer_hooks_notice(hooks: &Hooks) -> Option<String> {
    let file = file_in(&crate::run_dir::folder::outer()?)?;
    let head = Head::read(&file)?;
    let (mut at, mut uncalled) = (head.paths as usize, Vec::new());
    for _ in 0..head.libraries.min(hooks::LIBRARIES as u32) {
        let path = text(&file, at)?;
        at += path.len() + 1;
        let path = Path::new(OsStr::from_bytes(path));
        if !hooks.0.iter().any(|ours| ours == path) {
            uncalled.push(Hooks::name(path));
        }
    }
    let these = if uncalled.len() == 1 { "the hook library" } else { "the hook libraries" };
    (!uncalled.is_empty()).then(|| {
        format!(
            "{these} {} of the cutap around this one will not be called in this program; give --hook here too",
            uncalled.join(", ")
        )
    })
}
