//! Requests of hook libraries that match no call: misspelt names, functions of another layer, libraries that no call
//! reached. They are reported, because otherwise such a hook silently does nothing.

use super::Hooks;
use crate::start::environment::LIMIT;
use cutap_calls::Layer;
use cutap_calls::WATCHED;
use cutap_hook::contract::ALL;
use cutap_trace::{FunctionMatch, find_function};
use cutap_wire::hooks::{self, Head, Selector, selectors, text};
use std::path::{Path, PathBuf};

/// A sentence for each want of a function that cannot be.
pub fn unmatched_hooks(run: &Path) -> Vec<String> {
    super::file_of(run).and_then(|file| mismatches(&file)).unwrap_or_default()
}

/// The same, and one for each library of whose wants, which can be, none was called.
pub fn not_called(run: &Path) -> Vec<String> {
    let Some(file) = super::file_of(run) else { return Vec::new() };
    let mut sentences = mismatches(&file).unwrap_or_default();
    let Some(head) = Head::read(&file) else { return sentences };
    for n in 0..head.libraries {
        let of: Vec<Selector> = selectors(&file, &head).filter(|w| w.library == n).collect();
        let names: Vec<_> = of.iter().filter(|w| mismatch(w).is_none()).map(|w| lossy_text(w.name)).collect();
        // A program that takes no memory keeps each limit.
        let is_limit = library(&file, &head, n) == LIMIT;
        if !names.is_empty() && !is_limit && of.iter().all(|w| !w.met) {
            let names = names.join(", ");
            sentences.push(format!(
                "{} was not called: nothing that it wants was called ({names})",
                library(&file, &head, n)
            ));
        }
    }
    sentences
}

fn mismatches(file: &[u8]) -> Option<Vec<String>> {
    let head = Head::read(file)?;
    let mut sentences: Vec<String> = Vec::new();
    for want in selectors(file, &head) {
        let sentence = mismatch(&want).map(|why| format!("{} wants {why}", library(file, &head, want.library)));
        sentences.extend(sentence.filter(|s| !sentences.contains(s)));
    }
    Some(sentences)
}

/// What is wrong with a want that no call has reached.
fn mismatch(want: &Selector<'_>) -> Option<String> {
    let name = lossy_text(want.name);
    if want.met {
        return None;
    }
    let there = match find_function(&name) {
        FunctionMatch::Perhaps => return None,
        FunctionMatch::Known(layers) => layers,
        FunctionMatch::Unknown(near) => {
            let suggestion = match near.is_empty() {
                true => "cutap api lists those that are".to_owned(),
                false => format!("did you mean {}?", near.join(", ")),
            };
            return Some(format!("{name}, and no function of this name is known or was called; {suggestion}"));
        }
    };
    let bits = there.iter().fold(0, |bits, layer| bits | bit(*layer));
    if bits & want.layers != 0 {
        let nowhere = !may_be_of(want.of, bits & want.layers);
        let of = lossy_text(want.of);
        return nowhere.then(|| format!("{name} of {of}, and no library of this name is known; look at its SONAME"));
    }
    let words = |bits: u32| {
        let of = Layer::all().filter(|layer| bits & layer.bit() != 0);
        of.map(|layer| format!("CUTAP_{}", layer.name().to_uppercase())).collect::<Vec<_>>().join(" | ")
    };
    let (requested, right) = (words(want.layers & ALL), words(bits));
    Some(format!("{name} of {requested}, where there is no such function; it is one of {right}"))
}

/// Whether a watched library of these layers may have a name that this pattern matches. A runtime may be linked into
/// any file.
fn may_be_of(of: &[u8], layers: u32) -> bool {
    if layers & Layer::RUNTIME.bit() != 0 {
        return true;
    }
    WATCHED.iter().filter(|w| w.layer.bit() & layers != 0).any(|w| {
        // As auditwheel renames what it copies into a wheel, too.
        let renamed = w.soname.replacen(".so", "-????????.so", 1);
        overlap(of, w.soname.as_bytes()) || overlap(of, renamed.as_bytes())
    })
}

/// Whether there is a text that two patterns with `*` and `?` both match.
fn overlap(one: &[u8], other: &[u8]) -> bool {
    // Whether the rest of the first from each place on and the rest of the second overlap, from the ends of both
    // backwards.
    let mut below = vec![false; other.len() + 1];
    for i in (0..=one.len()).rev() {
        let mut row = vec![false; other.len() + 1];
        for k in (0..=other.len()).rev() {
            row[k] = match (one.get(i), other.get(k)) {
                (None, None) => true,
                (Some(b'*'), _) => below[k] || k < other.len() && row[k + 1],
                (_, Some(b'*')) => row[k + 1] || i < one.len() && below[k],
                (Some(a), Some(b)) => (a == b || [a, b].contains(&&b'?')) && below[k + 1],
                _ => false,
            };
        }
        below = row;
    }
    below[0]
}

fn bit(of: u8) -> u32 {
    Layer::of_number(of).unwrap_or(Layer::LIBRARY).bit()
}

fn lossy_text(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

/// The name of a library by its number.
pub(super) fn library(file: &[u8], head: &Head, n: u32) -> String {
    let mut at = head.paths as usize;
    for _ in 0..n.min(hooks::LIBRARIES as u32) {
        at += text(file, at).map_or(0, |t| t.len() + 1);
    }
    text(file, at).map_or_else(|| format!("hook {n}"), |path| Hooks::name(&PathBuf::from(lossy_text(path))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_overlap() {
        for (one, other, is) in [
            ("", "", true),
            ("a", "", false),
            ("*", "", true),
            ("a*", "*b", true),
            ("a*c", "ab?", true),
            ("a*d", "ab?", true),
            ("a*d", "ab", false),
            ("?", "*", true),
            ("a?", "*c", true),
            ("b?", "*ac", false),
        ] {
            assert_eq!(
                (overlap(one.as_bytes(), other.as_bytes()), overlap(other.as_bytes(), one.as_bytes())),
                (is, is)
            );
        }
    }

    #[test]
    fn libraries_that_a_want_may_be_of() {
        for of in ["*", "libcuda.so*", "libcuda.so.1", "lib*", "*cuda*"] {
            assert!(may_be_of(of.as_bytes(), Layer::DRIVER.bit()), "{of}");
        }
        for of in ["libcublas.so.12", "libcublas-0123abcd.so.12", "libcudnn_ops*", "libcublas*"] {
            assert!(
                may_be_of(of.as_bytes(), Layer::LIBRARY.bit()) && !may_be_of(of.as_bytes(), Layer::DRIVER.bit()),
                "{of}"
            );
        }
        assert!(
            !may_be_of(b"libcudda.so.1", Layer::DRIVER.bit() | Layer::LIBRARY.bit())
                && may_be_of(b"app", Layer::RUNTIME.bit() | Layer::DRIVER.bit())
        );
    }
}
