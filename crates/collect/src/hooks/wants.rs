//! What hook libraries want that nobody has: a name with a slip in it, a function of another layer; and libraries that no call
//! ever reached. Their authors are told, for otherwise such a hook only does nothing.

use super::Hooks;
use cutap_hook::contract::{ALL, DRIVER, LIBRARY, RUNTIME};
use cutap_trace::{Wanted, read_file, wanted};
use cutap_wire::hooks::{self, Head, Want, text, wants};
use cutap_wire::names::layer;
use std::path::{Path, PathBuf};

/// A sentence for each want of a function that cannot be.
pub fn in_vain(run: &Path) -> Vec<String> {
    read_file(&run.join(hooks::FILE), hooks::MAX_BYTES).ok().and_then(|file| all(&file)).unwrap_or_default()
}

/// The same, and one for each library of whose wants, which can be, none was called.
pub fn not_called(run: &Path) -> Vec<String> {
    let Ok(file) = read_file(&run.join(hooks::FILE), hooks::MAX_BYTES) else { return Vec::new() };
    let mut said = all(&file).unwrap_or_default();
    let Some(head) = Head::read(&file) else { return said };
    for n in 0..head.libraries {
        let of: Vec<Want> = wants(&file, &head).filter(|w| w.library == n).collect();
        let names: Vec<_> = of.iter().filter(|w| vain(w).is_none()).map(|w| shown(w.name)).collect();
        if !names.is_empty() && of.iter().all(|w| !w.met) {
            let names = names.join(", ");
            said.push(format!(
                "{} was not called: nothing that it wants was called ({names})",
                library(&file, &head, n)
            ));
        }
    }
    said
}

fn all(file: &[u8]) -> Option<Vec<String>> {
    let head = Head::read(file)?;
    let mut said: Vec<String> = Vec::new();
    for want in wants(file, &head) {
        let sentence = vain(&want).map(|why| format!("{} wants {why}", library(file, &head, want.library)));
        said.extend(sentence.filter(|s| !said.contains(s)));
    }
    Some(said)
}

/// What is wrong with a want that no call has reached.
fn vain(want: &Want<'_>) -> Option<String> {
    let name = shown(want.name);
    if want.met {
        return None;
    }
    let there = match wanted(&name) {
        Wanted::Perhaps => return None,
        Wanted::Known(layers) => layers,
        Wanted::Unknown(near) => {
            let meant = match near.is_empty() {
                true => "cutap api lists those that are".to_owned(),
                false => format!("did you mean {}?", near.join(", ")),
            };
            return Some(format!("{name}, and no function of this name is known or was called; {meant}"));
        }
    };
    let bits = there.iter().fold(0, |bits, layer| bits | bit(*layer));
    if bits & want.layers != 0 {
        return None;
    }
    let words = |bits: u32| {
        let all = [(LIBRARY, "CUTAP_LIBRARY"), (RUNTIME, "CUTAP_RUNTIME"), (DRIVER, "CUTAP_DRIVER")];
        all.iter().filter(|(b, _)| bits & b != 0).map(|(_, word)| *word).collect::<Vec<_>>().join(" | ")
    };
    let (asked, right) = (words(want.layers & ALL), words(bits));
    Some(format!("{name} of {asked}, where there is no such function; it is one of {right}"))
}

fn bit(of: u8) -> u32 {
    match of {
        layer::DRIVER => DRIVER,
        layer::RUNTIME => RUNTIME,
        _ => LIBRARY,
    }
}

fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

/// The name of a library by its number.
pub(super) fn library(file: &[u8], head: &Head, n: u32) -> String {
    let mut at = head.paths as usize;
    for _ in 0..n.min(hooks::LIBRARIES as u32) {
        at += text(file, at).map_or(0, |t| t.len() + 1);
    }
    text(file, at).map_or_else(|| format!("hook {n}"), |path| Hooks::name(&PathBuf::from(shown(path))))
}
