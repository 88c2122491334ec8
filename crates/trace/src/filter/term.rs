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
            _ if word.bytes().any(|b| !b.is_ascii_alphanumeric() && !b"_*?.-+".contains(&b)) => {
                return Err(FilterError(format!(
                    "{word:?} in the filter is no name; names have letters, digits, _ and *, with commas between them"
                )));
            }
            _ if word.contains(".so") || is_library(word) => self.library(wanted, word),
            _ if word.contains(['*', '?']) => self.rule(wanted, '*', "*", word),
            _ => {
                check(word, known)?;
                self.rule(wanted, '*', "*", word);
                // cuMemAlloc means cuMemAlloc_v2 as well: programs call the latest by the plain name.
                self.rule(wanted, '*', "*", &format!("{word}_*"));
            }
        }
        Ok(false)
    }

    fn library(&mut self, wanted: bool, word: &str) {
        if word.contains(['*', '?']) || word.contains(".so.") {
            return self.rule(wanted, '*', word, "*");
        }
        let stem = word.strip_suffix(".so").unwrap_or(word);
        self.rule(wanted, '*', &format!("{stem}.so*"), "*");
        // As auditwheel renames them.
        self.rule(wanted, '*', &format!("{stem}-*.so*"), "*");
    }

    fn rule(&mut self, wanted: bool, layer: char, library: &str, name: &str) {
        let sign = if wanted { '+' } else { '-' };
        // Writing to a string does not fail.
        let _ = writeln!(self.rules, "{sign}{layer} {library} {name}");
    }
}

fn is_library(word: &str) -> bool {
    word.starts_with("lib") && nearest(word, &WORDS).is_empty()
}

/// Refuses a plain name that is nobody's.
fn check(word: &str, known: &[&str]) -> Result<(), FilterError> {
    let versions = |k: &&str| k.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'));
    if known.iter().any(versions) {
        return Ok(());
    }
    // Driver and runtime are known as a whole; what the many libraries export is not.
    let after =
        |prefix| word.strip_prefix(prefix).is_some_and(|r: &str| r.starts_with(|c: char| c.is_ascii_uppercase()));
    let checked = !known.is_empty() && (after("cu") || after("cuda"));
    if !checked && cutap_calls::in_family(word.as_bytes()) {
        return Ok(());
    }
    let mut near = nearest(word, &WORDS);
    near.extend(nearest(word, known));
    let meant = if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) };
    Err(FilterError(format!("unknown function {word} in the filter{meant} ({word}* takes it as it is)")))
}
