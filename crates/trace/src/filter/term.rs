//! One term of a filter. A plain name that nobody knows is refused rather than taken, for a trace that
//! stays empty because of a slip of the pen costs more than a question.

use super::condition::{Condition, What, duration};
use super::near::nearest;
use super::{Filter, FilterError};
use std::fmt::Write;

/// Words that are no names of functions.
const WORDS: [&str; 8] = ["library", "runtime", "driver", "hidden", "kernel", "lookup", "cxx", "error"];

impl Filter {
    /// Takes one term. True when it picks no functions.
    pub(super) fn term(&mut self, wanted: bool, word: &str, known: &[&str]) -> Result<bool, FilterError> {
        match word {
            "" => {
                return Err(FilterError(
                    "a term of the filter is empty; write terms with one comma between them".into(),
                ));
            }
            "library" => self.rule(wanted, 'l', "*", "*"),
            "runtime" => self.rule(wanted, 'r', "*", "*"),
            "driver" => self.rule(wanted, 'd', "*", "*"),
            "hidden" | "kernel" => {
                return Err(FilterError(format!(
                    "the {word} layer is not traced by this version; take library, runtime, driver or lookup"
                )));
            }
            "lookup" => {
                self.lookups = wanted;
                return Ok(true);
            }
            "cxx" => self.cxx = wanted,
            "error" => self.conditions.push(Condition { wanted, what: What::Error }),
            _ if word.starts_with(['>', '<']) => {
                self.conditions.push(Condition { wanted, what: duration(word)? });
            }
            _ if word.bytes().any(|b| !b.is_ascii_alphanumeric() && !b"_*?.-+:".contains(&b)) => {
                return Err(FilterError(format!(
                    "{word:?} in the filter is no name; names have letters, digits, _ and *, with commas between them"
                )));
            }
            _ if word.contains(':') => self.of_library(wanted, word, known)?,
            _ if word.contains(".so") || is_library(word) => {
                libraries(word).iter().for_each(|library| self.rule(wanted, '*', library, "*"));
            }
            _ => self.names(word, known)?.iter().for_each(|name| self.rule(wanted, '*', "*", name)),
        }
        Ok(false)
    }

    /// `library:name`. The library may be a program: it may hold a copy of the runtime.
    fn of_library(&mut self, wanted: bool, word: &str, known: &[&str]) -> Result<(), FilterError> {
        let (library, name) = word.split_once(':').unwrap_or((word, ""));
        if library.is_empty() || name.is_empty() || name.contains(':') {
            return Err(FilterError(format!(
                "{word} in the filter is not of the form library:function; write it as libcublas:cudaMalloc or saxpy:*"
            )));
        }
        let library =
            if library.contains(".so") || is_library(library) { libraries(library) } else { vec![library.into()] };
        for name in self.names(name, known)? {
            library.iter().for_each(|library| self.rule(wanted, '*', library, &name));
        }
        Ok(())
    }

    /// Patterns for what a person calls a function.
    fn names(&mut self, word: &str, known: &[&str]) -> Result<Vec<String>, FilterError> {
        if word.contains(['*', '?']) {
            return Ok(vec![word.to_owned()]);
        }
        if !check(word, known)? {
            self.unknown.push(word.to_owned());
        }
        // cuMemAlloc means cuMemAlloc_v2 as well: programs call the latest by the plain name.
        Ok(vec![word.to_owned(), format!("{word}_*")])
    }

    fn rule(&mut self, wanted: bool, layer: char, library: &str, name: &str) {
        let sign = if wanted { '+' } else { '-' };
        // Writing to a string does not fail.
        let _ = writeln!(self.rules, "{sign}{layer} {library} {name}");
    }
}

/// Patterns for what a person calls a library.
fn libraries(word: &str) -> Vec<String> {
    if word.contains(['*', '?']) || word.contains(".so.") {
        return vec![word.to_owned()];
    }
    let stem = word.strip_suffix(".so").unwrap_or(word);
    // The second is as auditwheel renames them.
    vec![format!("{stem}.so*"), format!("{stem}-*.so*")]
}

fn is_library(word: &str) -> bool {
    word.starts_with("lib") && nearest(word, &WORDS).is_empty()
}

/// Refuses a plain name that is nobody's. False when it may be one that we do not know.
fn check(word: &str, known: &[&str]) -> Result<bool, FilterError> {
    let versions = |k: &&str| k.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'));
    if known.iter().any(versions) {
        return Ok(true);
    }
    // Driver and runtime are known as a whole; what the many libraries export is not.
    let after =
        |prefix| word.strip_prefix(prefix).is_some_and(|r: &str| r.starts_with(|c: char| c.is_ascii_uppercase()));
    let checked = !known.is_empty() && (after("cu") || after("cuda"));
    // A name of that family, but one that differs from a known one in capitals only, is a slip.
    let slip = known.iter().any(|k| k.eq_ignore_ascii_case(word));
    if !checked && !slip && cutap_calls::in_family(word.as_bytes()) {
        return Ok(false);
    }
    let mut near = nearest(word, &WORDS);
    near.extend(nearest(word, known));
    let meant = if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) };
    Err(FilterError(format!("unknown function {word} in the filter{meant} ({word}* takes it as it is)")))
}
