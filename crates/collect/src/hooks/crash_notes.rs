//! The hook that a program died in, read from words that its threads left in the process folder. Another thread may
//! have ended the program, so every thread that was in a hook is listed.

use crate::start::exit_kind::ExitKind;
use cutap_trace::signal_name;
use cutap_trace::{Bytes, CachedFile, RunPath, walk_cells};
use cutap_wire::hooks::{self, ASKING, HOOK_ACTIVE_FILE, Head, HookPlace, Phase, outside};
use cutap_wire::names::{self, Cell, kind};
use std::path::Path;

/// A sentence for each place in a hook that threads of a dead process were in. `program` is the program's own process,
/// and how it ended, where that is known.
pub fn crash_notes(run: &Path, program: Option<(i32, ExitKind)>) -> Vec<String> {
    let mut all = Vec::new();
    let Ok(run_dir) = RunPath::open(run) else { return all };
    for name in run_dir.list().unwrap_or_default() {
        let folder = run_dir.join(&name);
        let Ok(words) = folder.join(HOOK_ACTIVE_FILE).read(hooks::INSIDE_BYTES) else { continue };
        let pid: i32 = name.strip_prefix('p').and_then(|n| n.split('-').next()?.parse().ok()).unwrap_or(0);
        // A program that ends well while a thread is in a hook is none that died in it.
        if matches!(program, Some((main, ExitKind::Code(0))) if main == pid) {
            continue;
        }
        let Some(exit_text) = exit_text(pid, program) else { continue };
        let names = CachedFile::open(&folder.join(names::FILE), false).ok();
        let mut here = Vec::new();
        for word in words.chunks_exact(16).filter_map(|e| e.first_chunk::<8>()).map(|w| u64::from_le_bytes(*w)) {
            let Some((hook, phase, slot)) = outside(word) else { continue };
            let function = function(names.as_ref(), slot);
            let place = match phase {
                Phase::Before => format!("before({function})"),
                Phase::After => format!("after({function})"),
                Phase::Met => format!("met({function})"),
            };
            here.push(format!("{} was in {place}", library(names.as_ref(), hook)));
        }
        all.extend(each_once(here).map(|place| format!("{place} when {exit_text}")));
    }
    all.extend(init_crash_note(run, program));
    all.sort();
    all
}

/// How a process ended; none where it lives.
fn exit_text(pid: i32, program: Option<(i32, ExitKind)>) -> Option<String> {
    match program {
        Some((main, ExitKind::Signal(signal))) if pid == main => {
            Some(format!("the program died of {}", signal_name(signal)))
        }
        Some((main, ExitKind::Code(code))) if pid == main => Some(format!("the program ended with exit code {code}")),
        _ if Path::new("/proc").join(pid.to_string()).exists() => None,
        _ => Some(format!("process {pid} ended")),
    }
}

/// The same places once, with the number of threads that were there.
fn each_once(mut places: Vec<String>) -> impl Iterator<Item = String> {
    places.sort();
    let same = places.chunk_by(|a, b| a == b).map(|same| match same.len() {
        1 => same[0].clone(),
        threads => format!("{} in {threads} threads", same[0]),
    });
    same.collect::<Vec<_>>().into_iter()
}

/// The library in whose entry point, constructors or destructors the program died.
fn init_crash_note(run: &Path, program: Option<(i32, ExitKind)>) -> Option<String> {
    let file = super::file_of(run)?;
    let word = u64::from_le_bytes(*file.get(ASKING..)?.first_chunk()?);
    let (pid, n, place) = hooks::library_and_place(word).map(|(pid, n, place)| (pid as i32, n, place))?;
    let exit_text = exit_text(pid, program)?;
    let library = super::mismatches::library(&file, &Head::read(&file)?, n);
    let place = match place {
        HookPlace::Init => "cutap_hook_init",
        HookPlace::Constructor => "a constructor of its own",
        HookPlace::Destructor => "a destructor of its own",
    };
    Some(format!("{library} was in {place} when {exit_text}"))
}

fn library(names: Option<&CachedFile>, hook: u8) -> String {
    find(names, |n| n.kind == kind::HOOK && n.a == u64::from(hook)).unwrap_or_else(|| format!("hook {hook}"))
}

fn function(names: Option<&CachedFile>, slot: u32) -> String {
    let named = |k| matches!(k, kind::SLOT | kind::RUNTIME_SLOT);
    find(names, |n| named(n.kind) && n.a == u64::from(slot)).unwrap_or_else(|| "a function without a name".into())
}

fn find(file: Option<&CachedFile>, matches: impl Fn(&names::Name<'_>) -> bool) -> Option<String> {
    let (file, mut text) = (file?, None);
    let length = file.length().ok()?.min(names::MAX_BYTES as u64);
    let _ = walk_cells(file, length, &mut |cell, _| match cell {
        Cell::Name(name, _) if matches(&name) => {
            text = Some(String::from_utf8_lossy(name.s).into_owned());
            None
        }
        Cell::Name(_, bytes) => Some(bytes),
        Cell::Pending(_) | Cell::Empty => Some(names::CELL),
        Cell::End => None,
    });
    text
}

#[cfg(test)]
mod tests {
    use super::each_once;

    #[test]
    fn threads_in_one_place_are_one_sentence() {
        let places = ["b was in after(f)", "a was in before(f)", "b was in after(f)", "b was in after(f)"];
        let said: Vec<String> = each_once(places.map(str::to_owned).into()).collect();
        assert_eq!(said, ["a was in before(f)", "b was in after(f) in 3 threads"]);
    }
}
